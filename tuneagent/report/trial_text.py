"""A trial for people: the verdict in a sentence, the table that it rests on, and all that it leaves open."""

from __future__ import annotations

from collections.abc import Iterator

from tuneagent.model import metrics
from tuneagent.model.trial import Arm, Decision, Effect, Question, Trial, TrialState
from tuneagent.report import trial_words as words
from tuneagent.report.document import Block, Document, Gap, Heading, Paragraph, Table, Tone
from tuneagent.report.safe import safe
from tuneagent.report.transaction_text import moment, value
from tuneagent.report.trial_figures import Both, Figures, figures
from tuneagent.report.values import duration, number, plural

MOST_ROWS = 40
"""Of unused rounds, of queues, of kinds of exit; --json has all."""
WIDEST_CHANGE = 90
"""Characters of a row that still is one; what is longer is told in sentences."""
FEW_CPUS = 4
"""That stand beside one another as in ``5,154 / 5,222``; of more, the busiest are named."""
MOST_CPUS = 6
_TONES = {Decision.KEEP: Tone.GOOD, Decision.REVERT: Tone.WARNING, Decision.UNDECIDED: Tone.INFO}
_STATES = {TrialState.FAILED: Tone.CRITICAL, TrialState.INTERRUPTED: Tone.WARNING}


def document(trial: Trial) -> Document:
    """The report's blocks."""
    told = figures(trial)
    parts = (
        _head(trial),
        _metrics(trial),
        _guards(trial),
        _interrupts(told),
        _exits(told),
        _latency(told),
        _unused(trial, told),
        _open(trial, told),
        _about(trial),
    )
    return tuple(block for part in parts for block in part)


def tone(trial: Trial) -> Tone:
    """How the headline is meant."""
    if trial.state is TrialState.DONE and trial.verdict is not None:
        return _TONES[trial.verdict.decision]
    return _STATES.get(trial.state, Tone.INFO)


def _head(trial: Trial) -> Iterator[Block]:
    yield Heading(words.headline(trial), tone(trial))
    if said := words.why(trial):
        yield Paragraph(said, 0, Tone.PLAIN, "Why:")
    if said := words.not_seen(trial):
        yield Paragraph(said, 0, Tone.PLAIN, "Not seen:")
    if said := words.undo(trial):
        yield Paragraph(said, 0, Tone.PLAIN, "Undo:")
    yield Paragraph(words.asked(trial), 0, Tone.PLAIN, f"Trial {trial.id}:")


def _metrics(trial: Trial) -> Iterator[Block]:
    effects = ordered(trial)
    if not effects:
        return
    yield Gap()
    columns = ("metric", "A", "B", "change", "95 % interval", "pairs", "reads as")
    rows = tuple(metric_row(one, trial.question) for one in effects)
    yield Table(columns, rows, frozenset({"A", "B", "change", "95 % interval", "pairs"}))
    decides = f"* decides, with more than {number(trial.question.threshold_percent)} %"
    yield Paragraph(f"{words.A_IS}; {words.B_IS}; {decides}.", 2, Tone.FAINT)


def ordered(trial: Trial) -> tuple[Effect, ...]:
    """The effects in the order of the metrics."""
    places = {one.name: place for place, one in enumerate(metrics.METRICS)}
    effects = trial.verdict.effects if trial.verdict is not None else ()
    return tuple(sorted(effects, key=lambda one: (places.get(one.metric, len(places)), one.metric)))


def metric_row(effect: Effect, question: Question) -> tuple[str, ...]:
    """A row of the table."""
    mark = "*" if effect.metric == question.primary else ""
    a, b = (words.value(effect.metric, one) for one in (effect.a_mean, effect.b_mean))
    change, between = words.change(effect), words.interval(effect)
    return (
        words.title(effect.metric) + mark,
        a,
        b,
        change,
        between,
        f"{effect.pairs:,}",
        words.reads_as(effect, question),
    )


def _guards(trial: Trial) -> Iterator[Block]:
    if trial.verdict is None or not trial.verdict.guards:
        return
    yield Gap()
    yield Heading("Guards: what must not get worse")
    rows = tuple(words.guard_row(one) for one in trial.verdict.guards)
    yield Table(("metric", "fails if", "change", "95 % interval", "outcome"), rows, frozenset({"change"}))


def _interrupts(told: Figures) -> Iterator[Block]:
    if not told.queues:
        return
    yield Gap()
    few = len(told.cpus) <= FEW_CPUS
    where = f"on CPU {' / '.join(map(safe, told.cpus))}" if few else "by CPU, the busiest"
    yield Heading(f"Interrupts/s of each queue, {where}")
    rows = tuple(
        (safe(queue), *(_per_cpu(told, queue, arm, few=few) for arm in Arm)) for queue in told.queues[:MOST_ROWS]
    )
    yield Table(("queue", "A", "B"), rows, frozenset({"A", "B"}) if few else frozenset())
    yield from _more(len(told.queues) - MOST_ROWS)


def _per_cpu(told: Figures, queue: str, arm: Arm, *, few: bool) -> str:
    none = Both(None, None)
    found = [(cpu, told.interrupts.get((queue, cpu), none).of(arm)) for cpu in told.cpus]
    if few:
        return " / ".join(number(rate) if rate is not None else "?" for _, rate in found)
    busy = sorted(((rate, cpu) for cpu, rate in found if rate), key=lambda one: -one[0])
    text = ", ".join(f"{safe(cpu)}: {number(rate)}" for rate, cpu in busy[:MOST_CPUS])
    return f"{text} +{len(busy) - MOST_CPUS}" if len(busy) > MOST_CPUS else text or "0"


def _exits(told: Figures) -> Iterator[Block]:
    if not told.exits:
        return
    yield Gap()
    yield Heading("Exits/s by kind")
    rows = tuple(
        (safe(kind), _rate(both.a), _rate(both.b), words.percent(both.change_percent))
        for kind, both in list(told.exits.items())[:MOST_ROWS]
    )
    yield Table(("kind", "A", "B", "change"), rows, frozenset({"A", "B", "change"}))
    yield from _more(len(told.exits) - MOST_ROWS)


def _rate(rate: float | None) -> str:
    return "?" if rate is None else number(rate)


def _latency(told: Figures) -> Iterator[Block]:
    if not told.latency:
        return
    yield Gap()
    counts = ", ".join(f"{arm.value.upper()} {told.counted[arm]:,}" for arm in Arm)
    yield Heading(f"Latency (values: {counts})")
    rows = tuple(
        (f"{percent:g} %", duration(both.a), duration(both.b), words.percent(both.change_percent))
        for percent, both in told.latency.items()
    )
    yield Table(("not above", "A", "B", "change"), rows, frozenset({"A", "B", "change"}))


def _unused(trial: Trial, told: Figures) -> Iterator[Block]:
    if not told.unused:
        return
    yield Gap()
    yield Heading(f"{plural(len(told.unused), 'round')} that {'does' if len(told.unused) == 1 else 'do'} not count")
    primary = trial.question.primary
    rows = tuple(
        (
            f"{one.number:,}",
            one.arm.value.upper(),
            words.value(primary, one.metrics.get(primary)),
            safe(one.unused, words.LONGEST_REASON),
        )
        for one in told.unused[:MOST_ROWS]
    )
    yield Table(("round", "arm", words.title(primary), "why"), rows, frozenset({"round", words.title(primary)}))
    yield from _more(len(told.unused) - MOST_ROWS)


def _open(trial: Trial, told: Figures) -> Iterator[Block]:
    notes = words.notes(trial, told.missing)
    if not notes and not told.missing:
        return
    yield Gap()
    for note in notes[:MOST_ROWS]:
        yield Paragraph(safe(note, words.LONGEST_REASON), 0, Tone.PLAIN, "Note:")
    for name, reason in list(told.missing.items())[:MOST_ROWS]:
        said = f"{words.title(name)}: {safe(reason, words.LONGEST_REASON)}"
        label = "Not in every round:" if words.told_in_part(trial, name) else "Not measured:"
        yield Paragraph(said, 0, Tone.PLAIN, label)
    yield from _more(max(len(notes), len(told.missing)) - MOST_ROWS)


def _about(trial: Trial) -> Iterator[Block]:
    yield Gap()
    if trial.question.changes:
        shown = trial.question.changes[:MOST_ROWS]
        rows = tuple((safe(one.where), value(one.old or "?"), value(one.new)) for one in shown)
        if all(sum(map(len, row)) <= WIDEST_CHANGE for row in rows):
            yield Table(("what B changes", "A", "B"), rows, indent=0)
        else:
            for where, old, new in rows:
                yield Paragraph(f"{where}: A {old}, B {new}", 0, Tone.PLAIN, "Changed:")
        yield from _more(len(trial.question.changes) - MOST_ROWS)
        yield Gap()
    for label, said in about(trial):
        yield Paragraph(said, 0, Tone.FAINT, f"{label}:")


def about(trial: Trial) -> Iterator[tuple[str, str]]:
    """When, how, with what load and on what machine."""
    asked = trial.question
    took = words.span(trial.began_ns, trial.ended_ns)
    yield "When", f"{moment(trial.began_ns)}, {took}, tuneagent {safe(trial.version)}"
    used = sum(not one.unused for one in trial.rounds)
    rounds = f"{plural(len(trial.rounds), 'round')} of {number(asked.round_s)} s after {number(asked.settle_s)} s each"
    looks = f", looked at {plural(trial.verdict.looks, 'time')}" if trial.verdict is not None else ""
    yield "Rounds", f"{rounds}, {used:,} of them count, at most {plural(asked.pairs_max, 'pair')}{looks}"
    if trial.verdict is not None and trial.verdict.primary is not None:
        yield "Interval", safe(trial.verdict.primary.method)
    yield "Load", words.load(asked.load)
    for name, fact in trial.facts.items():
        yield safe(name), safe(fact, words.LONGEST_REASON)


def _more(count: int) -> Iterator[Block]:
    if count > 0:
        yield Paragraph(f"… {count:,} more with --json", 2)
