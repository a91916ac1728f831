"""What the subject of a finding names on a hypervisor: a virtual machine, an interface of one, or several at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tuneagent.model.domain import DomainInterface
from tuneagent.model.domain_view import DomainView, HypervisorView


@dataclass(frozen=True, slots=True)
class Place:
    """A virtual machine, and the interface of it that is meant."""

    domain: DomainView
    interface: DomainInterface | None = None
    ambiguous: bool = False
    """Whether another one has the same subject: then it is not known which is meant, and nothing is changed."""


def places(hypervisor: HypervisorView | None) -> dict[str, Place]:
    """By subject, every virtual machine and interface; looked up once, for there may be thousands.

    Names are unique on one libvirt connection only, and those of devices are not told for every kind of interface.
    """
    known: dict[str, Place] = {}
    for subject, place in _all(hypervisor):
        other = known.get(subject)
        known[subject] = place if other is None else _either(other, place)
    return known


def interfaces_of(domain: DomainView) -> tuple[str, ...]:
    """The subjects of its virtio interfaces."""
    definition = domain.definition
    return tuple(domain.subject_of(one) for one in definition.virtio_interfaces) if definition is not None else ()


def running(hypervisor: HypervisorView | None) -> Iterator[DomainView]:
    """The virtual machines that run, those among them that libvirt does not tell of too."""
    for domain in hypervisor.domains if hypervisor is not None else ():
        if domain.definition is None or domain.definition.running:
            yield domain


def _all(hypervisor: HypervisorView | None) -> Iterator[tuple[str, Place]]:
    for domain in hypervisor.domains if hypervisor is not None else ():
        yield domain.subject, Place(domain)
        for interface in domain.definition.interfaces if domain.definition is not None else ():
            yield domain.subject_of(interface), Place(domain, interface)


def _either(one: Place, other: Place) -> Place:
    """Of a virtio interface and the passed-through one of its teaming, which shares its MAC, the former is judged."""
    virtio = [place for place in (one, other) if place.interface is not None and place.interface.is_virtio]
    if one.domain is other.domain and len(virtio) == 1 and not one.ambiguous:
        return virtio[0]
    return Place(one.domain, one.interface, ambiguous=True)
