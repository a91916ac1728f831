"""Queue pairs of a domain's interface: what the definition offers, what its tap has on, what the guest uses."""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.diagnose import sources
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.domain_view import DomainView, JoinedNic
from tuneagent.model.finding import Evidence


@dataclass(frozen=True, slots=True)
class Queues:
    """Numbers of queue pairs of one interface; None for what is not known."""

    configured: int
    """By the running definition."""
    stored: int | None
    """By the stored definition, where that is another."""
    multi_queue_tap: bool | None
    tap: int | None
    """Switched on in the tap now: QEMU takes those out that the guest does not use."""
    offered: int | None
    """That the guest sees as the most it can have."""
    used: int | None
    """That the guest uses, by itself or by QEMU's monitor."""
    vcpus: int | None

    @property
    def limit(self) -> int:
        """The most that can be used as it runs."""
        caps = [
            self.configured,
            *([self.offered] if self.offered else []),
            *([1] if self.multi_queue_tap is False else []),
        ]
        return min(caps)

    @property
    def in_use(self) -> int | None:
        """What is used, by the best that tells."""
        known = [count for count in (self.used, self.tap) if count]
        return min(known) if known else None


def queues_of(domain: DomainView, definition: Domain, interface: DomainInterface) -> Queues | None:
    """All that is known; None for an interface whose queues no definition sets."""
    configured = interface.queue_pairs
    if configured is None:
        return None
    tap, nic = domain.tap_of(interface), _nic(domain, interface)
    channels = nic.nic.channels if nic is not None else None
    stored = definition.stored_interface(interface)
    return Queues(
        configured=configured,
        stored=stored.queue_pairs if stored is not None and stored.queue_pairs != configured else None,
        multi_queue_tap=tap.tap.multi_queue if tap is not None else None,
        tap=tap.tap.queues if tap is not None else None,
        offered=channels.pairs_max if channels is not None else None,
        used=(channels.pairs if channels is not None else None) or _by_monitor(domain, interface),
        vcpus=definition.vcpus,
    )


def _nic(domain: DomainView, interface: DomainInterface) -> JoinedNic | None:
    joined = domain.guest.nics if domain.guest is not None else ()
    return next((one for one in joined if one.interface == interface), None)


def _by_monitor(domain: DomainView, interface: DomainInterface) -> int | None:
    found = (one for one in domain.virtio if interface.alias is not None and one.alias == interface.alias)
    return next((one.queues_active for one in found), None)


def evidence(queues: Queues, tap: str | None) -> tuple[Evidence, ...]:
    """The numbers that are known; what the definition says comes first."""
    head = (
        Evidence("queue_pairs_configured", queues.configured, "queues", sources.DEFINITION),
        Evidence("vcpus", queues.vcpus, "vCPUs", sources.DEFINITION),
    )
    rest = (
        ("queue_pairs_stored", queues.stored, sources.STORED_DEFINITION),
        ("queue_pairs_on_tap", queues.tap, sources.tap_queues(tap or "<tap>")),
        ("queue_pairs_offered_to_guest", queues.offered, "the guest's ethtool channels"),
        ("queue_pairs_in_use", queues.used, "the guest's ethtool channels, or QEMU's monitor"),
    )
    return (*head, *(Evidence(name, value, "queues", source) for name, value, source in rest if value is not None))


def later(queues: Queues) -> str:
    """What the stored definition will change, as a sentence that follows another; empty where nothing."""
    if queues.stored is None:
        return ""
    return f" The stored definition has {queues.stored}: that counts from the next cold start on; a reboot is none."
