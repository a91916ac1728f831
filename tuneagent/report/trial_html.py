"""A trial as one page that needs nothing else: for a ticket, a mail, an archive. Opens without a network."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import jinja2
from markupsafe import Markup

from tuneagent.model import metrics
from tuneagent.model.trial import Arm, Decision, Round, Trial, TrialState
from tuneagent.report import chart_effects, chart_exits, chart_latency, chart_rounds
from tuneagent.report import trial_words as words
from tuneagent.report.heat_map import heat_maps
from tuneagent.report.safe import safe
from tuneagent.report.transaction_text import value
from tuneagent.report.trial_figures import Figures, figures
from tuneagent.report.trial_page import STYLE, TEMPLATE
from tuneagent.report.trial_text import about, metric_row, ordered, tone
from tuneagent.report.values import number

MOST_ROWS = 400
_MARKS = {Decision.KEEP: "✓ keep", Decision.REVERT: "✗ revert", Decision.UNDECIDED: "? undecided"}
_EFFECTS = ("metric", "A", "B", "change", "95 % interval", "pairs", "reads as")
_NUMBERS = frozenset({"A", "B", "change", "95 % interval", "pairs"})


@dataclass(frozen=True, slots=True)
class Row:
    """Cells, of which the first is the row's head."""

    cells: tuple[str, ...]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A table of the page."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    right: frozenset[str] = frozenset()
    more: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart and what stands above it."""

    caption: str
    drawing: Markup


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that the template is given; it escapes all of it that is no Markup."""

    trial: Trial
    version: str
    told: Figures = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "told", figures(self.trial))

    def parts(self) -> dict[str, object]:
        """By the names in the template."""
        trial, told = self.trial, self.told
        return {
            "policy": _policy(),
            "style": Markup(STYLE),  # noqa: S704 - ours
            "version": safe(self.version),
            "page_title": f"Trial {trial.id}: {words.subject(trial)}",
            "number": trial.id,
            "subject": words.subject(trial),
            "asked": words.asked(trial),
            "headline": words.headline(trial),
            "tone": tone(trial).value,
            "mark": _mark(trial),
            "why": words.why(trial),
            "not_seen": words.not_seen(trial),
            "notes": [safe(note, words.LONGEST_REASON) for note in words.notes(trial, told.missing)[:MOST_ROWS]],
            "effects": _effects(trial),
            "guards": _guards(trial),
            "sure": _sure(trial),
            "charts": list(_charts(trial)),
            "heats": heat_maps(told),
            "causes": list(_causes(told)),
            "unused": _unused(trial, told),
            "missing": _missing(trial, told),
            "changes": _changes(trial),
            "rounds": _rounds(trial),
            "meanings": list(_meanings(trial)),
            "about": list(about(trial)),
        }


def write(trial: Trial, version: str) -> str:
    """The page. ``version`` is of the program that writes it, not of the one that measured."""
    return _template().render(Page(trial, version).parts())


@functools.cache
def _template() -> jinja2.Template:
    made = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return made.from_string(TEMPLATE)


@functools.cache
def _policy() -> str:
    """Nothing may be loaded, run or sent, and no style but the page's own."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def _mark(trial: Trial) -> str:
    if trial.state is TrialState.DONE and trial.verdict is not None:
        return _MARKS[trial.verdict.decision]
    return trial.state.value


def _effects(trial: Trial) -> Part:
    question = trial.question
    rows = tuple(
        Row(metric_row(one, question), "decides" if one.metric == question.primary else "")
        for one in ordered(trial)[:MOST_ROWS]
    )
    decides = f"* decides, with more than {number(trial.question.threshold_percent)} %"
    return Part(f"{words.A_IS}. {words.B_IS}. {decides}.", _EFFECTS, rows, _NUMBERS)


def _guards(trial: Trial) -> Part:
    results = trial.verdict.guards if trial.verdict is not None else ()
    rows = tuple(Row(words.guard_row(one)) for one in results[:MOST_ROWS])
    columns = ("metric", "fails if", "change", "95 % interval", "outcome")
    return Part(
        "A guard fails only where its whole interval is beyond its limit.", columns, rows, frozenset({"change"})
    )


def _sure(trial: Trial) -> Drawing | None:
    drawn = chart_effects.chart(ordered(trial), trial.question.threshold_percent, trial.question.primary)
    caption = "Change of B against A with its 95 % interval (dashed: what must be exceeded)"
    return None if drawn is None else Drawing(caption, drawn)


def _charts(trial: Trial) -> Iterator[Drawing]:
    for name in chart_rounds.chosen(trial):
        unit = words.unit(name)
        yield Drawing(f"{words.title(name)}{f', {unit}' if unit else ''}", chart_rounds.chart(trial, name))


def _causes(told: Figures) -> Iterator[Drawing]:
    exits = chart_exits.chart(told.exits)
    if exits is not None:
        yield Drawing("Exits/s by kind", exits)
    latency = chart_latency.chart(told.latency)
    if latency is not None:
        counts = ", ".join(f"{arm.value.upper()} {told.counted[arm]:,}" for arm in Arm)
        yield Drawing(f"Latency that so many per cent do not exceed (values: {counts})", latency)


def _unused(trial: Trial, told: Figures) -> Part:
    primary = trial.question.primary
    rows = (
        Row((f"{one.number:,}", one.arm.value.upper(), _value(one, primary), safe(one.unused, words.LONGEST_REASON)))
        for one in told.unused
    )
    columns = ("round", "arm", words.title(primary), "why")
    return _cut("They are kept, and are not in any number above.", columns, rows, frozenset({words.title(primary)}))


def _missing(trial: Trial, told: Figures) -> Part:
    names = {name: " (not in every round)" if words.told_in_part(trial, name) else "" for name in told.missing}
    rows = (
        Row((words.title(name) + names[name], safe(why, words.LONGEST_REASON))) for name, why in told.missing.items()
    )
    return _cut("What is not there is unknown, and not 0.", ("metric", "why"), rows)


def _changes(trial: Trial) -> Part:
    rows = (
        Row((safe(one.where), value(one.old or "?"), value(one.new), safe(one.why, words.LONGEST_REASON)))
        for one in trial.question.changes
    )
    return _cut("Where, from A's value to B's.", ("what", "A", "B", "why"), rows)


def _rounds(trial: Trial) -> Part:
    names = list(chart_rounds.chosen(trial))
    titles = tuple(words.title(name) for name in names)
    rows = (
        Row(
            (
                f"{one.number:,}",
                f"{one.pair:,}",
                one.arm.value.upper(),
                *(_value(one, name) for name in names),
                "no" if one.unused else "yes",
            ),
            "off" if one.unused else "",
        )
        for one in trial.rounds
    )
    columns = ("round", "pair", "arm", *titles, "counts")
    return _cut("In the order in which they were measured.", columns, rows, frozenset(titles))


def _meanings(trial: Trial) -> Iterator[tuple[str, str]]:
    """Of the metrics in the table whose title does not say it all."""
    for one in ordered(trial):
        told = metrics.metric(one.metric)
        if told.meaning:
            yield safe(told.title), safe(told.meaning, words.LONGEST_REASON)


def _value(one: Round, name: str) -> str:
    return words.value(name, one.metrics.get(name))


def _cut(caption: str, columns: tuple[str, ...], rows: Iterable[Row], right: frozenset[str] = frozenset()) -> Part:
    every = tuple(rows)
    left_out = len(every) - MOST_ROWS
    return Part(caption, columns, every[:MOST_ROWS], right, f"… {left_out:,} more with --json" if left_out > 0 else "")
