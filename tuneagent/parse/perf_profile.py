"""A profile as tuneagent.machine.perf_profile takes it: samples by kernel symbol and CPU, as JSON values.

``{"event": "cycles", "seconds": 2.0, "cpus": [0, 1], "kernel": [["symbol", "module", {"0": 12}], …],
"user_samples": 5, "idle_samples": 6, "lost": 0, "throttled": 0, "limits": [], "kernel_release": "6.18.1",
"taken_at_ns": 1, "cpu_s": 0.1}``
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tuneagent.model.cpuset import MAX_CPUS
from tuneagent.model.errors import ParseError
from tuneagent.model.profile import Profile, SymbolSamples
from tuneagent.parse import lines
from tuneagent.parse.json_values import array, mapping, member, natural, optional_natural, optional_string, string

MAX_SYMBOLS = 1 << 20
MAX_LIMITS = 64
MAX_SECONDS = 86_400.0
MAX_SAMPLES = 2**53
"""Of one symbol on one CPU: more than can be, and still exact in JSON of other readers."""
THIS_MACHINE = "this machine"


def parse(value: Any, origin: str = THIS_MACHINE) -> Profile:
    """The profile; ParseError with the path of the first value that is not as described.

    Shares are of the samples in which a CPU was busy, in the kernel or not: an idle machine has the same shares.
    """
    fields = mapping(value, "$")
    kernel = _kernel(fields.get("kernel"))
    user = natural(fields.get("user_samples"), "$.user_samples", MAX_SAMPLES)
    limits = array(fields.get("limits"), "$.limits", MAX_LIMITS)
    cost = fields.get("cpu_s")
    return Profile(
        origin=origin,
        event=string(fields.get("event"), "$.event"),
        seconds=_seconds(fields.get("seconds"), "$.seconds"),
        cpus=_cpus(fields.get("cpus")),
        kernel=kernel,
        user_samples=user,
        idle_samples=natural(fields.get("idle_samples"), "$.idle_samples", MAX_SAMPLES),
        lost=natural(fields.get("lost"), "$.lost"),
        throttled=natural(fields.get("throttled"), "$.throttled"),
        shares_percent=shares_percent(kernel, user),
        limits=tuple(string(limit, f"$.limits[{place}]") for place, limit in enumerate(limits)),
        kernel_release=optional_string(fields, "kernel_release", "$"),
        taken_at_ns=optional_natural(fields, "taken_at_ns", "$"),
        cpu_s=None if cost is None else _seconds(cost, "$.cpu_s"),
    )


def shares_percent(kernel: Iterable[SymbolSamples], user_samples: int) -> dict[str, float]:
    """Shares of the busy samples by symbol, largest first; the same name in two modules is one symbol."""
    counts: dict[str, int] = {}
    for one in kernel:
        counts[one.symbol] = counts.get(one.symbol, 0) + one.samples
    busy = sum(counts.values()) + user_samples
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {symbol: 100 * count / busy for symbol, count in ranked if count}


def _kernel(value: Any) -> tuple[SymbolSamples, ...]:
    rows: dict[tuple[str, str | None], SymbolSamples] = {}
    for place, row in enumerate(array(value, "$.kernel", MAX_SYMBOLS)):
        where = f"$.kernel[{place}]"
        one = _row(row, where)
        if (one.symbol, one.module) in rows:
            raise ParseError(f"{where}: the symbol {lines.shown(one.symbol)} occurs twice")
        rows[one.symbol, one.module] = one
    return tuple(sorted(rows.values(), key=lambda one: (-one.samples, one.symbol, one.module or "")))


def _row(value: Any, where: str) -> SymbolSamples:
    match value:
        case [symbol, module, per_cpu]:
            return SymbolSamples(
                string(symbol, f"{where}[0]"),
                None if module is None else string(module, f"{where}[1]"),
                _per_cpu(per_cpu, f"{where}[2]"),
            )
    raise ParseError(f"{where}: not [symbol, module, samples by CPU]")


def _per_cpu(value: Any, where: str) -> dict[int, int]:
    found: dict[int, int] = {}
    for key, count in mapping(value, where, MAX_CPUS).items():
        inside = member(where, key)
        try:
            cpu = lines.natural(key, None, MAX_CPUS - 1)
        except ParseError as error:
            raise ParseError(f"{inside}: {error.detail}") from None
        found[cpu] = natural(count, inside, MAX_SAMPLES)
    return found


def _cpus(value: Any) -> tuple[int, ...]:
    cpus = array(value, "$.cpus", MAX_CPUS)
    found = {natural(cpu, f"$.cpus[{place}]", MAX_CPUS - 1) for place, cpu in enumerate(cpus)}
    return tuple(sorted(found))


def _seconds(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParseError(f"{where}: not a number")
    if not 0 <= value <= MAX_SECONDS:  # before it is made a float: a whole number may be larger than any
        raise ParseError(f"{where}: not within 0 to {MAX_SECONDS:g} seconds")
    return float(value)
