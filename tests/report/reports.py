"""Reports built in memory, one of each state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests import make
from tuneagent.model.advise import AdviseReport
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
    return report(
        finding(),
        other,
        CLEAR,
        IDLE,
        UNSEEN,
        plan=Plan((advice(),), (declined,)),
        view=make.view(missing=(MISSING,)),
        applies=True,
    )
