from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make
from tests.diagnose.views import at, balanced, clear, finding, single, unjudged, value, with_irqs, with_nic
from tuneagent.diagnose.irqbalance_fights_pins import judge
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Severity
from tuneagent.model.snapshot import Snapshot

PINNED = make.snapshot()
EVERY = tuple(range(31, 39))


def free() -> Snapshot:
    return with_irqs(PINNED, lambda line: replace(line, affinity=CpuSet.of(range(4))))


def test_moved_interrupts_are_a_warning() -> None:
    after = balanced(with_irqs(free(), at({31: 2, 38: 1})))
    found = finding(judge, make.view(after, before=balanced(free())))
    assert (found.severity, found.irqs, found.queues) == (Severity.WARNING, (31, 38), (0, 3))
    assert value(found, "irq31_effective_affinity") == "0 -> 2"
    assert value(found, "irq38_affinity") == "0-3 -> 1"
    assert "free to move" in found.explanation


def test_a_ban_points_at_somebody_else() -> None:
    after = balanced(with_irqs(PINNED, at({31: 2})), "--banmod=virtio")
    assert "something else" in finding(judge, make.view(after, before=balanced(PINNED))).explanation


def test_pins_that_are_not_banned_are_worth_knowing() -> None:
    found = finding(judge, single(balanced(PINNED)))
    assert (found.severity, found.irqs) == (Severity.INFO, EVERY)


def test_only_interrupts_that_are_not_banned_are_listed() -> None:
    assert finding(judge, single(balanced(PINNED, "--banirq=31", "-i", "32", "-fi33"))).irqs == EVERY[3:]
    assert value(clear(judge, single(balanced(PINNED, *(f"-i{irq}" for irq in EVERY)))), "banned_interrupts") == 8


def test_the_file_counts_where_the_command_line_is_not_known() -> None:
    started_before = balanced(PINNED, "-i", "31", banned_irqs=frozenset({33}))
    assert finding(judge, single(started_before)).irqs == EVERY[1:]
    hidden = replace(started_before.irqbalance or pytest.fail("it runs"), command=(), banned_irqs=frozenset())
    assert finding(judge, single(replace(started_before, irqbalance=hidden))).irqs == (31, 32, *EVERY[3:])


@pytest.mark.parametrize("command", [("-m", "virtio"), ("--banmod", "vir"), ("--foreground", "-mio")])
def test_a_ban_by_name_matches_a_part_of_it(command: tuple[str, ...]) -> None:
    clear(judge, single(balanced(PINNED, *command)))


@pytest.mark.parametrize("module", ["virtio0-", "virtio-pci", "net"])
def test_a_ban_that_some_versions_do_not_match_is_none(module: str) -> None:
    assert finding(judge, single(balanced(PINNED, f"--banmod={module}"))).irqs == EVERY


@pytest.mark.parametrize("command", [("--banirq=",), ("--banirq",), ("--banirq=" + "9" * 99,), ("--banmod=",)])
def test_an_empty_or_absurd_ban_bans_nothing(command: tuple[str, ...]) -> None:
    assert finding(judge, single(balanced(PINNED, *command))).irqs == EVERY


def test_what_the_driver_asked_for_is_no_pin() -> None:
    clear(judge, single(balanced(with_irqs(PINNED, lambda line: replace(line, affinity_hint=line.affinity)))))


def test_interrupts_that_may_go_anywhere_are_clear() -> None:
    clear(judge, make.view(balanced(free())))


def test_unknowns_are_not_judged() -> None:
    unjudged(judge, single(balanced(PINNED, running=None)))
    unjudged(judge, single(balanced(with_nic(PINNED, queue_irqs=()))))
    unjudged(judge, single(replace(balanced(PINNED), cpus=None)))


def test_nothing_where_it_does_not_run_or_cannot() -> None:
    assert judge(make.view()) == ()
    assert judge(make.view(balanced(make.snapshot(1, 2)))) == ()


def test_irqbalance_seen_at_one_end_only_is_named() -> None:
    after = balanced(with_irqs(PINNED, at({31: 2})), running=None)
    assert "irqbalance runs" in finding(judge, make.view(after, before=balanced(PINNED))).explanation


def test_a_pin_that_moved_without_irqbalance_was_moved_by_something_else() -> None:
    moved = with_irqs(PINNED, at({31: 2}))
    view = make.view(moved, before=PINNED)
    for one in (view, replace(view, irqs={}, nics={})):
        found = finding(judge, one)
        assert (found.severity, found.irqs) == (Severity.WARNING, (31,))
        assert "irqbalance does not run, so something else moved them" in found.explanation
        assert "within the interval" in found.title
        assert value(found, "irq31_affinity") == "0 -> 2"


def test_those_that_bounce_under_traffic_are_told_by_interrupt_spread() -> None:
    view = make.view(with_irqs(PINNED, at({31: 2, 33: 3})), before=PINNED)
    falls = {31: make.irq_rate(31, {0: 300, 2: 400}), 33: make.irq_rate(33, {3: 990, 1: 9})}
    assert finding(judge, replace(view, irqs=falls)).irqs == (33,)
    assert judge(replace(view, irqs=falls | {33: make.irq_rate(33, {3: 500, 1: 400})})) == ()


def test_what_may_go_anywhere_is_the_kernels_to_place() -> None:
    elsewhere = with_irqs(free(), lambda line: replace(line, effective_affinity=CpuSet.of([3])))
    assert judge(make.view(elsewhere, before=free())) == ()


def test_a_move_is_told_where_irqbalance_is_unknown() -> None:
    before = balanced(PINNED, running=None)
    found = finding(judge, make.view(balanced(with_irqs(PINNED, at({31: 2})), running=None), before=before))
    assert "what moved them was not seen" in found.explanation
