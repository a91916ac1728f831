"""Verdicts from rounds that were written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.measure.make import GUARDS, of, one, question, rounds
from tuneagent.measure.steal import PARTNER, TAKEN
from tuneagent.measure.verdict import ended, judge
from tuneagent.model.load import LoadKind, LoadResult, LoadSpec
from tuneagent.model.policy import Guard
from tuneagent.model.trial import Arm, Better, Decision, Round, Verdict

BASE = (1000.0, 1013.0, 987.0, 1021.0, 1004.0, 992.0, 1009.0, 996.0, 1017.0, 985.0, 1002.0, 1011.0)
SCATTER = (1.013, 0.991, 1.006, 0.984, 1.009, 0.997, 1.004, 0.989, 1.012, 0.994, 1.001, 1.007)


def transactions(factor: float, pairs: int = 6, scatter: float = 1) -> tuple[Round, ...]:
    b = [base * factor * noise**scatter for base, noise in zip(BASE, SCATTER, strict=True)]
    return of("transactions_per_sec", BASE[:pairs], b[:pairs])


def verdict(some: tuple[Round, ...], **changes: Any) -> Verdict:
    return judge(question(**changes), some)


def test_keep_when_the_whole_interval_is_above_the_threshold() -> None:
    found = verdict(transactions(1.2))
    assert found.decision is Decision.KEEP
    assert found.why == "transactions/s +20.0 % (95 % interval +18.5 to +21.5, 6 pairs): all of it is above 0"
    assert found.looks == 1
    assert found.primary == found.effects[0]


def test_a_gain_must_be_above_the_threshold_and_not_above_zero_only() -> None:
    assert verdict(transactions(1.05, 12), threshold_percent=2).decision is Decision.KEEP
    assert verdict(transactions(1.05, 12), threshold_percent=5).decision is Decision.UNDECIDED
    assert "not all of it is above +5 %" in verdict(transactions(1.05, 12), threshold_percent=5).why


def test_revert_when_b_is_proven_worse_however_little() -> None:
    found = verdict(transactions(0.95), threshold_percent=10)
    assert found.decision is Decision.REVERT
    assert found.why == "transactions/s -5.0 % (95 % interval -6.2 to -3.8, 6 pairs): worse"


def test_for_exits_less_is_better() -> None:
    down = {"primary": "exits_per_transaction", "better": Better.DOWN, "threshold_percent": 2.0}
    fewer = of("exits_per_transaction", BASE[:6], [0.65 * a * s for a, s in zip(BASE[:6], SCATTER, strict=False)])
    more = of("exits_per_transaction", BASE[:6], [1.3 * a * s for a, s in zip(BASE[:6], SCATTER, strict=False)])
    kept = verdict(fewer, **down)
    assert kept.decision is Decision.KEEP
    assert kept.why.endswith("all of it is below -2 %")
    assert verdict(more, **down).decision is Decision.REVERT


def test_undecided_tells_what_could_not_have_been_seen() -> None:
    found = verdict(transactions(1.01, 12, scatter=12))
    assert found.decision is Decision.UNDECIDED
    assert found.primary is not None
    assert found.primary.detectable_percent is not None
    assert 8 < found.primary.detectable_percent < 15
    assert f"{found.primary.detectable_percent:.1f} % or more would have been found in 80 %" in found.why


@pytest.mark.parametrize("pairs", [1, 2, 5])
def test_no_verdict_and_no_interval_below_six_pairs(pairs: int) -> None:
    found = verdict(transactions(3.0, pairs))
    assert found.decision is Decision.UNDECIDED
    assert found.looks == 0
    assert found.primary is not None
    assert found.primary.low_percent is None
    assert found.why.endswith("no interval): a verdict needs 6 pairs")


def test_nothing_measured_is_said() -> None:
    found = verdict(())
    assert found.decision is Decision.UNDECIDED
    assert found.why == "transactions/s: not measured in any pair that counts"
    assert found.primary is None


def test_a_metric_without_a_better_is_never_decided() -> None:
    found = verdict(transactions(2.0, 12), better=Better.NEITHER)
    assert found.decision is Decision.UNDECIDED
    assert "neither direction is better" in found.why


def test_a_trial_ends_at_a_look_that_decides_and_not_between_looks() -> None:
    asked = question(pairs_max=12)
    at_end = {pairs: ended(asked, transactions(1.2, pairs)) for pairs in range(1, 9)}
    assert at_end == {1: False, 2: False, 3: False, 4: False, 5: False, 6: True, 7: False, 8: True}
    assert ended(asked, transactions(1.0, 12, scatter=9))


def test_a_trial_without_hope_ends_and_says_so() -> None:
    asked, some = question(threshold_percent=2), transactions(1.006, 6, scatter=0.5)
    assert ended(asked, some)
    found = judge(asked, some)
    assert found.decision is Decision.UNDECIDED
    assert found.why.endswith("more pairs would hardly decide it")
    assert not ended(asked, transactions(1.023, 6, scatter=0.5))


def test_fewer_pairs_at_most_than_a_verdict_needs_never_give_one() -> None:
    asked, some = question(pairs_min=2, pairs_max=4), transactions(1.2, 4)
    assert ended(asked, some)
    assert judge(asked, some).decision is Decision.UNDECIDED


def test_four_boots_of_each_give_a_verdict() -> None:
    found = verdict(transactions(1.2, 4), cold=True, pairs_min=4, pairs_max=4)
    assert found.decision is Decision.KEEP
    few = verdict(transactions(1.2, 3), cold=True, pairs_min=4, pairs_max=4)
    assert few.why.endswith("a verdict needs 4 boots of each")


def test_rounds_that_do_not_count_do_not() -> None:
    some = list(transactions(1.2))
    some += [
        one(20 + index, 20 + index // 2, arm, {"transactions_per_sec": 1.0 if arm is Arm.B else 1e6}, unused="stolen")
        for index, arm in enumerate([Arm.A, Arm.B] * 6)
    ]
    found = verdict(tuple(some))
    assert found.decision is Decision.KEEP
    assert found.primary == verdict(transactions(1.2)).primary
    assert found.notes == ("12 rounds do not count (6 of A, 6 of B): stolen",)


def guarded(metric: str, a: float, b: float, *, spread: float = 1) -> tuple[Round, ...]:
    """A gain of 20 % with six pairs, and another metric beside it."""
    gained = transactions(1.2)
    levels = {Arm.A: a, Arm.B: b}
    return tuple(
        replace(it, metrics={**it.metrics, metric: levels[it.arm] * SCATTER[it.number - 1] ** spread}) for it in gained
    )


@pytest.mark.parametrize(("level", "decision"), [(300.0, Decision.UNDECIDED), (900.0, Decision.KEEP)])
def test_what_was_set_aside_may_blur_a_verdict(level: float, decision: Decision) -> None:
    """Who took the CPU is not known: where all rounds together do not point where the verdict does, there is none."""
    taken = one(26, 13, Arm.B, {"transactions_per_sec": level}, unused=TAKEN)
    partner = one(25, 13, Arm.A, {"transactions_per_sec": 1000.0}, unused=PARTNER)
    found = verdict((*transactions(1.2), partner, taken))
    assert found.decision is decision
    against = "but with the rounds whose CPU was taken, by whomever, it is" in found.why
    assert against is (decision is Decision.UNDECIDED)


def test_a_gain_is_given_back_where_a_guard_failed() -> None:
    found = verdict(guarded("latency_p99_us", 300, 420), guards=GUARDS)
    assert found.decision is Decision.REVERT
    assert found.why.startswith("latency, 99th percentile: +39.5 %")
    assert found.why.endswith("worse by more than the 10 % allowed")
    assert [result.failed for result in found.guards] == [False, True, False, False]


def test_a_guard_fails_only_with_its_whole_interval() -> None:
    found = verdict(guarded("latency_p99_us", 300, 345, spread=8), guards=GUARDS)
    assert found.decision is Decision.KEEP
    assert found.guards[1].why.endswith("not proven worse by more than 10 %")
    assert found.guards[1].effect is not None
    assert found.guards[1].effect.metric == "latency_p99_us"
    assert found.why.endswith(
        "all of it is above 0, and no other guard failed, but not guarded: cpu per transaction, drops, retransmits"
    )
    assert [one.judged for one in found.guards] == [False, True, False, False]
    alone = verdict(guarded("latency_p99_us", 300, 345, spread=8), guards=GUARDS[1:2])
    assert alone.why.endswith("all of it is above 0, and no guard failed")


def test_what_is_not_measured_cannot_be_guarded_and_that_is_said() -> None:
    found = verdict(transactions(1.2), guards=GUARDS)
    assert found.decision is Decision.KEEP
    assert [result.why for result in found.guards][2:] == [
        "drops: not measured, so not guarded",
        "retransmits: not measured, so not guarded",
    ]
    assert found.why.endswith(" above 0, but not guarded: cpu per transaction, latency p99, drops, retransmits")


def test_guards_are_not_judged_before_a_look() -> None:
    some = guarded("latency_p99_us", 300, 900)[:8]
    found = verdict(some, guards=GUARDS)
    assert found.decision is Decision.UNDECIDED
    assert found.guards[1].why.endswith("too few rounds to judge")


def test_drops_where_there_were_none_fail_their_guard() -> None:
    found = verdict(guarded("drops", 0, 50), guards=GUARDS)
    assert found.decision is Decision.REVERT
    assert found.why.startswith("drops: +")


def test_a_single_drop_now_and_then_does_not() -> None:
    some = tuple(
        replace(it, metrics={**it.metrics, "drops": 1.0 if it.number in {3, 10} else 0.0}) for it in transactions(1.2)
    )
    assert verdict(some, guards=GUARDS).decision is Decision.KEEP


def lossy(per_transaction: tuple[float, float], gain: float = 1.6) -> tuple[Round, ...]:
    """B does more work, and each transaction of an arm has so many retransmits."""
    per = dict(zip((Arm.A, Arm.B), per_transaction, strict=True))
    return tuple(
        replace(it, metrics=it.metrics | {"retransmits": per[it.arm] * it.seconds * it.metrics["transactions_per_sec"]})
        for it in transactions(gain)
    )


def test_more_work_may_lose_as_much_more() -> None:
    guards = (Guard("retransmits", 10),)
    same = verdict(lossy((1e-3, 1e-3)), guards=guards)
    assert same.decision is Decision.KEEP
    assert same.guards[0].effect is not None
    assert abs(same.guards[0].effect.percent or 0) < 0.1
    told = next(one for one in same.effects if one.metric == "retransmits")
    assert told.percent is not None
    assert told.percent > 50, "the table tells what was counted"
    assert verdict(lossy((1e-3, 1.3e-3)), guards=guards).decision is Decision.REVERT


def test_what_the_load_has_to_say_of_its_rounds_is_told() -> None:
    busy = "the load's own processes were busy all the time: they may be the limit"
    some = tuple(
        replace(it, load=LoadResult(5.0, 5000, notes=(busy,) if it.number % 2 else ())) for it in transactions(1.2)
    )
    assert verdict(some).notes == (f"the load says of {len(some) // 2} of {len(some)} rounds: {busy}",)


def test_where_no_load_is_run_nobody_is_told_to_pin_it() -> None:
    a = tuple(level * noise for level, noise in zip((950.0, 310.0) * 6, SCATTER, strict=True))
    found = verdict(of("transactions_per_sec", a, BASE), load=LoadSpec(LoadKind.PASSIVE))
    assert found.notes[0].endswith("their mean is a value that no round had")


def test_a_metric_whose_more_is_better_is_guarded_downwards() -> None:
    guards = (Guard("packets_per_sec", 10),)
    assert verdict(guarded("packets_per_sec", 900, 700), guards=guards).decision is Decision.REVERT
    assert verdict(guarded("packets_per_sec", 900, 1900), guards=guards).decision is Decision.KEEP


def test_a_guard_among_many_must_be_clearer_than_alone() -> None:
    # At a t between what one guard needs and what one of sixty needs.
    some = guarded("latency_p99_us", 300, 360)
    alone = (Guard("latency_p99", 10),)
    assert verdict(some, guards=alone).decision is Decision.REVERT
    crowd = tuple(Guard(f"other_{index}", 10) for index in range(60))
    measured = tuple(
        replace(it, metrics=it.metrics | {guard.metric: 5 * SCATTER[it.number - 1] for guard in crowd}) for it in some
    )
    assert verdict(measured, guards=alone + crowd).decision is Decision.KEEP


def test_two_groups_in_an_arm_are_told() -> None:
    a = tuple(level * noise for level, noise in zip((950.0, 310.0) * 6, SCATTER, strict=True))
    found = verdict(of("transactions_per_sec", a, BASE), load=LoadSpec(LoadKind.TCP_RR))
    assert len(found.notes) == 1
    assert found.notes[0].startswith("the rounds of A fall into two groups, 6 at about ")
    assert found.notes[0].endswith("pin the load's processes, which were not, and try again")


def test_a_load_that_moved_is_told() -> None:
    def load(cpu: int) -> LoadResult:
        return LoadResult(5.0, 5000, client_cpus=(cpu,))

    some = tuple(replace(it, load=load(it.number % 2)) for it in transactions(1.2))
    assert verdict(some).notes == ("the load's processes moved between rounds, over CPUs 0, 1",)
    assert verdict(tuple(replace(it, load=load(3)) for it in some)).notes == ()


def test_what_was_missing_is_told_with_its_reason() -> None:
    some = tuple(replace(it, missing={"exits_per_sec": "no debugfs"}) for it in transactions(1.2))
    assert verdict(some).notes == ("exits/s could not be measured in all rounds: no debugfs",)


def test_all_metrics_have_an_effect_in_the_order_of_the_table_and_unknown_ones_last() -> None:
    some = rounds(
        ({"frames": 5 * n, "steal_percent": 0.0, "packets_per_sec": 2 * a, "transactions_per_sec": a},
         {"frames": 6 * n, "steal_percent": 0.5, "packets_per_sec": 3 * a, "transactions_per_sec": a * n})
        for a, n in zip(BASE, SCATTER, strict=True)
    )  # fmt: skip
    found = verdict(some)
    assert [effect.metric for effect in found.effects] == [
        "transactions_per_sec",
        "packets_per_sec",
        "steal_percent",
        "frames",
    ]


def test_as_many_metrics_as_a_file_likes_are_bounded() -> None:
    some = tuple(replace(it, metrics=it.metrics | {f"m{n}": 1.0 for n in range(500)}) for it in transactions(1.2))
    assert len(verdict(some).effects) == 101
