from __future__ import annotations

from typing import Any

import pytest

from tests import make, make_contention
from tests.diagnose.views import balanced, clear, finding, unjudged, value
from tuneagent.app.policy_files import policies
from tuneagent.diagnose.irq_descriptor_contention import judge
from tuneagent.model.contention import Contended, LockGroup, SpinVisibility
from tuneagent.model.finding import Clear, Finding, Severity, Unjudged
from tuneagent.model.view import View
from tuneagent.plan.solve import plan


def view(*rows: Contended, **changes: Any) -> View:
    """A guest with two CPUs whose IRQ 31 fell on both, and these waits."""
    base = make_contention.contention(*rows, **({"rows": rows} | changes))
    irqs = {31: make.irq_rate(31, {0: 5_154, 1: 5_222})}
    return make.view(make.snapshot(2, 1), irqs=irqs, contention=base)


def other(**changes: Any) -> Contended:
    return make_contention.contended(group=LockGroup.SOCKET, irq=None, subject=None, **changes)


def test_two_cpus_that_take_one_interrupt_are_named_with_it() -> None:
    found = finding(judge, view(make_contention.contended()))
    assert (found.subject, found.irqs, found.queues, found.cpus) == ("eth0", (31,), (0,), (0, 1))
    assert found.severity is Severity.WARNING
    assert found.title == "CPUs 0-1 wait for the descriptor lock of IRQ 31 (virtio0-input.0) of eth0"
    assert "CPUs 0-1 take it at the same time" in found.explanation
    assert "IRQ 31 fell on CPUs 0-1; irqbalance does not run" in found.explanation
    assert (value(found, "waits_per_sec"), value(found, "waited_percent_of_one_cpu")) == (450.0, 0.22)
    assert value(found, "waits_by_cpu") == "0: 500, 1: 400"
    assert value(found, "longest_wait_us") == 31.0


def test_a_part_of_the_time_is_not_taken_for_all_of_it() -> None:
    found = finding(judge, view(make_contention.contended(), watched_s=0.5, truncated=True))
    assert (value(found, "waits_per_sec"), value(found, "waited_percent_of_one_cpu")) == (1800.0, 0.88)


def test_irqbalance_is_named_where_it_runs() -> None:
    base = view(make_contention.contended())
    running = make.view(balanced(make.snapshot(2, 1)), contention=base.contention)
    assert "irqbalance runs and may move it" in finding(judge, running).explanation


def test_who_sets_the_affinity_and_who_reads_the_list_are_told() -> None:
    caller = {"caller": "__irq_get_desc_lock", "callers": ("irq_set_affinity", "write_irq_affinity")}
    writer = make_contention.contended(**caller, waits=310, per_cpu={1: 310}, tasks=("sh",))
    reader = make_contention.contended(caller="show_interrupts", waits=70, per_cpu={0: 70}, tasks=("cat", "grep"))
    said = finding(judge, view(writer, reader)).explanation
    assert "Its affinity is set meanwhile (310 waits by sh)." in said
    assert "The list of interrupts is read meanwhile (70 waits by cat, grep)." in said
    assert "at the same time" not in said


def test_long_waits_count_though_they_are_few() -> None:
    few = {"waits": 20, "per_cpu": {0: 12, 1: 8}}
    finding(judge, view(make_contention.contended(**few, wait_total_ns=21_000_000)))
    clear(judge, view(make_contention.contended(**few, wait_total_ns=19_000_000)))
    clear(judge, view(make_contention.contended(waits=9, per_cpu={0: 9}, wait_total_ns=90_000_000)))


@pytest.mark.parametrize(("waits", "found"), [(199, False), (200, True)])
def test_a_hundred_waits_a_second_are_too_many(waits: int, *, found: bool) -> None:
    (said,) = judge(view(make_contention.contended(waits=waits, per_cpu={0: waits}, wait_total_ns=5_000)))
    assert isinstance(said, Finding) is found


def test_what_was_recorded_in_windows_counts_by_their_time() -> None:
    found = finding(judge, view(make_contention.contended(), truncated=True, watched_s=0.5))
    assert (value(found, "waits_per_sec"), value(found, "waited_percent_of_one_cpu")) == (1_800.0, 0.88)


def test_other_locks_are_no_descriptor() -> None:
    assert value(clear(judge, view(other(waits=90_000))), "waits_per_sec") == 0.0


def test_another_interrupt_and_an_unknown_one_are_nobodys_queue() -> None:
    disk = make_contention.contended(irq=20, subject="IRQ 20 (ahci)")
    some = make_contention.contended(irq=None, subject=None, subject_reason="some interrupt")
    found = [one for one in judge(view(disk, some)) if isinstance(one, Finding)]
    assert [one.subject for one in found] == ["interrupts", "irq20"]
    assert "some interrupt" in found[0].title
    planned = plan(view(disk, some), found, policies())
    assert [one.policy for one in planned.advice] == []
    assert {(one.policy, one.subject) for one in planned.declined} == {
        ("pin-queue-interrupts", "interrupts"), ("pin-queue-interrupts", "irq20"),
    }  # fmt: skip


def test_a_queue_s_interrupt_is_pinned() -> None:
    wide = make.topology(2).online
    machine = make.snapshot(2, 1, irqs=(make.irq_line(31, "virtio0-input.0", 0, affinity=wide),))
    contended = make.view(machine, contention=make_contention.contention())
    (advice,) = plan(contended, judge(contended), policies()).advice
    assert advice.policy == "pin-queue-interrupts"
    assert "/proc/irq/31/smp_affinity_list" in {change.where for change in advice.changes}


def test_little_on_each_of_many_interrupts_is_one_finding() -> None:
    small = {"waits": 150, "per_cpu": {0: 100, 1: 50}, "wait_total_ns": 10_000}
    rows = [make_contention.contended(irq=irq, subject=f"IRQ {irq}", **small) for irq in (40, 41, 42)]
    assert finding(judge, view(*rows)).irqs == (40, 41, 42)


@pytest.mark.parametrize("spin", [SpinVisibility.NONE, SpinVisibility.FROM_THIRD, SpinVisibility.UNKNOWN])
def test_what_cannot_be_seen_is_not_clear(spin: SpinVisibility) -> None:
    said = unjudged(judge, view(spin=spin))
    assert said.reason.startswith("cannot see")
    assert not said.idle
    finding(judge, view(make_contention.contended(), spin=spin))


def test_what_was_lost_is_not_clear() -> None:
    assert "dropped 5,000 events" in unjudged(judge, view(lost=5_000)).reason
    assert "more happened" in unjudged(judge, view(truncated=True)).reason
    clear(judge, view(truncated=True, watched_s=0.25))
    unknown = other(caller="[unknown]", waits=4_000, wait_total_ns=1)
    assert "2,000 waits/s at places without a name" in unjudged(judge, view(unknown)).reason


def test_many_counts_alone_do_not_tell_of_a_lock() -> None:
    (said,) = judge(view(per_cpu_per_sec={0: 500.0, 1: 400.0}, seconds=None, recorded_reason="lockdown"))
    assert isinstance(said, Unjudged)
    assert said.reason == "900 waits/s were counted, and at which locks was not recorded"


def test_few_counts_speak_against_it_where_every_wait_shows() -> None:
    few: dict[str, Any] = {"per_cpu_per_sec": {0: 30.0, 1: 40.0}, "seconds": None, "recorded_reason": "few"}
    (said,) = judge(view(**few))
    assert isinstance(said, Clear)
    assert [(one.metric, one.value) for one in said.evidence] == [("waits_of_all_locks_per_sec", 70.0)]
    (blind,) = judge(view(**few, spin=SpinVisibility.NONE))
    assert isinstance(blind, Unjudged)
    assert blind.reason.startswith("cannot see")


def test_where_nothing_was_asked_nothing_is_said() -> None:
    assert judge(make.view()) == ()
    assert judge(view(seconds=None, per_cpu_per_sec=None, counted_reason="perf_event_paranoid")) == ()
