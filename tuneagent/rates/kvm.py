"""KVM's counters of one virtual machine against themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, repeat
from operator import sub, truediv

from tuneagent.model.domain_view import KvmRate
from tuneagent.model.hypervisor import KvmCounters, KvmSource
from tuneagent.rates.comparison import Comparison
from tuneagent.rates.counters import PLAUSIBLE_64_PER_SEC

NO_EXITS = "KVM tells no count of exits here"
_FELL = "a counter fell: a vCPU was unplugged, or the virtual machine was started anew or migrated"
_APART = "exits are counted in one sample and a sum of kinds in the other"
_MOST_NAMED = 8
Counters = Mapping[str, int]
Vcpus = Mapping[int, dict[str, int]]


def compare(
    both: Comparison, what: str, source: KvmSource, old: KvmCounters, new: KvmCounters
) -> tuple[KvmRate | None, str | None]:
    """(rates, why there are none of exits). After a fall no counter of the same vCPU can be told, nor any total.

    A vCPU that came or went leaves the rates of the others and no total: what it did meanwhile is not known.
    """
    seconds = both.between(old.read_at_ns, new.read_at_ns)
    vcpus, fault, uneven = _vcpus(old.vcpus, new.vcpus, seconds)
    totals = _growth(old.totals, new.totals, seconds) if fault is None else {}
    if totals is None:
        totals, fault = {}, _FELL
    if fault is not None:
        both.unknown(f"{what}.kvm", source.value, fault)
        if not vcpus:
            return None, fault
    for name in uneven:
        totals.pop(name, None)
    if old.exits_are_a_sum != new.exits_are_a_sum and totals.pop("exits", None) is not None:
        fault = _APART
    rate = KvmRate(source, seconds, totals, vcpus, new.exits_are_a_sum)
    return rate, None if "exits" in totals else fault or NO_EXITS


@dataclass(frozen=True, slots=True, eq=False)
class VcpuRates(Mapping[int, Mapping[str, float]]):
    """Rates by vCPU, worked out when they are asked for: of thousands of vCPUs a report looks at a few.

    Equal to a dict of the same content. No counter fell, and both samples have the same names of the same vCPUs.
    """

    old: Vcpus
    new: Vcpus
    seconds: float

    def __getitem__(self, vcpu: int) -> Mapping[str, float]:
        return _growth(self.old[vcpu], self.new[vcpu], self.seconds) or {}

    def __iter__(self) -> Iterator[int]:
        return iter(self.new)

    def __len__(self) -> int:
        return len(self.new)


def _vcpus(old: Vcpus, new: Vcpus, seconds: float) -> tuple[Mapping[int, Mapping[str, float]], str | None, set[str]]:
    """(rates of the vCPUs that can be compared, why the totals cannot, names that not every vCPU has twice)."""
    if not old or not new:
        return {}, None, set()
    if _plain(old, new, seconds):
        return VcpuRates(old, new, seconds), None, set()
    grown = {vcpu: _growth(old[vcpu], counters, seconds) for vcpu, counters in new.items() if vcpu in old}
    rates = {vcpu: growth for vcpu, growth in grown.items() if growth is not None}
    fault = _FELL if len(rates) < len(grown) else _changed(sorted(old.keys() ^ new.keys()))
    return rates, fault, set().union(*(old[vcpu].keys() ^ new[vcpu].keys() for vcpu in grown))


def _plain(old: Vcpus, new: Vcpus, seconds: float) -> bool:
    """Whether the same vCPUs have the same counters and none fell or leapt: the common case, at C speed."""
    if list(old) != list(new):
        return False
    if list(chain.from_iterable(old.values())) != list(chain.from_iterable(new.values())):
        return False
    first = chain.from_iterable(map(dict.values, old.values()))
    last = chain.from_iterable(map(dict.values, new.values()))
    return _believed(tuple(map(sub, last, first)), seconds)


def _believed(growth: tuple[int, ...], seconds: float) -> bool:
    return not growth or (min(growth) >= 0 and max(growth) <= PLAUSIBLE_64_PER_SEC * seconds)


def _changed(vcpus: list[int]) -> str | None:
    if not vcpus:
        return None
    names = ", ".join(map(str, vcpus[:_MOST_NAMED])) + (", …" if len(vcpus) > _MOST_NAMED else "")
    return f"vCPU {names} came or went within the interval: totals cannot be compared"


def _growth(old: Counters, new: Counters, seconds: float) -> dict[str, float] | None:
    """Growth a second by name; None where a counter fell or leapt."""
    names = list(new)
    if list(old) != names:
        names = [name for name in new if name in old]
        old, new = {name: old[name] for name in names}, {name: new[name] for name in names}
    growth = tuple(map(sub, new.values(), old.values()))
    if not _believed(growth, seconds):
        return None
    return dict(zip(names, map(truediv, growth, repeat(seconds)), strict=True))
