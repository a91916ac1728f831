from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make_hypervisor
from tests.report import reports
from tuneagent.model.advise import AdviseReport, State
from tuneagent.model.domain_view import TOGETHER, DomainView
from tuneagent.model.finding import Clear, Finding, Severity, Unjudged
from tuneagent.model.plan import Plan
from tuneagent.report import advise_text, plain, terminal

WIDTH = 80


def text(report: AdviseReport, *, verbose: bool = False) -> str:
    return plain.write(advise_text.document(report, verbose=verbose), WIDTH)


def machines(count: int) -> tuple[DomainView, ...]:
    made = []
    for number in range(count):
        name = f"instance-{number:08x}"
        interface = make_hypervisor.domain_interface(target=f"vnet{number}")
        definition = make_hypervisor.domain(name=name, interfaces=(interface,))
        made.append(make_hypervisor.domain_view(key=f"uuid-{number}", name=name, definition=definition))
    return tuple(made)


def many(count: int, bad: int) -> AdviseReport:
    """``count`` virtual machines, the first ``bad`` of which have a finding each."""
    domains = machines(count)
    found = tuple(
        reports.finding(subject=one.subject, rule="exits-rate", title="Too many exits") for one in domains[:bad]
    )
    clear = tuple(Clear("vhost-absent", one.subject, reports.EVIDENCE) for one in domains)
    idle = tuple(Unjudged("tap-drops", one.subject, f"only {n} packets/s", True) for n, one in enumerate(domains))
    return reports.report(*found, *clear, *idle, view=make_hypervisor.host_view(*domains))


# The head


def test_a_hypervisor_without_a_virtio_interface_is_judged_all_the_same() -> None:
    report = reports.report(reports.CLEAR, view=make_hypervisor.host_view())

    assert report.state is State.HEALTHY
    assert "no virtio network interface" not in text(report)


def test_a_hypervisor_without_a_virtual_machine_says_so() -> None:
    nothing = make_hypervisor.hypervisor(domains=(), processes=())
    view = make_hypervisor.host_view(
        after=make_hypervisor.host(hypervisor=nothing),
        hypervisor=replace(make_hypervisor.hypervisor_view(), domains=()),
    )

    assert reports.report(view=view).state is State.NO_VIRTIO_NIC
    assert "No virtual machine runs here now" in text(reports.report(view=view))
    unseen = make_hypervisor.host(hypervisor=make_hypervisor.hypervisor(domains=None, processes=None))
    assert reports.report(view=replace(view, after=unseen)).state is State.UNKNOWN


def test_the_facts_of_the_host_are_told_once() -> None:
    shown = " ".join(text(reports.hypervisor()).split())

    assert "Virtual machines: 3 running with at least 4 vCPUs; 1 not running" in shown
    assert "(kvm-stats-fd), by vCPU; vhost_net loaded; halt_poll_ns 200000; 8 vCPU threads not read" in shown
    assert "KSM off; transparent huge pages madvise" in shown
    assert "tainted, custom-monitor" in shown
    assert "Stopped within the interval: left" in shown
    assert "Started within the interval: db2" in shown
    assert "Taps of no known virtual machine: tap9 60k packets/s" in shown


# The table


def row(shown: str, name: str) -> list[str]:
    return next(line for line in shown.splitlines() if line.startswith(f"{name} ")).split()


def test_a_virtual_machine_is_one_row_of_figures() -> None:
    shown = text(reports.hypervisor())

    assert row(shown, "web1") == ["web1", "2", "60k", "1", "60k", "40", "1.5", "0", "1", "warn"]
    assert row(shown, "db2") == ["db2", "?", "?", "-", "-", "-", "-", "-", "?"]
    assert row(shown, "quiet")[-2:] == ["?", "none"], "drops of which one direction is unknown are unknown"
    assert "?: not known" in shown


def test_the_table_has_eighty_columns_with_names_as_long_as_they_get() -> None:
    report = many(30, 25)
    lines = text(report).splitlines()

    table = [line for line in lines if line.startswith(("domain  ", "instance-"))]
    assert len(table) == 21
    assert len({line.index(" 2 ") for line in table[1:]}) == 1
    assert max(map(len, table)) <= WIDTH
    long = make_hypervisor.domain_view(name="a-very-long-name-that-somebody-gave-it-0001")
    shown = text(reports.report(view=make_hypervisor.host_view(long, *machines(1))))
    assert "a-very-l…-it-0001" in shown


def test_a_terminal_shows_the_same_rows() -> None:
    shown = terminal.write(advise_text.document(many(30, 25)), WIDTH)

    (line,) = [line for line in shown.splitlines() if "instance-00000003 " in line and "60k" in line]
    assert "1 warn" in line


def test_a_thousand_virtual_machines_are_a_page_and_the_rest_is_counted() -> None:
    shown = text(many(1000, 700))

    assert "700 findings (700 warning) on 700 virtual machines." in shown
    assert "… 980 more, 680 of them with findings: --verbose, or --json" in shown
    assert "… 680 more findings: exits-rate 680" in shown
    assert "On virtual machines and their interfaces: vhost-absent (999)" in shown
    assert "domain instance-00000001 and 998 more: only 1 packets/s (tap-drops)" in shown
    assert len(shown.splitlines()) < 100
    assert "instance-000003e7" not in shown
    assert "instance-000003e7" in text(many(1000, 700), verbose=True)


def test_a_finding_is_one_line_in_the_order_of_the_table() -> None:
    bad = reports.finding(subject="domain instance-00000002 vnet2", title="x" * 70)
    worse = reports.finding(
        Severity.CRITICAL, subject="domain instance-00000004", title="Packets are lost", rule="lost"
    )
    lines = text(reports.report(bad, worse, view=make_hypervisor.host_view(*machines(5)))).splitlines()

    first = lines.index("crit instance-00000004: Packets are lost [lost]")
    assert lines[first + 1].startswith("warn instance-00000002 vnet2: xxx")
    assert len(lines[first + 1]) == WIDTH


# In full


def findings(*domains: DomainView) -> tuple[Finding, ...]:
    return tuple(reports.finding(subject=one.subject) for one in domains)


@pytest.mark.parametrize(("bad", "told"), [(1, 1), (3, 3), (4, 1)])
def test_three_bad_ones_are_told_in_full_and_of_more_the_first(bad: int, told: int) -> None:
    domains = machines(6)
    shown = text(reports.report(*findings(*domains[:bad]), view=make_hypervisor.host_view(*domains)))

    assert shown.count("IRQ 31 went to 4 CPUs.") == told


@pytest.mark.parametrize(("bad", "full"), [(1, 2), (3, 2), (4, 1)])
def test_of_the_first_of_many_the_first_advice_is_told_in_full(bad: int, full: int) -> None:
    domains = machines(6)
    worst = domains[0].subject
    found = reports.finding(subject=worst), reports.finding(subject=worst, rule="emulator-unpinned")
    advised = tuple(reports.advice(id=f"{one.rule}:x", subject=worst, title=one.rule, findings=(one,)) for one in found)
    judged = (*found, *findings(*domains[1:bad]))
    report = reports.report(*judged, plan=Plan(advised, ()), view=make_hypervisor.host_view(*domains))

    shown = text(report)
    assert shown.count("Do:") == full
    assert ("More advice on instance-00000000" in shown) is (full == 1)
    assert ("   emulator-unpinned (emulator-unpinned:x)" in shown.splitlines()) is (full == 1)
    assert ("tuneagent advise --domain instance-00000000 tells it in full" in shown) is (full == 1)
    assert shown.count("IRQ 31 went to 4 CPUs.") == (1 if full == 1 else bad + 1)
    assert text(report, verbose=True).count("Do:") == 2


def test_the_only_one_is_told_in_full_even_if_nothing_is_wrong() -> None:
    shown = text(reports.report(reports.CLEAR, view=make_hypervisor.host_view()))

    assert "running at qemu:///system; kvm, 2 vCPUs; every vCPU pinned; emulator pinned to" in shown
    assert "By kind: halt_exits 18,000/s, io_exits 3,500/s" in shown
    assert "By vCPU: 0: 35k/s, 1: 25k/s" in shown
    lines = [line.split() for line in shown.splitlines()]
    assert ["vnet0", "vhost", "2", "on", "40k", "20k", "0"] in lines
    assert ["vcpu", "1", "4252", "3", "3", "48", "0.5"] in lines
    assert ["vhost", "4260", "0-1", "1", "40", "1.5"] in lines


def test_those_that_were_asked_for_and_no_others_are_told_in_full() -> None:
    domains = machines(6)
    report = reports.report(view=make_hypervisor.host_view(*domains), asked_domains=("uuid-2", "uuid-4"))

    shown = text(report)

    assert [line for line in shown.splitlines() if line.startswith("domain instance")] == [
        "domain instance-00000002 (uuid-2)",
        "domain instance-00000004 (uuid-4)",
    ]
    assert "instance-00000001" not in shown


def test_a_changed_element_is_shown_line_by_line() -> None:
    assert "        - <driver event_idx='off'/>" in text(reports.hypervisor()).splitlines()


# The guest


def test_the_guest_has_its_own_part_with_what_both_sides_tell() -> None:
    lines = text(reports.hypervisor()).splitlines()

    head = lines.index("The guest of web1, by its own word: guest agent (guest-exec), joined by product UUID")
    part = lines[head:]
    assert "  eth0 in the guest is vnet0 of the host" in part
    assert ["vhost_cpu_us_per_packet", "6.7", "µs"] in [line.split() for line in part]
    assert "  kicks_per_io_exit unknown: no kicks counted" in part
    assert "     CRITICAL: Interrupts land everywhere [interrupt-spread]" in part
    assert lines[lines.index("The hypervisor itself") :]
    assert "The guest of web1, by its own word: 1 finding (1 critical) on eth0." in lines[:8]


def test_a_guest_that_was_not_seen_has_the_reason_and_the_remedy() -> None:
    db2 = reports.hypervisor().view.hypervisor
    assert db2 is not None
    shown = text(replace(reports.hypervisor(), asked_domains=("pid 77",)))

    assert "The guest of db2 was not seen: guest-exec is disabled" in shown
    assert "What would help: allow guest-exec" in shown
    assert "Exits unknown: it started within the interval" in shown


# Where advice holds


def test_advice_on_a_hypervisors_own_interface_sends_nobody_to_a_guest() -> None:
    plan = Plan((reports.advice(subject="eth0"), reports.advice(id="pin:db2", subject="domain db2")), ())
    host = make_hypervisor.host_view(make_hypervisor.domain_view(name="db2"))

    shown = text(reports.report(plan=plan, view=host))

    assert shown.count("Where: on the hypervisor, for itself") == 1
    assert shown.count("Where: on the guest") == 1


def test_no_finding_on_what_could_not_be_looked_into_is_no_good_news() -> None:
    blind = make_hypervisor.domain_view(name="blind", definition=None, kvm=None)

    shown = text(reports.report(view=make_hypervisor.host_view(blind)))

    assert row(shown, "blind")[-1] == "?"
    assert "1 running with an unknown number of vCPUs" in shown


def without_libvirt(*domains: DomainView) -> str:
    nothing = make_hypervisor.hypervisor(domains=None, processes=None, parameters={})
    view = make_hypervisor.host_view(*domains, after=make_hypervisor.host(hypervisor=nothing))
    return text(reports.report(reports.CLEAR, view=view))


def test_what_is_counted_of_all_together_is_no_virtual_machine() -> None:
    both = {"definition": None, "kvm": None, "counters": make_hypervisor.kvm_counters(), "threads": (), "taps": ()}
    every = make_hypervisor.domain_view(key=TOGETHER, name=TOGETHER, pid=None, **both)
    alone = without_libvirt(every)
    assert "KVM runs some and tells none by itself; libvirt did not tell" in alone
    assert "vhost_net unknown" in alone
    beside = without_libvirt(every, make_hypervisor.domain_view(key="pid 7", name="pid 7", vcpus_seen=3, **both))
    assert "1 running with 3 vCPUs" in beside


def test_one_sample_tells_what_was_counted_so_far() -> None:
    counters = make_hypervisor.kvm_counters(totals={"exits": 4210}, vcpus={}, exits_are_a_sum=True)
    told = text(
        reports.report(
            view=make_hypervisor.host_view(make_hypervisor.domain_view(kvm=None, kvm_reason="one", counters=counters))
        )
    )
    assert "Exits unknown: one" in told
    assert "Exits so far: 4,210, the sum of the kinds that this kernel counts" in told


def test_a_machine_without_a_uuid_or_a_name_is_not_called_twice() -> None:
    told = text(reports.report(view=make_hypervisor.host_view(make_hypervisor.domain_view(key=""))))
    assert "domain web1\n" in told
    told = text(reports.report(view=make_hypervisor.host_view(make_hypervisor.domain_view(key="pid 7", name="pid 7"))))
    assert "domain pid 7\n" in told


@pytest.mark.parametrize(("kernel", "who"), [(True, "threads of the kernel"), (False, "threads of QEMU")])
def test_whom_emulatorpin_reaches_is_told_of_vhost_workers(*, kernel: bool, who: str) -> None:
    worker = make_hypervisor.thread_rate(make_hypervisor.domain_thread(kernel_thread=kernel))
    told = text(reports.report(view=make_hypervisor.host_view(make_hypervisor.domain_view(threads=(worker,)))))
    assert f"vhost workers are {who}" in told
    without = text(reports.report(view=make_hypervisor.host_view(make_hypervisor.domain_view(threads=()))))
    assert "vhost workers are" not in without
