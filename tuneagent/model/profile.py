"""Where the kernel's CPU time went: samples by symbol and CPU, and two such profiles side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

UNNAMED = "[unknown]"
"""Stands for all functions of the kernel whose address no symbol covers, or whose symbols may not be seen."""


@dataclass(frozen=True, slots=True)
class SymbolSamples:
    """Samples of one kernel symbol."""

    symbol: str
    """UNNAMED where no symbol covers the address."""
    module: str | None
    per_cpu: dict[int, int]

    @property
    def samples(self) -> int:
        """On all CPUs."""
        return sum(self.per_cpu.values())


@dataclass(frozen=True, slots=True)
class Profile:
    """CPU samples over some seconds, or the shares of somebody's report."""

    origin: str
    """``this machine``, or the file that was imported."""
    event: str
    """``cycles``, ``cpu-clock``; what a sample stands for."""
    seconds: float | None
    cpus: tuple[int, ...]
    kernel: tuple[SymbolSamples, ...]
    """Most samples first; empty where only ``shares`` are known."""
    user_samples: int
    """Samples in user space, and in guests."""
    idle_samples: int
    """Samples in the idle task."""
    lost: int
    throttled: int
    shares_percent: dict[str, float]
    """By symbol, of all samples that the report counts; also for a profile made of samples."""
    limits: tuple[str, ...]
    """What it does not show, for people."""
    kernel_release: str | None = None
    taken_at_ns: int | None = None
    """CLOCK_REALTIME."""
    cpu_s: float | None = None
    """What it cost."""


class Basis(StrEnum):
    """What a share is a share of."""

    BUSY = "busy"
    """Samples in which a CPU was not idle: the shares are the same on an otherwise idle machine."""
    ALL = "all"
    """All samples, the idle ones too, as perf report has it."""


@dataclass(frozen=True, slots=True)
class SymbolShare:
    """One kernel symbol's part of a profile."""

    symbol: str
    module: str | None
    percent: float
    """Of what the profile's basis says."""
    kernel_percent: float | None
    """Of the samples in the kernel that are not idle; of the listed shares where only those are known."""
    samples: int | None
    """None where only shares are known."""
    per_cpu: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoldedProfile:
    """A profile as a list of shares, largest first."""

    profile: Profile
    basis: Basis
    rows: tuple[SymbolShare, ...]
    left_out: int
    """Symbols beyond the number asked for."""
    samples: int | None
    """All of them; None where only shares are known."""
    kernel_percent: float | None
    """Of the basis."""
    user_percent: float | None
    idle_percent: float | None
    """Of all samples, whatever the basis."""


@dataclass(frozen=True, slots=True)
class ProfileDelta:
    """One symbol in two profiles, in percent of each; None where it is not in that one."""

    symbol: str
    old_percent: float | None
    new_percent: float | None
    error_percent: float | None = None
    """Half of the delta's interval by sampling alone, in percentage points, 95 % for all symbols of the two profiles at
    once; None where samples were not told."""
    within_noise: bool | None = None
    """Whether that interval holds 0; None where it is unknown."""

    @property
    def delta_percent(self) -> float:
        """Growth in percentage points; a symbol that is absent counts as none."""
        return (self.new_percent or 0.0) - (self.old_percent or 0.0)


@dataclass(frozen=True, slots=True)
class ProfileDiff:
    """Two profiles side by side."""

    old: Profile | None
    """None, both, where a text of ``perf diff`` told the difference."""
    new: Profile | None
    basis: Basis
    deltas: tuple[ProfileDelta, ...]
    """In the order asked for."""
    remarks: tuple[str, ...]
    """What makes the two hard to compare, for people."""
