"""The sentences of a trial, the same in text, JSON and HTML: the verdict first, and what it could not have seen."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from tuneagent.model import metrics
from tuneagent.model.figure import figure
from tuneagent.model.load import LoadKind, LoadSpec
from tuneagent.model.trial import Better, Decision, Effect, GuardResult, Question, Trial, TrialState, Verdict
from tuneagent.report.safe import safe
from tuneagent.report.values import NOT_KNOWN, plural

TOO_FEW = "too few pairs"
_NOT_MEASURED = "not measured"
LONGEST_REASON = 2000
A_IS = "A: as it was"
B_IS = "B: with the changes"
_DECISIONS = {Decision.KEEP: "Keep", Decision.REVERT: "Revert", Decision.UNDECIDED: "Undecided"}
_UNITS = {"us": " µs", "%": " %", "/s": ""}
"""After a number; a title says "/s" itself."""
_MINUTE_S, _HOUR_S = 60, 3600
_HUGE, _WHOLE_PERCENT, _FEW_PERCENT = 1e9, 99.95, 0.1
_NS = 10**9


def headline(trial: Trial) -> str:
    """How it ended, in one sentence."""
    match trial.state:
        case TrialState.RUNNING:
            return f"Running: {plural(len(trial.rounds), 'round')} so far."
        case TrialState.INTERRUPTED:
            measured = plural(len(trial.rounds), "round")
            return f"Interrupted: its process ended after {measured}. `tuneagent status` says what still stands."
        case TrialState.FAILED:
            kept = "its changes stand" if trial.kept else "the machine is as before"
            return f"Failed, and {kept}: {_reason(trial.why)}."
    if trial.verdict is None:
        return "Ended without a verdict."
    return f"{_DECISIONS[trial.verdict.decision]}: {_effect(trial.verdict)}{_stand(trial)}."


def why(trial: Trial) -> str:
    """The reason of the verdict; empty where there is none."""
    said = trial.verdict.why if trial.verdict is not None else ""
    return f"{safe(said, LONGEST_REASON).rstrip('.')}." if said else ""


def _reason(text: str) -> str:
    return safe(text, LONGEST_REASON).rstrip(".") or "no reason was given"


def _effect(verdict: Verdict) -> str:
    effect = verdict.primary
    if effect is None:
        return "no round told the metric that decides"
    between = interval(effect)
    between = "too few pairs for an interval" if between == TOO_FEW else f"95 % interval {between}"
    return f"{title(effect.metric)} {change(effect)} ({between}, {plural(effect.pairs, 'pair')})"


def _stand(trial: Trial) -> str:
    if trial.kept is None:
        return ""
    if not trial.kept:
        return "; the changes were taken back"
    # Past: it may have been rolled back since, and this is told of a trial for as long as it is stored.
    return "; kept" + (f" as transaction {trial.transaction}" if trial.transaction is not None else "")


def undo(trial: Trial) -> str:
    """The command that gives back what it kept; empty where nothing was, and where that is another machine's number."""
    if not trial.kept or trial.transaction is None or trial.origin:
        return ""
    return f"tuneagent rollback {trial.transaction}"


def not_seen(trial: Trial) -> str:
    """The smallest effect that this trial could have found; empty where that is not known."""
    effect = trial.verdict.primary if trial.verdict is not None else None
    if effect is None or effect.detectable_percent is None:
        return ""
    least = percent(effect.detectable_percent).lstrip("+")
    return (
        f"A change of {title(effect.metric)} smaller than {least} would have been missed in more than one of five such "
        f"trials: with {plural(effect.pairs, 'pair')} this noise hides it."
    )


def subject(trial: Trial) -> str:
    """``pin-queue-interrupts on eth0``."""
    return " on ".join(filter(None, (safe(trial.question.policy), safe(trial.question.subject)))) or "no policy"


def asked(trial: Trial) -> str:
    """``pin-queue-interrupts on eth0: Pin each queue pair's interrupts``; a plan file has no title."""
    named, called = subject(trial), safe(trial.question.title)
    return named if called in ("", safe(trial.question.policy)) else f"{named}: {called}"


def notes(trial: Trial, missing: Collection[str]) -> tuple[str, ...]:
    """The verdict's, without those that only say again what is told of each metric of ``missing``."""
    said = trial.verdict.notes if trial.verdict is not None else ()
    again = tuple(f"{metrics.metric(name).title} could not be measured in all rounds: " for name in missing)
    return tuple(note for note in said if not (again and note.startswith(again)))


def told_in_part(trial: Trial, name: str) -> bool:
    """Whether a metric that is missing from a round was measured in another."""
    return any(name in one.metrics for one in trial.rounds if not one.unused)


def load(spec: LoadSpec) -> str:
    """The load in a line."""
    if spec.kind is LoadKind.PASSIVE:
        return "no load of ours: the machine's own packets"
    if spec.kind is LoadKind.COMMAND:
        return f"command {safe(shlex.join(spec.command))}, {_where(spec)}"
    parts = [f"{spec.kind.value}", plural(spec.connections, "connection")]
    if spec.host:
        parts[0] += f" to {safe(spec.host)}{f':{spec.port}' if spec.port else ''}"
    parts.append(f"{plural(spec.request_bytes, 'byte')} there, {spec.response_bytes:,} back")
    if spec.burst != 1:
        parts.append(f"{spec.burst:,} in flight")
    if spec.think_us:
        parts.append(f"{spec.think_us:,} µs between them")
    parts.append(plural(spec.processes, "process").replace("processs", "processes"))
    if spec.rate_per_sec is not None:
        parts.append(f"open loop of {figure(spec.rate_per_sec)}/s")
    parts.append(_where(spec))
    return ", ".join(parts)


def _where(spec: LoadSpec) -> str:
    return f"on CPUs {', '.join(map(str, spec.cpus))}" if spec.cpus else "not pinned"


def title(name: str) -> str:
    """How a metric is called."""
    return safe(metrics.metric(name).title)


def unit(name: str) -> str:
    """``µs``, ``%``; empty where the title says it, or there is none."""
    return value(name, 0).partition(" ")[2]


def value(name: str, number: float | None) -> str:
    """A value of a metric with its unit."""
    if number is None:
        return NOT_KNOWN
    told = metrics.metric(name).unit
    return figure(number) + _UNITS.get(told, f" {safe(told)}" if told else "")


def change(effect: Effect) -> str:
    """B against A: in per cent, or in the unit where A may be nothing."""
    return percent(effect.percent) if effect.difference is None else signed(effect.difference)


def interval(effect: Effect) -> str:
    """``+57.5 to +91.0 %``."""
    if effect.difference is not None and effect.low_difference is not None and effect.high_difference is not None:
        return f"{signed(effect.low_difference)} to {signed(effect.high_difference)}"
    if effect.low_percent is None or effect.high_percent is None:
        return TOO_FEW
    return f"{percent(effect.low_percent).removesuffix(' %')} to {percent(effect.high_percent)}"


def reads_as(effect: Effect, question: Question) -> str:
    """What the interval allows to say: ``better``, ``worse``, ``unclear``; of a metric that is not judged, its way."""
    low, high = (effect.low_percent, effect.high_percent)
    if effect.difference is not None:
        low, high = effect.low_difference, effect.high_difference
    if low is None or high is None:
        return "?"
    if low <= 0 <= high:
        return "no difference seen"
    wanted = question.better if effect.metric == question.primary else metrics.metric(effect.metric).better
    if wanted is Better.NEITHER:
        return "higher" if low > 0 else "lower"
    return "better" if (low > 0) == (wanted is Better.UP) else "worse"


def guard_row(result: GuardResult) -> tuple[str, str, str, str, str]:
    """Metric, limit, change, interval, and what that comes to."""
    effect = result.effect
    name = metrics.measured_name(result.guard.metric)
    return (
        title(name),
        f"worse by {figure(result.guard.worse_percent_max)} %",
        NOT_KNOWN if effect is None else change(effect),
        NOT_KNOWN if effect is None else interval(effect),
        _outcome(result),
    )


def _outcome(result: GuardResult) -> str:
    """What it came to, and the reason without the figures that stand beside it."""
    reason = _reason(result.why)
    if result.effect is None and not result.failed:
        told = reason.removeprefix(f"{title(metrics.measured_name(result.guard.metric))}: ")
        return told if told.startswith(_NOT_MEASURED) else f"{_NOT_MEASURED}: {told}"
    outcome = "FAILED" if result.failed else "held" if result.judged else "not judged"
    return f"{outcome}: {reason.rpartition(': ')[2].removesuffix(' to judge')}"


def percent(number: float | None) -> str:
    """With its sign, as exact as it is worth: ``+73.4 %``, ``-0.05 %``, ``+250 %``."""
    if number is None:
        return NOT_KNOWN
    if abs(number) >= _HUGE:
        return f"{number:+.1e} %"
    digits = 0 if abs(number) >= _WHOLE_PERCENT else 2 if abs(number) < _FEW_PERCENT else 1
    return f"{number:+,.{digits}f} %"


def signed(number: float) -> str:
    """A difference with its sign."""
    return f"+{figure(number)}" if number >= 0 else figure(number)


def span(began_ns: int, ended_ns: int | None) -> str:
    """``3 min 10 s``; a clock that was set back meanwhile makes it unknown."""
    if ended_ns is None or ended_ns < began_ns:
        return NOT_KNOWN
    seconds = round((ended_ns - began_ns) / _NS)
    if seconds < _MINUTE_S:
        return f"{seconds} s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S} min {seconds % _MINUTE_S} s"
    return f"{seconds // _HOUR_S:,} h {seconds % _HOUR_S // _MINUTE_S} min"
