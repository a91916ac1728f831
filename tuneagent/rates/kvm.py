"""KVM's counters of one virtual machine against themselves."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from operator import sub, truediv

from tuneagent.model.domain_view import KvmRate
from tuneagent.model.hypervisor import KvmCounters, KvmSource
from tuneagent.rates.comparison import Comparison
from tuneagent.rates.counters import PLAUSIBLE_64_PER_SEC

NO_EXITS = "KVM tells no count of exits here"
_FELL = "a counter fell: a vCPU was unplugged, or the virtual machine was started anew or migrated"
_APART = "exits are counted in one sample and a sum of kinds in the other"


def compare(
    both: Comparison, what: str, source: KvmSource, old: KvmCounters, new: KvmCounters
) -> tuple[KvmRate | None, str | None]:
    """(rates, why there are none of exits). After a fall no counter of the same vCPU can be told, nor any total.

    A vCPU that came or went leaves the rates of the others and no total: what it did meanwhile is not known.
    """
    seconds = both.between(old.read_at_ns, new.read_at_ns)
    vcpus, fault = _vcpus(old.vcpus, new.vcpus, seconds)
    totals = _growth(old.totals, new.totals, seconds) if fault is None else {}
    if totals is None:
        totals, fault = {}, _FELL
    if fault is not None:
        both.unknown(f"{what}.kvm", source.value, fault)
        if not vcpus:
            return None, fault
    for name in _uneven(old.vcpus, new.vcpus):
        totals.pop(name, None)
    if old.exits_are_a_sum != new.exits_are_a_sum and totals.pop("exits", None) is not None:
        fault = _APART
    rate = KvmRate(source, seconds, totals, vcpus, new.exits_are_a_sum)
    return rate, None if "exits" in totals else fault or NO_EXITS


def _vcpus(
    old: Mapping[int, dict[str, int]], new: Mapping[int, dict[str, int]], seconds: float
) -> tuple[dict[int, dict[str, float]], str | None]:
    """(rates of the vCPUs that can be compared, why the totals cannot)."""
    if not old or not new:
        return {}, None
    grown = {vcpu: _growth(old[vcpu], counters, seconds) for vcpu, counters in new.items() if vcpu in old}
    rates = {vcpu: growth for vcpu, growth in grown.items() if growth is not None}
    if len(rates) < len(grown):
        return rates, _FELL
    changed = old.keys() ^ new.keys()
    if changed:
        names = ", ".join(map(str, sorted(changed)[:8])) + (", …" if len(changed) > 8 else "")  # noqa: PLR2004 - a line
        return rates, f"vCPU {names} came or went within the interval: totals cannot be compared"
    return rates, None


def _growth(old: dict[str, int], new: dict[str, int], seconds: float) -> dict[str, float] | None:
    """Growth a second by name; None where a counter fell or leapt. At C speed: there are many thousands of these."""
    names = list(new)
    if list(old) != names:
        names = [name for name in new if name in old]
        old, new = {name: old[name] for name in names}, {name: new[name] for name in names}
    growth = tuple(map(sub, new.values(), old.values()))
    if growth and (min(growth) < 0 or max(growth) > PLAUSIBLE_64_PER_SEC * seconds):
        return None
    return dict(zip(names, map(truediv, growth, repeat(seconds)), strict=True))


def _uneven(old: Mapping[int, dict[str, int]], new: Mapping[int, dict[str, int]]) -> set[str]:
    """Names that a vCPU has in one sample only: the totals of both are then sums over different vCPUs."""
    uneven: set[str] = set()
    for vcpu, counters in new.items():
        if vcpu in old and list(old[vcpu]) != list(counters):
            uneven |= old[vcpu].keys() ^ counters.keys()
    return uneven
