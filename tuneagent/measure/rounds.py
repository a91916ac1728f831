"""The rounds of a trial: switch, settle, measure, in an order in which what drifts does not look like an effect.

Live, pairs go A B, B A, A B, … (ABBA; a coin says which arm begins). Cold, each round has a boot of its own and each
pair its own coin. A pair one of whose rounds does not count is measured again, under a new number and in the same
order; so often and not more. Pure but for what it is handed.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import median

from tuneagent.measure.effect import complete, data, effect
from tuneagent.measure.steal import PARTNER, stolen
from tuneagent.measure.verdict import ended, judge, looks_of
from tuneagent.model.load import WHOLE_SECONDS, LoadResult
from tuneagent.model.trial import Arm, Effect, Question, Round, TrialState, Verdict

_EXTRA_LEAST = 4
"""Pairs that may be measured again; half of the most pairs where that is more."""
_SHORTEST, _LONGEST = 0.5, 2.0
"""Of the seconds that were asked for; what took less or longer was not that measurement (a suspend, a stall)."""
_WHOLE_S = 2.0
"""More, for a program that runs for whole seconds and some before and after those that were asked for."""
_LONGEST_COST_S = 3600.0
"""Of a round, for the time that is left: a clock that was set is no forecast."""


class RoundError(Exception):
    """A switch or a measurement failed for good. The trial ends and the machine is put back; the text says why."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured in one round."""

    seconds: float
    metrics: dict[str, float]
    missing: dict[str, str] = field(default_factory=dict)
    queue_interrupts: dict[str, dict[str, float]] = field(default_factory=dict)
    exits_by_kind: dict[str, float] = field(default_factory=dict)
    load: LoadResult | None = None
    steal_percent: float | None = None
    unused: str = ""
    """Why this round does not count and shall be measured again; what cannot pass is a RoundError."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a trial is."""

    round_number: int
    """Of the round that begins."""
    arm: Arm
    pairs: int
    """That count so far."""
    pairs_max: int
    seconds_left_at_most: float
    """Without rounds that are measured again; most trials end before."""
    effect: Effect | None
    """On the primary metric, as it looks after the last pair, its looks not paid for; None before the first."""


def nobody(_: object) -> None:
    """Takes what nobody asked for."""


@dataclass(frozen=True, slots=True)
class Hands:
    """What the conductor works with. Each may raise RoundError or OSError, which ends the trial."""

    switch: Callable[[Arm], None]
    """Puts the machine into the state of an arm: before the first round, where the arm changes, and cold before each
    round, as a boot."""
    measure: Callable[[float], Measured]
    """Measures for so many seconds."""
    wait: Callable[[float], None]
    now_ns: Callable[[], int]
    """CLOCK_REALTIME, for the record."""
    restore: Callable[[], None]
    """Puts the machine back as it was before the trial, from any state."""
    record: Callable[[Round], None] = nobody
    """Each round once it is measured; once more, under its number, where it turns out later that it does not count."""
    progress: Callable[[Progress], None] = nobody
    in_time: Callable[[], bool] = lambda: True
    """Whether there is time for another pair."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended: DONE or FAILED."""

    state: TrialState
    rounds: tuple[Round, ...]
    verdict: Verdict | None
    why: str
    """Of a failure."""
    arm: Arm | None
    """The state in which the machine was left: the caller keeps it or puts it back. None where it is as before."""


def conduct(question: Question, hands: Hands) -> Outcome:
    """Measures until the question is answered, cannot be, or has had its most pairs.

    A failure puts the machine back and is told. Whatever else is raised (an interrupt, a fault of the program) is
    raised on once the machine is put back; its rounds have been recorded. ValueError for a question without rounds.
    """
    if question.pairs_max < 1 or question.round_s <= 0 or question.settle_s < 0:
        raise ValueError("a trial needs at least one pair of rounds of more than no seconds")
    conducting = _Conducting(question, hands)
    try:
        outcome = conducting.run()
    except (RoundError, OSError) as error:
        return conducting.failed(str(error) or type(error).__name__)
    except BaseException as error:
        conducting.put_back(error)
        raise
    return outcome


class _Conducting:
    """One trial while it runs."""

    def __init__(self, question: Question, hands: Hands) -> None:
        self._question, self._hands = question, hands
        self._coin = random.Random(question.seed)  # noqa: S311 - an order that can be repeated, and no secret
        self._first = self._toss()
        self._rounds: list[Round] = []
        self._arm: Arm | None = None
        self._pair = 0
        self._costs: list[float] = []
        self._pairs = 0
        self._effect: Effect | None = None

    def run(self) -> Outcome:
        extra = max(_EXTRA_LEAST, self._question.pairs_max // 2)
        while self._pair < self._question.pairs_max + extra:
            self._measure_pair()
            self._set_aside_stolen()
            self._weigh()
            if ended(self._question, self._rounds):
                return self._done()
            if not self._hands.in_time():
                return self._out_of_time()
        return self._worn_out()

    def failed(self, why: str) -> Outcome:
        """The machine is put back; where that fails too, both reasons are told."""
        try:
            self._hands.restore()
        except (RoundError, OSError) as error:
            why = f"{why}; and the machine could not be put back: {error}"
            return Outcome(TrialState.FAILED, tuple(self._rounds), None, why, self._arm)
        except BaseException as interrupt:  # somebody is impatient; a machine half put back is put back all the same
            self.put_back(interrupt)
            raise
        return Outcome(TrialState.FAILED, tuple(self._rounds), None, why, None)

    def put_back(self, reason: BaseException) -> None:
        """Before the reason is raised on; it is not lost where this fails."""
        try:
            self._hands.restore()
        except (RoundError, OSError) as error:
            reason.add_note(f"and the machine could not be put back: {error}")

    def _done(self) -> Outcome:
        verdict = judge(self._question, self._rounds)
        return Outcome(TrialState.DONE, tuple(self._rounds), verdict, "", self._arm)

    def _is_enough(self) -> bool:
        """Whether the pairs that count allow a verdict."""
        looks = looks_of(self._question).looks
        return bool(looks) and len(complete(self._rounds)) >= looks[0]

    def _out_of_time(self) -> Outcome:
        if self._is_enough():
            return self._done()
        return self.failed(f"its time was over after {len(complete(self._rounds))} pairs that count: no verdict")

    def _worn_out(self) -> Outcome:
        """Too many rounds did not count. What does count may still be enough for a verdict."""
        if self._is_enough():
            return self._done()
        reasons = Counter(one.unused for one in self._rounds if one.unused not in {"", PARTNER})
        reason, count = reasons.most_common(1)[0]
        return self.failed(f"{count} of {len(self._rounds)} rounds did not count: {reason}")

    def _weigh(self) -> None:
        """What progress tells until the next pair."""
        pairs = complete(self._rounds)
        self._pairs = len(pairs)
        self._effect = effect(data(self._question.primary, pairs, cold=self._question.cold))

    def _measure_pair(self) -> None:
        """Both rounds, or only the first where that does not count already."""
        self._pair += 1
        first = self._next_first()
        for arm in (first, _other(first)):
            if self._measure_round(arm).unused:
                break
        self._set_aside_partners()

    def _measure_round(self, arm: Arm) -> Round:
        question, hands = self._question, self._hands
        hands.progress(self._progress(arm))
        begun_ns = hands.now_ns()
        if question.cold or arm is not self._arm:
            self._arm = arm  # from here on in doubt it is no longer the other one
            hands.switch(arm)
        hands.wait(question.settle_s)
        began_ns = hands.now_ns()
        found = round_of(len(self._rounds) + 1, self._pair, arm, began_ns, hands.measure(question.round_s))
        found = replace(found, unused=found.unused or self._why_unused(found))
        self._rounds.append(found)
        self._costs.append((hands.now_ns() - begun_ns) / 1e9)
        hands.record(found)
        return found

    def _why_unused(self, found: Round) -> str:
        asked = self._question.round_s
        more = _WHOLE_S if self._question.load.kind in WHOLE_SECONDS else 0.0
        if not _SHORTEST * asked <= found.seconds <= _LONGEST * asked + more:
            return f"it was measured for {found.seconds:.3g} s, and {asked:g} s were asked for"
        if not math.isfinite(found.metrics.get(self._question.primary, math.nan)):
            reason = found.missing.get(self._question.primary, "no reason was given")
            return f"{self._question.primary} could not be measured: {reason}"
        return ""

    def _set_aside_stolen(self) -> None:
        self._set_aside(stolen(self._rounds))
        self._set_aside_partners()

    def _set_aside_partners(self) -> None:
        lost = {one.pair for one in self._rounds if one.unused}
        self._set_aside({one.number: PARTNER for one in self._rounds if one.pair in lost and not one.unused})

    def _set_aside(self, reasons: dict[int, str]) -> None:
        for number, reason in reasons.items():
            self._rounds[number - 1] = replace(self._rounds[number - 1], unused=reason)
            self._hands.record(self._rounds[number - 1])

    def _next_first(self) -> Arm:
        """The arm that begins the next pair: of the pairs that count, both orders are wanted equally often."""
        if self._question.cold:
            return self._toss()
        begun = Counter(min(pair, key=lambda one: one.number).arm for pair in complete(self._rounds))
        return self._first if begun[self._first] <= begun[_other(self._first)] else _other(self._first)

    def _toss(self) -> Arm:
        return self._coin.choice((Arm.A, Arm.B))

    def _progress(self, arm: Arm) -> Progress:
        question, pairs = self._question, self._pairs
        begun = sum(one.pair == self._pair for one in self._rounds)
        return Progress(
            round_number=len(self._rounds) + 1,
            arm=arm,
            pairs=pairs,
            pairs_max=question.pairs_max,
            seconds_left_at_most=max(1, 2 * (question.pairs_max - pairs) - begun) * self._cost_s(),
            effect=self._effect,
        )

    def _cost_s(self) -> float:
        """Of a round with its switch, as they were so far."""
        planned = self._question.round_s + self._question.settle_s
        if not self._costs:
            return planned
        return max(planned, min(planned + _LONGEST_COST_S, median(self._costs)))


def _other(arm: Arm) -> Arm:
    return Arm.B if arm is Arm.A else Arm.A


def round_of(number: int, pair: int, arm: Arm, began_ns: int, measured: Measured) -> Round:
    """What was measured, as a round of a trial."""
    return Round(
        number=number,
        pair=pair,
        arm=arm,
        began_ns=began_ns,
        seconds=measured.seconds,
        metrics=measured.metrics,
        missing=measured.missing,
        queue_interrupts=measured.queue_interrupts,
        exits_by_kind=measured.exits_by_kind,
        load=measured.load,
        steal_percent=measured.steal_percent,
        unused=measured.unused,
    )
