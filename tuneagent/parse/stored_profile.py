"""A profile as ``tuneagent profile -o`` and ``--json`` write it: tuneagent.profile/1 of ``tuneagent explain json``."""

from __future__ import annotations

from typing import Any

from tuneagent.model.cpuset import MAX_CPUS
from tuneagent.model.errors import ParseError
from tuneagent.model.profile import Profile, SymbolSamples
from tuneagent.parse import cpulist, lines
from tuneagent.parse.json_values import array, mapping, member, natural, optional_natural, optional_string, string

SCHEMA = "tuneagent.profile/1"
MAX_SYMBOLS = 1 << 20
MAX_LIMITS = 64
MAX_SECONDS = 86_400.0
MAX_SAMPLES = 2**53
"""Exact in the numbers of every reader of JSON."""


def parse(value: Any) -> Profile:
    """The profile; ParseError with the path of the first value that is not as described.

    The shares of a profile with samples are worked out anew from them: what stands in the file is for others.
    """
    fields = mapping(value, "$")
    schema = fields.get("schema")
    if schema != SCHEMA:
        raise ParseError(f'$.schema: not "{SCHEMA}"')
    limits = array(fields.get("limits"), "$.limits", MAX_LIMITS)
    kernel, shares = _symbols(fields.get("symbols"))
    return Profile(
        origin=string(fields.get("origin"), "$.origin"),
        event=string(fields.get("event"), "$.event"),
        seconds=_optional_number(fields, "seconds", MAX_SECONDS),
        cpus=_cpus(fields.get("cpus")),
        kernel=kernel,
        user_samples=natural(fields.get("user_samples"), "$.user_samples", MAX_SAMPLES),
        idle_samples=natural(fields.get("idle_samples"), "$.idle_samples", MAX_SAMPLES),
        lost=natural(fields.get("lost"), "$.lost"),
        throttled=natural(fields.get("throttled"), "$.throttled"),
        shares_percent=shares,
        limits=tuple(string(limit, f"$.limits[{place}]") for place, limit in enumerate(limits)),
        kernel_release=optional_string(fields, "kernel_release", "$"),
        taken_at_ns=optional_natural(fields, "taken_at_ns", "$"),
        cpu_s=_optional_number(fields, "cpu_s", MAX_SECONDS),
    )


def _symbols(value: Any) -> tuple[tuple[SymbolSamples, ...], dict[str, float]]:
    """Samples, or the shares of a profile that has only those."""
    kernel: dict[tuple[str, str | None], SymbolSamples] = {}
    shares: dict[str, float] = {}
    for place, row in enumerate(array(value, "$.symbols", MAX_SYMBOLS)):
        where = f"$.symbols[{place}]"
        fields = mapping(row, where)
        symbol, module = string(fields.get("symbol"), f"{where}.symbol"), optional_string(fields, "module", where)
        if fields.get("samples") is None:
            shares[symbol] = shares.get(symbol, 0.0) + _number(fields.get("percent"), f"{where}.percent", 100)
            continue
        if (symbol, module) in kernel:
            raise ParseError(f"{where}: the symbol {lines.shown(symbol)} occurs twice")
        kernel[symbol, module] = SymbolSamples(symbol, module, _samples(fields, where))
    if kernel and shares:
        raise ParseError("$.symbols: some have samples and some have none")
    return tuple(kernel.values()), shares


def _samples(fields: dict[str, Any], where: str) -> dict[int, int]:
    per_cpu: dict[int, int] = {}
    for key, count in mapping(fields.get("per_cpu"), f"{where}.per_cpu", MAX_CPUS).items():
        inside = member(f"{where}.per_cpu", key)
        try:
            cpu = lines.natural(key, None, MAX_CPUS - 1)
        except ParseError as error:
            raise ParseError(f"{inside}: {error.detail}") from None
        per_cpu[cpu] = natural(count, inside, MAX_SAMPLES)
    if sum(per_cpu.values()) != natural(fields.get("samples"), f"{where}.samples"):
        raise ParseError(f"{where}.samples: not the sum of per_cpu")
    return per_cpu


def _cpus(value: Any) -> tuple[int, ...]:
    if value == "":
        return ()
    text = string(value, "$.cpus")
    try:
        return tuple(cpulist.parse(text))
    except ParseError as error:
        raise ParseError(f"$.cpus: {error.detail}") from None


def _optional_number(fields: dict[str, Any], key: str, highest: float) -> float | None:
    value = fields.get(key)
    return None if value is None else _number(value, f"$.{key}", highest)


def _number(value: Any, where: str, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParseError(f"{where}: not a number")
    if not 0 <= value <= highest:  # before it is made a float: a whole number may be larger than any
        raise ParseError(f"{where}: not within 0 to {highest:g}")
    return float(value)
