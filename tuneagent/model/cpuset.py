"""A set of CPU ids, as the kernel's cpumask: order-free, hole-friendly, compared by value and never as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_CPUS = 8192
"""The largest CONFIG_NR_CPUS of any mainline architecture (x86 with MAXSMP). Larger ids are refused."""


@dataclass(frozen=True, slots=True)
class CpuSet:
    """A set of CPU ids; bit *i* of :attr:`bits` is CPU *i* (Documentation/admin-guide/cputopology.rst)."""

    bits: int = 0

    def __post_init__(self) -> None:
        if self.bits < 0 or self.bits.bit_length() > MAX_CPUS:
            raise ValueError(f"a CPU set holds CPUs 0 to {MAX_CPUS - 1}")

    @classmethod
    def of(cls, cpus: Iterable[int]) -> CpuSet:
        """The set of these CPU ids; ValueError for an id below 0 or from MAX_CPUS up."""
        bits = 0
        for cpu in cpus:
            if not 0 <= cpu < MAX_CPUS:
                raise ValueError(f"CPU {cpu} is outside 0 to {MAX_CPUS - 1}")
            bits |= 1 << cpu
        return cls(bits)

    def __iter__(self) -> Iterator[int]:
        bits = self.bits
        while bits:
            low = bits & -bits
            yield low.bit_length() - 1
            bits ^= low

    def __len__(self) -> int:
        return self.bits.bit_count()

    def __bool__(self) -> bool:
        return self.bits != 0

    def __contains__(self, cpu: int) -> bool:
        return cpu >= 0 and bool(self.bits >> cpu & 1)

    def __and__(self, other: CpuSet) -> CpuSet:
        return CpuSet(self.bits & other.bits)

    def __or__(self, other: CpuSet) -> CpuSet:
        return CpuSet(self.bits | other.bits)

    def __sub__(self, other: CpuSet) -> CpuSet:
        return CpuSet(self.bits & ~other.bits)

    def __le__(self, other: CpuSet) -> bool:
        return self.bits & ~other.bits == 0

    def __str__(self) -> str:
        """The kernel's list form, ``0-3,8``; the empty set is the empty string."""
        return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in self._runs())

    def mask(self) -> str:
        """The kernel's mask form: 32-bit hexadecimal words, most significant first, parted by commas."""
        digits = f"{self.bits:x}"
        words = [digits[max(0, end - 8) : end] for end in range(len(digits), 0, -8)]
        return ",".join(reversed(words))

    def _runs(self) -> Iterator[tuple[int, int]]:
        # Run by run, not CPU by CPU: a thousand threads that may run on each of 256 CPUs are normal.
        bits, passed = self.bits, 0
        while bits:
            first = passed + (bits & -bits).bit_length() - 1
            bits >>= first - passed
            length = (~bits & bits + 1).bit_length() - 1
            bits >>= length
            passed = first + length
            yield first, passed - 1
