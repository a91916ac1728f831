"""The inside of a virtual machine in the rounds of a trial, through its agent: whole once, then only its counters."""

from __future__ import annotations

from collections.abc import Callable

from tuneagent import rates
from tuneagent.app import guest, lean_look
from tuneagent.join import GuestSeen, nics
from tuneagent.machine.guest_agent import NAME, GuestAgent, Transport
from tuneagent.model.domain_view import DomainView
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason
from tuneagent.model.snapshot import Snapshot


class RoundGuest:
    """Looks at a guest round by round. Nothing here raises for what it or libvirt does: the reason is kept."""

    def __init__(self, connect: Callable[[], Transport]) -> None:
        self._connect = connect
        self._transport: Transport | None = None
        self._kind: Callable[[GuestAgent], guest.LookSource] | None = None
        self._source: guest.LookSource | None = None
        self._whole: Snapshot | None = None
        self._wanted = lean_look.Wanted(frozenset())
        self._looks: list[Snapshot] = []
        self._failure: SourceError | None = None
        self._origin = NAME

    def prepare(self, domain: DomainView) -> None:
        """Before each round: connects, learns again what has changed, and what to ask."""
        self._failure = None
        self._looks = []
        self._try(lambda: self._prepare(domain))

    def look(self) -> None:
        """Looks once: everything that is wanted is fetched together."""
        self._try(self._keep_looking)

    def seen(self, expected_s: float) -> GuestSeen:
        """The view over the last two looks since ``prepare``, or why there is none."""
        if self._failure is not None:
            return GuestSeen(self._origin, None, str(self._failure.detail), self._failure.remedy)
        if len(self._looks) != guest.MOST_SAMPLES:
            return GuestSeen(self._origin, None, "the guest was not looked at twice")
        return GuestSeen(self._origin, rates.view(self._looks[0], self._looks[1], expected_s=expected_s))

    def _try(self, step: Callable[[], None]) -> None:
        if self._failure is not None:
            return
        try:
            step()
        except SourceError as error:
            # Connected and chosen anew before the next round: libvirt or the agent may have been restarted.
            self._failure, self._transport = error, None

    def _keep_looking(self) -> None:
        self._looks = [*self._looks[-1:], self._look()]

    def _prepare(self, domain: DomainView) -> None:
        if self._whole is not None:
            self._source = self._anew()
            if lean_look.same_structure(self._look(), self._whole, self._wanted.nics):
                return
        self._whole = guest.look(self._anew())
        self._wanted = lean_look.Wanted(_names(domain, self._whole))
        self._source = self._anew()
        self._look()

    def _anew(self) -> guest.LookSource:
        """A source with all of an agent's time, which asks for what it is asked from now on and for nothing else."""
        if self._transport is None or self._kind is None:
            self._transport = self._connect()
            chosen = guest.chosen(GuestAgent(self._transport))
            self._kind, self._origin = type(chosen), chosen.origin
            return chosen
        return self._kind(GuestAgent(self._transport))

    def _look(self) -> Snapshot:
        if self._source is None or self._whole is None:
            raise SourceError(NAME, Reason.FAILED, "the guest was not looked at as a whole")
        self._source.begin()
        for _ in range(guest.MOST_ROUNDS):
            seen = lean_look.look(self._source, self._whole, self._wanted)
            if not self._source.fetch():
                return seen
        raise SourceError(NAME, Reason.TOO_LARGE, f"the guest names more files in each of {guest.MOST_ROUNDS} rounds")


def _names(domain: DomainView, whole: Snapshot) -> frozenset[str]:
    """Its interfaces that are the domain's; all virtio NICs where none can be told."""
    joined = frozenset(one.nic.name for one in nics.pairs(domain, rates.alone(whole)))
    return joined or frozenset(nic.name for nic in whole.virtio_nics)
