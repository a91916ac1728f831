"""Where the kernel's CPU time went: samples by symbol and CPU, and two such profiles side by side."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SymbolSamples:
    """Samples of one kernel symbol."""

    symbol: str
    """``[unknown]`` where no symbol covers the address."""
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


@dataclass(frozen=True, slots=True)
class ProfileDelta:
    """One symbol in two profiles, in percent of each; None where it is not in that one."""

    symbol: str
    old_percent: float | None
    new_percent: float | None

    @property
    def delta_percent(self) -> float:
        """Growth in percentage points; a symbol that is absent counts as none."""
        return (self.new_percent or 0.0) - (self.old_percent or 0.0)
