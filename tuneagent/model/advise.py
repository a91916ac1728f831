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
    """There is neither a virtio NIC nor a virtual machine here to judge."""


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
    asked_domains: tuple[str, ...] = ()
    """Keys of the virtual machines that were named to be told in full."""
    guests: tuple[GuestReport, ...] = ()
    """What the guests say of themselves, where they were asked: never mixed with what this machine shows."""

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
        if not self.view.after.virtio_nics and not self._has_domains:
            return State.NO_VIRTIO_NIC if self._all_seen else State.UNKNOWN
        if any(not one.idle for one in self.unjudged):
            return State.UNKNOWN
        return State.IDLE if self.unjudged else State.HEALTHY

    @property
    def _has_domains(self) -> bool:
        return self.view.hypervisor is not None and bool(self.view.hypervisor.domains)

    @property
    def _all_seen(self) -> bool:
        """Whether "there is none" is known of NICs and, on a hypervisor, of virtual machines."""
        host = self.view.after.hypervisor
        return self.view.after.nics is not None and (
            host is None or host.domains is not None or host.processes is not None
        )


@dataclass(frozen=True, slots=True)
class GuestReport:
    """A guest's own view, judged by the same rules as this machine's; a lying guest spoils this part only."""

    key: str
    """Of its DomainView."""
    name: str
    report: AdviseReport
