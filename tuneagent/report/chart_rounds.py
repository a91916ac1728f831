"""Every round of a trial as a point, in the order in which they were measured, with the mean of each arm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from markupsafe import Markup

from tuneagent.model import metrics
from tuneagent.model.figure import figure
from tuneagent.model.trial import Arm, Effect, Round, Trial
from tuneagent.report import svg
from tuneagent.report import trial_words as words
from tuneagent.report.values import short

MOST_ROUNDS = 400
WIDTH, HEIGHT = 440, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 10, 12, 34
_MARKS = {Arm.A: svg.circle, Arm.B: svg.triangle}
_BESIDE = ("exits_per_transaction", "cpu_per_transaction_us", "latency_p99_us")


def chosen(trial: Trial) -> Iterator[str]:
    """The metric that decides, and those beside it that most rounds tell."""
    told = {name for one in trial.rounds for name in one.metrics}
    for name in dict.fromkeys((trial.question.primary, *_BESIDE)):
        if name in told:
            yield name


def chart(trial: Trial, name: str) -> Markup:
    """The rounds' values of one metric."""
    rounds = [one for one in trial.rounds if name in one.metrics][:MOST_ROUNDS]
    effects = {one.metric: one for one in trial.verdict.effects} if trial.verdict is not None else {}
    title = f"{words.title(name)} of each round"
    return svg.chart(
        title, _said(rounds, name, effects.get(name)), (WIDTH, HEIGHT), _parts(rounds, name, effects), _id(name)
    )


def _id(name: str) -> str:
    places = {one.name: place for place, one in enumerate(metrics.METRICS)}
    return f"rounds-{places.get(name, len(places))}"


def _said(rounds: list[Round], name: str, effect: Effect | None) -> str:
    counts = ", ".join(
        f"{sum(one.arm is arm and not one.unused for one in rounds)} of {arm.value.upper()}" for arm in Arm
    )
    odd = sum(bool(one.unused) for one in rounds)
    means = ""
    if effect is not None:
        a, b = (words.value(name, one) for one in (effect.a_mean, effect.b_mean))
        means = f" Means: A {a}, B {b}, change {words.change(effect)}, 95 % interval {words.interval(effect)}."
    return f"Rounds that count: {counts}; {odd} that do not.{means} The table of rounds has every value."


def _parts(rounds: list[Round], name: str, effects: Mapping[str, Effect]) -> Iterator[Markup]:
    effect = effects.get(name)
    means = () if effect is None else (effect.a_mean, effect.b_mean)
    low, high, ticks = svg.round_range([one.metrics[name] for one in rounds] + list(means))
    across = svg.Scale(-0.5, max(len(rounds), 1) - 0.5, _LEFT, WIDTH - _RIGHT)
    up = svg.Scale(low, high, HEIGHT - _BOTTOM, _TOP)
    for tick in ticks:
        yield svg.line(_LEFT, up(tick), WIDTH - _RIGHT, up(tick), "grid")
        yield svg.text(_LEFT - 6, up(tick) + 4, _label(tick), "end")
    yield from _pairs(rounds, name, across, up)
    for arm, mean in zip(Arm, means, strict=False):
        yield svg.line(_LEFT, up(mean), WIDTH - _RIGHT, up(mean), f"mean {arm.value}")
    for place, one in enumerate(rounds):
        yield _mark(one, name, across(place), up(one.metrics[name]))
    yield svg.text(_LEFT, HEIGHT - 8, "first round")
    yield svg.text(WIDTH - _RIGHT, HEIGHT - 8, "last", "end")
    yield from _legend()


def _label(value: float) -> str:
    return short(value) if value >= 0 else figure(value)


def _pairs(rounds: list[Round], name: str, across: svg.Scale, up: svg.Scale) -> Iterator[Markup]:
    """A thin line between the two rounds that are compared with one another."""
    waiting: dict[int, tuple[float, float]] = {}
    for place, one in enumerate(rounds):
        if one.unused:
            continue
        here = (across(place), up(one.metrics[name]))
        if one.pair in waiting:
            yield svg.path((waiting.pop(one.pair), here), "pair")
        else:
            waiting[one.pair] = here


def _mark(one: Round, name: str, x: float, y: float) -> Markup:
    value = words.value(name, one.metrics[name])
    said = f"round {one.number}, {one.arm.value.upper()}, pair {one.pair}: {value}"
    if one.unused:
        return svg.cross(x, y, f"{said}; does not count: {one.unused}")
    return _MARKS[one.arm](x, y, said)


def _legend() -> Iterator[Markup]:
    y = HEIGHT - 12
    for x, mark, word in ((160, svg.circle, "A"), (202, svg.triangle, "B"), (244, svg.cross, "does not count")):
        yield mark(x, y)
        yield svg.text(x + 9, y + 4, word)
