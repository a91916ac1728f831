"""Reports built in memory, one of each state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests import make, make_contention, make_hypervisor
from tuneagent.model.advise import AdviseReport, GuestReport
from tuneagent.model.cost import AgentCost
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.identity import Role
from tuneagent.model.missing import Missing, Reason
from tuneagent.model.plan import Advice, Change, Declined, Plan, Target, TunableKind
from tuneagent.model.policy import Disruption, Expectation, Guard

EVIDENCE = (
    Evidence("rx_interrupts_per_packet", 0.42, "", "/proc/interrupts"),
    Evidence("top_share", 97.0, "%", "rates"),
)
CLEAR = Clear("shared-vector", "eth0", (Evidence("queue_vectors", 8, "vectors", "/proc/interrupts"),))
IDLE = Unjudged("kicks-per-packet", "eth0", "too little traffic to judge", idle=True)
UNSEEN = Unjudged("receive-drops", "machine", "softnet is unknown")
MISSING = Missing("softnet", "/proc/net/softnet_stat", Reason.PERMISSION, "Permission denied", None, "run as root")


def finding(severity: Severity = Severity.WARNING, **changes: Any) -> Finding:
    base = Finding(
        "interrupt-spread", "eth0", severity, "Interrupts land everywhere", "IRQ 31 went to 4 CPUs.", EVIDENCE, (31,)
    )
    return replace(base, **changes)


def change(**changes: Any) -> Change:
    base = Change(
        TunableKind.IRQ_AFFINITY,
        Target("0000:00:03.0", "virtio0", queue=0, queue_role="input", interface="eth0", irq=31),
        "/proc/irq/31/smp_affinity_list",
        "0-3",
        "2",
        "one CPU a queue",
        "echo 2 > /proc/irq/31/smp_affinity_list",
        "echo 0-3 > /proc/irq/31/smp_affinity_list",
    )
    return replace(base, **changes)


def advice(**changes: Any) -> Advice:
    base = Advice(
        "pin-queue-interrupts:eth0",
        "pin-queue-interrupts",
        "Pin the interrupts",
        "eth0",
        (finding(),),
        Role.GUEST,
        (change(), change(where="/proc/irq/32/smp_affinity_list", old=None, undo=None, do="echo 3 > /proc/irq/32")),
        Disruption.NONE,
        (Expectation("transactions_per_sec", "up", 63.0, 83.0, "measured"),),
        (Guard("latency_p99", 10.0),),
        ("IRQ 30 is left alone",),
        "tuneagent apply pin-queue-interrupts:eth0",
    )
    return replace(base, **changes)


def report(*judgements: Judgement, **changes: Any) -> AdviseReport:
    base = AdviseReport(
        "1.2.3", "this machine", make.view(), judgements, Plan((), ()), AgentCost(0.25, 0.012, 0.2, 41_000_000)
    )
    return replace(base, **changes)


def everything() -> AdviseReport:
    """A report that has something in every part."""
    other = finding(Severity.CRITICAL, rule="receive-drops", subject="machine", title="Packets are lost")
    declined = Declined("defer-interrupts", "machine", "no traffic", ("receive-drops",))
    stat = make_contention.lock_stat(make_contention.lock_class(holders=(("show_interrupts+0x9c", 7),)))
    return report(
        finding(),
        other,
        CLEAR,
        IDLE,
        UNSEEN,
        plan=Plan((advice(),), (declined,)),
        view=make.view(missing=(MISSING,), contention=make_contention.contention(), lock_stat=stat),
        cost=AgentCost(0.25, 0.012, 0.2, 41_000_000, 0.031),
        applies=True,
    )


def hypervisor() -> AdviseReport:
    """Three virtual machines: one bad, whose guest was seen; one new, whose guest refused; one well and idle."""
    refused = make_hypervisor.guest(view=None, reason="guest-exec is disabled", remedy="allow guest-exec", rates=None)
    partly = make_hypervisor.joined_rates(kicks_per_io_exit=None, reasons={"kicks_per_io_exit": "no kicks counted"})
    interface = make_hypervisor.domain_interface(target="vnet1", mac="52:54:00:00:00:02")
    pending = make_hypervisor.domain(interfaces=(make_hypervisor.domain_interface(event_idx=True),))
    domains = (
        make_hypervisor.domain_view(
            definition=make_hypervisor.domain(pending=pending),
            virtio=(make_hypervisor.virtio_status(),),
            guest=make_hypervisor.guest(rates=partly),
            counters=make_hypervisor.kvm_counters(),
        ),
        make_hypervisor.domain_view(
            key="pid 77",
            name="db2",
            definition=None,
            kvm=None,
            kvm_reason="it started within the interval",
            threads=(),
            taps=(),
            guest=refused,
        ),
        make_hypervisor.domain_view(
            key="22222222-2222-3333-4444-555555555555",
            name="quiet",
            definition=make_hypervisor.domain(name="quiet", interfaces=(interface,)),
            kvm=make_hypervisor.kvm_rate(per_sec={"exits": 7.0}),
            taps=(make_hypervisor.tap_rate(interface=interface, to_guest_drops_per_sec=None),),
        ),
        make_hypervisor.domain_view(
            key="33333333-2222-3333-4444-555555555555",
            name="old",
            pid=None,
            definition=make_hypervisor.domain(name="old", running=False, state="shut off", interfaces=()),
            kvm=None,
            kvm_reason="it does not run",
            threads=(),
            taps=(),
        ),
    )
    stray = make_hypervisor.tap_rate(tap=make_hypervisor.tap(name="tap9"), interface=None)
    seen = make_hypervisor.hypervisor_view(*domains, gone=("left",), new=("db2",), stray_taps=(stray,))
    host = make_hypervisor.hypervisor(threads_left_out=8, virtio=(make_hypervisor.virtio_status(),))
    bad = finding(rule="domain-event-index-off", subject="domain web1 vnet0", title="The event index is off")
    helps = advice(id=f"event-index-on:{bad.subject}", subject=bad.subject, findings=(bad,), role=Role.HYPERVISOR)
    changed = change(
        kind=TunableKind.DOMAIN_INTERFACE_DRIVER, where="domain web1", diff=("- <driver event_idx='off'/>",)
    )
    inside = report(finding(Severity.CRITICAL), CLEAR, origin="guest agent (guest-exec)", cost=None)
    return report(
        bad,
        finding(subject="machine", rule="halt-polling-costs", severity=Severity.INFO),
        *(Clear("vhost-absent", one.subject, EVIDENCE) for one in domains),
        *(Unjudged("tap-drops", f"domain {name}", f"too little traffic: {name}", True) for name in ("web1", "quiet")),
        view=make_hypervisor.host_view(after=make_hypervisor.host(hypervisor=host), hypervisor=seen),
        plan=Plan((replace(helps, changes=(changed,)),), ()),
        guests=(GuestReport(make_hypervisor.UUID, "web1", inside),),
    )
