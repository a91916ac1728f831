"""What a report on a trial shows beside the verdict: means of its rounds by queue, CPU, kind of exit and percentile."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tuneagent.model import histogram
from tuneagent.model.load import Histogram
from tuneagent.model.trial import Arm, Round, Trial

PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.99)
_Key = TypeVar("_Key")
_WORDS = re.compile(r"(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Both:
    """A number in both arms; None where it was not measured."""

    a: float | None
    b: float | None

    def of(self, arm: Arm) -> float | None:
        """The one of an arm."""
        return self.a if arm is Arm.A else self.b

    @property
    def change_percent(self) -> float | None:
        """B against A; None to nothing."""
        return 100 * (self.b / self.a - 1) if self.a and self.b is not None else None


@dataclass(frozen=True, slots=True)
class Figures:
    """Of the rounds that count."""

    used: tuple[Round, ...]
    unused: tuple[Round, ...]
    queues: tuple[str, ...]
    """``input.0``, ``output.0``, ``input.1``, in that order."""
    cpus: tuple[str, ...]
    """Those on which an interrupt of a queue came; of none at all, those that were looked at."""
    interrupts: dict[tuple[str, str], Both]
    """Interrupts/s by queue and CPU."""
    exits: dict[str, Both]
    """Exits/s by kind, the most frequent first."""
    latency: dict[float, Both]
    """ns by percentile; those that at least one value exceeds."""
    counted: dict[Arm, int]
    """Latencies that were measured."""
    missing: dict[str, str]
    """Why a metric is not there, of the rounds that count."""

    def of(self, arm: Arm) -> tuple[Round, ...]:
        """The rounds of an arm."""
        return tuple(one for one in self.used if one.arm is arm)


def figures(trial: Trial) -> Figures:
    """Everything that is worked out of the rounds for a report."""
    used = tuple(one for one in trial.rounds if not one.unused)
    interrupts = _interrupts(used)
    seen = {queue for queue, _ in interrupts}
    return Figures(
        used=used,
        unused=tuple(one for one in trial.rounds if one.unused),
        queues=tuple(sorted(seen, key=_by_queue)),
        cpus=_cpus(interrupts),
        interrupts=interrupts,
        exits=_exits(used),
        latency=_latency(used),
        counted={arm: sum(one.total for one in _histograms(used, arm)) for arm in Arm},
        missing={name: why for one in reversed(used) for name, why in one.missing.items()},
    )


def natural_order(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts ``input.10`` after ``input.9``."""
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _WORDS.split(text) if part)


def _by_queue(name: str) -> tuple[tuple[tuple[int, int, str], ...], str]:
    role, _, queue = name.rpartition(".")
    return natural_order(queue), role


def _interrupts(used: Iterable[Round]) -> dict[tuple[str, str], Both]:
    return _both(used, lambda one: {(q, cpu): n for q, cpus in one.queue_interrupts.items() for cpu, n in cpus.items()})


def _cpus(interrupts: Mapping[tuple[str, str], Both]) -> tuple[str, ...]:
    came = {cpu for (_, cpu), both in interrupts.items() if both.a or both.b}
    return tuple(sorted(came or {cpu for _, cpu in interrupts}, key=natural_order))


def _exits(used: Iterable[Round]) -> dict[str, Both]:
    means = _both(used, lambda one: one.exits_by_kind)
    return dict(sorted(means.items(), key=lambda item: (-max(item[1].a or 0, item[1].b or 0), item[0])))


def _both(used: Iterable[Round], told: Callable[[Round], Mapping[_Key, float]]) -> dict[_Key, Both]:
    """Means over the rounds of each arm that tell a number; what no round tells is None."""
    values: dict[_Key, dict[Arm, list[float]]] = {}
    for one in used:
        for key, value in told(one).items():
            values.setdefault(key, {}).setdefault(one.arm, []).append(value)
    return {key: Both(*(_mean(of.get(arm)) for arm in Arm)) for key, of in values.items()}


def _mean(values: list[float] | None) -> float | None:
    return sum(values) / len(values) if values else None


def _latency(used: Iterable[Round]) -> dict[float, Both]:
    merged = {arm: histogram.merged(_histograms(used, arm)) for arm in Arm}
    found = {percent: Both(*(_percentile(merged[arm], percent) for arm in Arm)) for percent in PERCENTILES}
    return {percent: both for percent, both in found.items() if both.a is not None or both.b is not None}


def _percentile(values: Histogram | None, percent: float) -> float | None:
    if values is None or values.total * (100 - percent) < 100:  # noqa: PLR2004 - one value in so many per cent
        return None
    return histogram.percentile_ns(values, percent)


def _histograms(used: Iterable[Round], arm: Arm) -> list[Histogram]:
    """Those whose buckets are some: what was read in may say anything."""
    found = (one.load.latency for one in used if one.arm is arm and one.load is not None)
    return [one for one in found if one is not None and all(index < histogram.BUCKETS for index in one.counts)]
