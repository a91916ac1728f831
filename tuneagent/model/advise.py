"""Everything that one ``tuneagent advise`` has to say, before it is put into words or keys."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tuneagent.model.cost import AgentCost
from tuneagent.model.finding import Clear, Finding, Judgement, Severity, Unjudged
from tuneagent.model.plan import Plan
from tuneagent.model.view import View


class State(StrEnum):
    """The one-word answer."""

    FINDINGS = "findings"
    """Something is wrong."""
    HEALTHY = "healthy"
    """Nothing to change, and the numbers say so."""
    IDLE = "idle"
    """Nothing wrong was seen, and there was too little traffic to judge."""
    UNKNOWN = "unknown"
    """Nothing wrong was seen, and what could not be seen is too much to call it healthy."""
    NO_VIRTIO_NIC = "no-virtio-nic"
    """There is no virtio NIC here to judge."""


@dataclass(frozen=True, slots=True)
class AdviseReport:
    """The input of every writer in ``tuneagent.report``."""

    version: str
    origin: str
    """``this machine``, or the trees or files it was read from."""
    view: View
    judgements: tuple[Judgement, ...]
    plan: Plan
    cost: AgentCost | None
    applies: bool = False
    """Whether this version of tuneagent has the apply command that the advice names."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Worst first, then by subject and rule."""
        found = [one for one in self.judgements if isinstance(one, Finding)]
        return tuple(sorted(found, key=lambda one: (-one.severity, one.subject, one.rule)))

    @property
    def clear(self) -> tuple[Clear, ...]:
        """What was looked at and is well."""
        return tuple(one for one in self.judgements if isinstance(one, Clear))

    @property
    def unjudged(self) -> tuple[Unjudged, ...]:
        """What could not be judged."""
        return tuple(one for one in self.judgements if isinstance(one, Unjudged))

    @property
    def worst(self) -> Severity | None:
        """Severity of the worst finding; None without findings."""
        return max((one.severity for one in self.findings), default=None)

    @property
    def state(self) -> State:
        """The one-word answer."""
        if self.findings:
            return State.FINDINGS
        if not self.view.after.virtio_nics:
            return State.NO_VIRTIO_NIC if self.view.after.nics is not None else State.UNKNOWN
        if any(not one.idle for one in self.unjudged):
            return State.UNKNOWN
        return State.IDLE if self.unjudged else State.HEALTHY
