"""Keep, revert or undecided: from a question and the raw rounds alone, so that it can be worked out again later.

Keep: the whole interval of the primary metric is beyond the threshold in the better direction, and no guard failed.
Revert: B is proven worse, or a guard failed. Undecided: anything else, with the smallest effect that would have been
found. The intervals that decide pay for the looks (``measure.sequential``). The one that is told is the same at the
last look; where a trial ended before, it would be up to twice as wide as the rounds make it, and a 96 % one is told:
by simulation it covers in 93.7 to 96.1 % of trials that may stop like this, wherever the truth is (at most 12 or 24
pairs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuneagent.measure import sequential
from tuneagent.measure.effect import BOOTS_LEAST, PAIRS_LEAST, USUAL, Data, Sample, complete, data, effect
from tuneagent.measure.guards import judge_guards
from tuneagent.measure.notes import notes
from tuneagent.measure.sequential import Schedule
from tuneagent.measure.steal import SET_ASIDE
from tuneagent.measure.student import tail
from tuneagent.measure.wording import described
from tuneagent.model.metrics import METRICS, metric
from tuneagent.model.trial import Better, Decision, Effect, GuardResult, Question, Round, Verdict

EARLY = 0.02
"""On either side of the interval that is told where a trial ended before its last look."""
AGREES = 1.0
"""Standard errors by which all rounds, also those that were set aside, must point where the verdict does."""
_MOST_METRICS = 100
"""Effects; a round out of a file may name as many metrics as it likes."""

Pairs = tuple[tuple[Round, Round], ...]


@dataclass(frozen=True, slots=True)
class _Ruling:
    """What the rounds come to, before it is put into words."""

    decision: Decision
    hopeless: bool
    """Undecided at a look, and the pairs that are left would hardly change that."""
    guards: tuple[GuardResult, ...]
    limits: tuple[float, float] | None
    against: Effect | None = None
    """What the rounds that were set aside have against a decision."""

    @property
    def final(self) -> bool:
        return self.hopeless or self.decision is not Decision.UNDECIDED


def judge(question: Question, rounds: Sequence[Round]) -> Verdict:
    """The verdict that these rounds allow."""
    pairs = complete(rounds)
    primary = data(question.primary, pairs, cold=question.cold)
    ruling = _rule(question, pairs, primary, _with_taken(question, rounds))
    told = _told(question, primary, ruling)
    return Verdict(
        decision=ruling.decision,
        why=_why(question, ruling, told),
        primary=told,
        effects=_effects(question, pairs, told),
        guards=ruling.guards,
        looks=looks_of(question).taken(len(primary.pairs)),
        notes=notes(question, rounds, pairs),
    )


def ended(question: Question, rounds: Sequence[Round]) -> bool:
    """Whether a trial is at its end: at a look that decides or leaves no hope, or with its most pairs."""
    pairs = complete(rounds)
    if len(pairs) >= question.pairs_max:
        return True
    primary = data(question.primary, pairs, cold=question.cold)
    if len(primary.pairs) not in looks_of(question).looks:
        return False
    return _rule(question, pairs, primary, _with_taken(question, rounds)).final


def looks_of(question: Question) -> Schedule:
    """When a trial of this question is looked at."""
    least = BOOTS_LEAST if question.cold else PAIRS_LEAST
    return sequential.schedule(max(least, question.pairs_min), question.pairs_max)


def _with_taken(question: Question, rounds: Sequence[Round]) -> Data:
    """The primary metric with the rounds that were set aside because their CPU was taken."""
    return data(question.primary, complete(rounds, SET_ASIDE), cold=question.cold)


def _rule(question: Question, pairs: Pairs, primary: Data, with_taken: Data) -> _Ruling:
    schedule = looks_of(question)
    limits = schedule.limits(len(primary.pairs))
    guards = judge_guards(question, pairs, limits[0] if limits else None)
    decision = _decide(question, primary, limits, guards)
    against = _against(question, decision, with_taken) if len(with_taken.pairs) > len(primary.pairs) else None
    if against is not None and not any(guard.failed for guard in guards):
        return _Ruling(Decision.UNDECIDED, hopeless=False, guards=guards, limits=limits, against=against)
    hopeless = decision is Decision.UNDECIDED and _hopeless(question, primary, schedule)
    return _Ruling(decision, hopeless, guards, limits)


def _against(question: Question, decision: Decision, with_taken: Data) -> Effect | None:
    """What all rounds together show, where that speaks against the decision of those that count.

    Who took the CPU is not known: it may have been what the changes set loose. So what was set aside may blur a
    verdict, and never make one.
    """
    gain = with_taken.gain(question.threshold_percent if decision is Decision.KEEP else 0, question.better)
    if gain is None or decision is Decision.UNDECIDED:
        return None
    agrees = gain.t > AGREES if decision is Decision.KEEP else gain.t < -AGREES
    return None if agrees else effect(with_taken, USUAL, 0, question.better)


def _decide(
    question: Question, primary: Data, limits: tuple[float, float] | None, guards: Sequence[GuardResult]
) -> Decision:
    if any(guard.failed for guard in guards):
        return Decision.REVERT
    if limits is None:
        return Decision.UNDECIDED
    keep, revert = limits
    if _surely(primary.gain(question.threshold_percent, question.better), keep):
        return Decision.KEEP
    return Decision.REVERT if _surely(_loss(question, primary), revert) else Decision.UNDECIDED


def _surely(sample: Sample | None, limit: float) -> bool:
    return sample is not None and tail(sample.t, sample.df) < limit


def _loss(question: Question, primary: Data) -> Sample | None:
    gain = primary.gain(0, question.better)
    return gain.reversed() if gain else None


def _hopeless(question: Question, primary: Data, schedule: Schedule) -> bool:
    """Whether the pairs that are left can hardly bring the trial to a decision, whichever."""
    count, last = len(primary.pairs), question.pairs_max
    if count not in schedule.looks or count >= last:
        return False
    df = (2 if question.cold else 1) * (last - 1)
    either = (
        (primary.gain(question.threshold_percent, question.better), schedule.keep[-1]),
        (_loss(question, primary), schedule.revert[-1]),
    )
    chances = (sequential.chance(sample, last, limit, df) for sample, limit in either if sample)
    return max(chances, default=0.0) < sequential.HOPELESS


def _told(question: Question, primary: Data, ruling: _Ruling) -> Effect | None:
    beyond = ruling.limits[0] if ruling.limits else USUAL
    if ruling.final and len(primary.pairs) < question.pairs_max:
        beyond = max(beyond, EARLY)
    return effect(primary, beyond, question.threshold_percent, question.better)


def _effects(question: Question, pairs: Pairs, told: Effect | None) -> tuple[Effect, ...]:
    """The primary metric, then all others in their order, and last those that only these rounds have."""
    measured = {name for pair in pairs for one in pair for name in one.metrics} - {question.primary}
    known = [one.name for one in METRICS if one.name in measured]
    others = (*known, *sorted(measured.difference(known)))[:_MOST_METRICS]
    found = (effect(data(name, pairs, cold=question.cold), better=metric(name).better) for name in others)
    return tuple(one for one in (told, *found) if one)


def _why(question: Question, ruling: _Ruling, told: Effect | None) -> str:
    failed = [guard.why for guard in ruling.guards if guard.failed]
    if failed:
        return "; ".join(failed)
    if told is None:
        return f"{metric(question.primary).title}: not measured in any pair that counts"
    said = f"{metric(question.primary).title} {described(told)}"
    if ruling.decision is Decision.KEEP:
        return f"{said}: all of it is {_beyond(question)}{_guarded(ruling.guards)}"
    if ruling.decision is Decision.REVERT:
        return f"{said}: worse"
    if ruling.against is not None:
        return f"{said}: but with the rounds whose CPU was taken, by whomever, it is {described(ruling.against)}"
    return f"{said}: {_undecided(question, told)}{'; more pairs would hardly decide it' if ruling.hopeless else ''}"


def _guarded(guards: Sequence[GuardResult]) -> str:
    """What can be said of guards of which none failed."""
    open_ones = [one.guard.metric.replace("_", " ") for one in guards if not one.judged]
    if not open_ones:
        return ", and no guard failed" if guards else ""
    judged = "and no other guard failed, " if len(open_ones) < len(guards) else ""
    return f", {judged}but not guarded: {', '.join(open_ones)}"


def _undecided(question: Question, told: Effect) -> str:
    looks = looks_of(question).looks
    needed = looks[0] if looks else BOOTS_LEAST if question.cold else PAIRS_LEAST
    if told.pairs < needed:
        return f"a verdict needs {needed} {'boots of each' if question.cold else 'pairs'}"
    if question.better is Better.NEITHER:
        return "told, and not judged: neither direction is better"
    found = f"not all of it is {_beyond(question)}"
    if told.detectable_percent is None:
        return found
    return f"{found}; {told.detectable_percent:.1f} % or more would have been found in 80 % of such trials"


def _beyond(question: Question) -> str:
    if question.better is Better.DOWN:
        return f"below {-question.threshold_percent:g} %" if question.threshold_percent else "below 0"
    return f"above +{question.threshold_percent:g} %" if question.threshold_percent else "above 0"
