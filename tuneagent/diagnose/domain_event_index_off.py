"""domain-event-index-off: an interface of a virtual machine works, by its host, without the event index."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose import sources
from tuneagent.diagnose.domains import each, interface_name, interfaces, packets
from tuneagent.diagnose.thresholds import MIN_PACKETS_PER_SEC
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity
from tuneagent.model.view import View
from tuneagent.model.virtio import Feature

NAME = "domain-event-index-off"
SAID = {True: "on", False: "off"}
NEGOTIATED = {True: "negotiated", False: "absent", None: None}


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio interface of a virtual machine that runs; one sample is enough."""
    return each(view, NAME, _domain, rates=False)


def _domain(_: View, domain: DomainView) -> Iterable[Judgement]:
    return interfaces(domain, lambda definition, interface: _interface(domain, definition, interface))


def _interface(domain: DomainView, definition: Domain, interface: DomainInterface) -> Judgement:
    offered = interface.event_index is not False
    monitor, guest = by_monitor(domain, interface), by_guest(domain, interface)
    stored = definition.stored_interface(interface)
    later = stored.event_index if stored is not None else None
    facts = _evidence(offered=offered, monitor=monitor, guest=guest, later=later)
    subject = domain.subject_of(interface)
    # QEMU's own word is the best; a guest may lie, so it can add a doubt and never take one away.
    if monitor is False or guest is False or (not offered and monitor is not True):
        return _finding(domain, interface, _why(monitor=monitor, offered=offered) + _later(later=later), facts)
    if later is False:
        return _will_be_off(domain, interface, facts)
    return Clear(NAME, subject, facts)


def by_monitor(domain: DomainView, interface: DomainInterface) -> bool | None:
    """Whether QEMU says that it was negotiated; None where it was not asked."""
    found = (one for one in domain.virtio if interface.alias is not None and one.alias == interface.alias)
    return next((one.event_index for one in found), None)


def by_guest(domain: DomainView, interface: DomainInterface) -> bool | None:
    """Whether the guest says that it was negotiated; None where it was not seen."""
    guest = domain.guest
    if guest is None or guest.view is None:
        return None
    nic = next((one.nic for one in guest.nics if one.interface == interface), None)
    device = guest.view.after.virtio_device(nic.virtio) if nic is not None else None
    return device.has(Feature.RING_EVENT_IDX) if device is not None else None


def _evidence(*, offered: bool, monitor: bool | None, guest: bool | None, later: bool | None) -> tuple[Evidence, ...]:
    known = (
        (Evidence("event_idx", SAID[offered], "", sources.DEFINITION), True),
        (Evidence("event_idx_by_monitor", NEGOTIATED[monitor], "", sources.MONITOR), monitor is not None),
        (Evidence("event_idx_by_guest", NEGOTIATED[guest], "", "the guest's virtio features"), guest is not None),
        (Evidence("event_idx_stored", SAID[bool(later)], "", sources.STORED_DEFINITION), later is not None),
    )
    return tuple(item for item, there in known if there)


def _why(*, monitor: bool | None, offered: bool) -> str:
    if not offered:
        return "The running definition switches it off (event_idx='off')."
    who = "QEMU says" if monitor is False else "The guest says"
    return (
        f"The running definition offers it, but {who} that it was not negotiated: the guest's driver did not take it, "
        "or the back end does not have it."
    )


def _later(*, later: bool | None) -> str:
    if later is None:
        return " A change of the definition counts from the next cold start on, or when the NIC is attached anew."
    return f" The stored definition has it {SAID[later]}: that counts from the next cold start on; a reboot is none."


def _finding(domain: DomainView, interface: DomainInterface, why: str, facts: tuple[Evidence, ...]) -> Finding:
    rate = packets(domain.tap_of(interface))
    idle = rate is not None and rate < MIN_PACKETS_PER_SEC
    load = () if rate is None else (Evidence("packets_per_sec", rate, "1/s", sources.statistics("<tap>")),)
    return Finding(
        NAME,
        domain.subject_of(interface),
        Severity.INFO if idle else Severity.WARNING,
        f"{interface_name(domain, interface)} runs without the event index",
        f"{why} Without it host and guest notify each other far more often under load.",
        (*facts, *load),
    )


def _will_be_off(domain: DomainView, interface: DomainInterface, facts: tuple[Evidence, ...]) -> Finding:
    return Finding(
        NAME,
        domain.subject_of(interface),
        Severity.INFO,
        f"{interface_name(domain, interface)} loses the event index at the next cold start",
        "The running definition has it on, the stored one off: the stored one counts from the next cold start on.",
        facts,
    )
