"""What the adapters of other programs share: what they can pass on, numbers in their output, and several at once."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from tuneagent.load.errors import LoadError
from tuneagent.load.program import GRACE_S, Output, Plan
from tuneagent.model.histogram import merged
from tuneagent.model.load import LoadResult, LoadSpec

MOST_PROGRAMS = 64
"""Of the programs with one connection each."""
TAIL_S = 0.5
"""A program runs for this long beyond the measured seconds, so that their end is looked at under load."""
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
_LONGEST_NUMBER = 40
_MOST = 1e15
"""No program counts further, and what is made of two such numbers is finite."""
_LONGEST_WORD = 200
_WORD = re.compile(
    r"""[(\["']* (?:[^\W\d][\w./-]*[=:])?"""
    r"(?P<number>[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?|[-+]?\.\d+(?:[eE][-+]?\d{1,3})?)"
    r"""(?:[%µ]|[^\W\d_][^\W\d_/]*(?:/[^\W\d_]+)?)?[)\]"',;:.]*""",
    re.VERBOSE,
)


def check_can(spec: LoadSpec, program: str, *, rate: bool = False, think: bool = False, burst: bool = False) -> None:
    """LoadError where a wish would be left out in silence."""
    wishes = (
        (spec.rate_per_sec is not None, rate, "rate"),
        (spec.think_us, think, "think time"),
        (spec.burst > 1, burst, "burst"),
    )
    for wished, can, name in wishes:
        if wished and not can:
            raise LoadError(f"{program} is not given a {name}: use tcp-rr or udp-rr, or the program's own options")


def run_seconds(seconds: float, warm_up_s: float) -> int:
    """For how long a program that takes whole seconds is to run."""
    return math.ceil(seconds + warm_up_s + TAIL_S)


def plan(spec: LoadSpec, commands: Sequence[Sequence[str]], seconds: float, warm_up_s: float, run_s: float) -> Plan:
    """The programs, pinned, and killed when they take much longer than they were told."""
    return Plan(tuple(tuple(command) for command in commands), warm_up_s, seconds, run_s + GRACE_S, spec.cpus)


def one_each(spec: LoadSpec, program: str, command: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """A program for each connection."""
    if not 1 <= spec.connections <= MOST_PROGRAMS:
        raise LoadError(f"{spec.connections} connections: {program} has one each, and 1 to {MOST_PROGRAMS} can run")
    return (tuple(command),) * spec.connections


def number(word: str) -> float | None:
    """A finite number as programs print it; None for anything else."""
    if len(word) > _LONGEST_NUMBER or _NUMBER.fullmatch(word) is None:
        return None
    value = float(word)
    return value if math.isfinite(value) else None


def last_number(line: str) -> float | None:
    """The number of the last word that holds a digit; None without one. LoadError where that word is no number.

    ``rate=1,234.5``, ``12.5Gbit/s``, ``(95%)``: a name before it, what stands around it, and a unit behind it do not
    count, nor does a comma between thousands. Nothing is guessed: ``0x1F``, ``1.2.3`` or ``10-20`` are no numbers.
    """
    words = [word for word in line.split() if any(sign.isdecimal() for sign in word)]
    if not words:
        return None
    match = _WORD.fullmatch(words[-1]) if len(words[-1]) <= _LONGEST_WORD else None
    value = number(match["number"].replace(",", "")) if match else None
    if value is None:
        raise LoadError(f"the last line holds no number that can be told for sure: {words[-1][:_LONGEST_NUMBER]!r}")
    return value


def keyed(text: str) -> dict[str, str]:
    """``KEY=value`` lines; the last one counts."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def positive(values: dict[str, str], key: str) -> float | None:
    """A value that is there, is a number, not negative, and none that nothing can come to."""
    value = number(values.get(key, ""))
    return value if value is not None and 0 <= value <= _MOST else None


def together(results: Sequence[LoadResult], outputs: Sequence[Output]) -> LoadResult:
    """Programs that ran at the same time as one load: rates add up, over the first one's seconds."""
    seconds = results[0].seconds
    rates = [one.per_sec or 0.0 for one in results]
    latencies = [one.latency for one in results if one.latency is not None]
    return replace(
        results[0],
        seconds=seconds,
        transactions=round(sum(rates) * seconds),
        latency=merged(latencies) if len(latencies) == len(results) else None,
        errors=sum(one.errors for one in results),
        lost=sum(one.lost for one in results),
        client_cpu_s=cpu_s(results, outputs),
        client_cpus=cpus(outputs),
        notes=tuple(dict.fromkeys(note for one in results for note in one.notes)),
    )


def cpu_s(results: Sequence[LoadResult], outputs: Sequence[Output]) -> float:
    """The programs' CPU time, as the part of it that falls into the measured seconds."""
    pairs = zip(results, outputs, strict=True)
    return sum(output.cpu_s * min(1.0, result.seconds / output.wall_s) for result, output in pairs if output.wall_s > 0)


def cpus(outputs: Sequence[Output]) -> tuple[int, ...]:
    """Where the programs were seen."""
    return tuple(sorted({cpu for output in outputs for cpu in output.cpus}))
