"""Everything that one ``tuneagent contention`` has to say, before it is put into words or keys."""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.model.contention import Contention, ImportedLocks, LockStat
from tuneagent.model.cost import AgentCost
from tuneagent.model.missing import Missing


@dataclass(frozen=True, slots=True)
class ContentionReport:
    """The input of the writers."""

    version: str
    origin: str
    """``this machine``, or what it was read from."""
    contention: Contention | None
    """None where a text of ``perf lock contention`` was read."""
    lock_stat: LockStat | None
    imported: ImportedLocks | None
    missing: tuple[Missing, ...]
    cost: AgentCost | None
    of_machine: bool = True
    """Whether a machine was looked at, live or as captured, and not a text of perf."""

    @property
    def lacks_lock_stat(self) -> bool:
        """Whether the kernel has no /proc/lock_stat, as most have none."""
        noted = any(one.what.startswith("lock_stat") for one in self.missing)
        return self.of_machine and self.lock_stat is None and not noted

    @property
    def nothing_seen(self) -> bool:
        """Whether waits were neither counted nor recorded nor imported."""
        known = self.contention
        unseen = known is None or (known.per_cpu_per_sec is None and known.seconds is None)
        return unseen and self.lock_stat is None and self.imported is None
