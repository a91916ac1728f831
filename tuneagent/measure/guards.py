"""Metrics that must not get worse: a guard fails only if its whole interval is beyond its limit, Holm over all guards.

Holm (1979): the most significant of m guards must undercut a m-th of the probability, the next a (m-1)-th, and so on
until one does not; so that the chance of one false alarm among all stays what it is for one.

Drops and retransmits are counts of a round: they are compared at equal work, or a gain would fail its own guards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from tuneagent.measure.effect import USUAL, Data, data, effect
from tuneagent.measure.student import tail
from tuneagent.measure.wording import described
from tuneagent.model.metrics import BITS, COUNTS, PACKETS, TRANSACTIONS, measured_name, metric
from tuneagent.model.policy import Guard
from tuneagent.model.trial import Better, Effect, GuardResult, Question, Round

_WORK = (TRANSACTIONS, BITS, PACKETS)
"""What a round has done, in the order in which it is asked for."""


@dataclass(frozen=True, slots=True)
class _Looked:
    """A guard, what its metric did, and how improbable that is at its limit; 1 where that cannot be said."""

    guard: Guard
    effect: Effect | None
    probability: float
    why_not: str

    @property
    def judged(self) -> bool:
        return not self.why_not


def judge_guards(
    question: Question, pairs: Sequence[tuple[Round, Round]], limit: float | None
) -> tuple[GuardResult, ...]:
    """Each guard of the question, in its order. ``limit``: the tail probability of this look, None before the first."""
    looked = [_look(guard, pairs, cold=question.cold, due=limit is not None) for guard in question.guards]
    failed = _holm(looked, limit) if limit is not None else set()
    return tuple(
        GuardResult(one.guard, one.effect, index in failed, _why(one, failed=index in failed), one.judged)
        for index, one in enumerate(looked)
    )


def _look(guard: Guard, pairs: Iterable[tuple[Round, Round]], *, cold: bool, due: bool) -> _Looked:
    found = data(measured_name(guard.metric), _at_equal_work(measured_name(guard.metric), pairs), cold=cold)
    seen = effect(found, USUAL)
    if seen is None:
        return _Looked(guard, None, 1.0, f"{_title(guard)}: not measured, so not guarded")
    beyond = found.gain(guard.worse_percent_max, _worse(found))
    if not due or not found.enough:
        return _Looked(guard, seen, 1.0, f"{_title(guard)}: {described(seen)}: too few rounds to judge")
    return _Looked(guard, seen, tail(beyond.t, beyond.df) if beyond else 1.0, "")


def _at_equal_work(name: str, pairs: Iterable[tuple[Round, Round]]) -> tuple[tuple[Round, Round], ...]:
    """Counts (drops) as they would be had all rounds done as much: what does half as much again may lose as much more.

    By transactions, else bits, else packets; as they are where one of the rounds tells none of these.
    """
    pairs = tuple(pairs)
    both = [one for pair in pairs for one in pair]
    measure = next((name for name in _WORK if both and all(one.metrics.get(name, 0) > 0 for one in both)), None)
    if name not in COUNTS or measure is None:
        return pairs
    usual = fmean(one.metrics[measure] * one.seconds for one in both)

    def scaled(one: Round) -> Round:
        value, work = one.metrics.get(name), one.metrics[measure] * one.seconds
        return one if value is None else replace(one, metrics=one.metrics | {name: value * usual / work})

    return tuple((scaled(a), scaled(b)) for a, b in pairs)


def _worse(found: Data) -> Better:
    """The direction that is worse; upwards for a metric of which nobody knows what is better, since it is guarded."""
    return Better.DOWN if metric(found.metric).better is Better.UP else Better.UP


def _holm(looked: Sequence[_Looked], limit: float) -> set[int]:
    judged = sorted((one.probability, index) for index, one in enumerate(looked) if one.judged)
    failed: set[int] = set()
    for place, (probability, index) in enumerate(judged):
        if probability >= limit / (len(judged) - place):
            break
        failed.add(index)
    return failed


def _why(one: _Looked, *, failed: bool) -> str:
    if one.why_not:
        return one.why_not
    said = described(one.effect) if one.effect else ""
    most = f"{one.guard.worse_percent_max:g} %"
    if failed:
        return f"{_title(one.guard)}: {said}: worse by more than the {most} allowed"
    return f"{_title(one.guard)}: {said}: not proven worse by more than {most}"


def _title(guard: Guard) -> str:
    return metric(measured_name(guard.metric)).title
