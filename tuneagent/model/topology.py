"""The CPUs of the machine, as the kernel numbers them."""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.model.cpuset import CpuSet


@dataclass(frozen=True, slots=True)
class CpuTopology:
    """/sys/devices/system/cpu, /sys/devices/system/node and the boot options isolcpus= and nohz_full=."""

    online: CpuSet
    possible: CpuSet | None
    isolated: CpuSet
    """Taken out of the scheduler's balancing; the empty set where none are."""
    nohz_full: CpuSet
    nodes: dict[int, CpuSet]
    """CPUs by NUMA node; empty when the kernel shows no nodes."""
    cores: tuple[CpuSet, ...]
    """One set of SMT siblings a core, ordered by their first CPU; a CPU with unknown siblings is a core of its own."""
    confined_to: CpuSet | None = None
    """The agent's own Cpus_allowed_list where it is smaller than online; never used as a target set."""

    @property
    def housekeeping(self) -> CpuSet:
        """CPUs that interrupts may be placed on: online, not isolated, not nohz_full; else all online."""
        rest = self.online - self.isolated - self.nohz_full
        return rest or self.online
