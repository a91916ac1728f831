"""What the agent itself cost the machine: it is a guest there and reports on itself like on everything else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AgentCost:
    """Of this process and the commands that it ran, from its start to the report."""

    cpu_s: float
    """User and system time."""
    sampling_cpu_s: float | None
    """The part spent in taking samples; None when the samples came from a file."""
    wall_beyond_interval_s: float | None
    """From the start of the command to the report, without the interval itself."""
    peak_rss_bytes: int | None
    """Most memory that the process itself held."""
    locks_cpu_s: float | None = None
    """The part spent in recording waits for locks and naming their places; None where none were recorded."""
