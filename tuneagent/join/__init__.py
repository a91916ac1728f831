"""A hypervisor's view and its guests' own views of the same interval → one view. Pure; no guest is trusted.

A lying guest spoils the part of its own domain's view that says "guest", and no other: figures of the host are never
replaced by a guest's, and what cannot be true is left out with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tuneagent.join import identity, nics, ratios
from tuneagent.model.domain_view import DomainView, Guest
from tuneagent.model.view import View

ANOTHER = "give a snapshot that was taken in this virtual machine, as root: then it has its product UUID"


@dataclass(frozen=True, slots=True)
class GuestSeen:
    """What was got of one guest: its view, or why there is none and what would allow it."""

    origin: str
    """``guest agent (guest-exec)``, ``snapshot FILE``."""
    view: View | None
    reason: str | None = None
    remedy: str | None = None


def join(view: View, guests: Mapping[str, GuestSeen]) -> View:
    """The view with guests beside their virtual machines, by :attr:`DomainView.key`; keys of nobody are passed over."""
    if view.hypervisor is None or not guests:
        return view
    domains = tuple(
        replace(domain, guest=_guest(view, domain, guests[domain.key])) if domain.key in guests else domain
        for domain in view.hypervisor.domains
    )
    return replace(view, hypervisor=replace(view.hypervisor, domains=domains))


def _guest(host: View, domain: DomainView, seen: GuestSeen) -> Guest:
    if seen.view is None:
        return Guest(seen.origin, None, seen.reason or "nothing was got from the guest", seen.remedy)
    same = identity.compare(domain.definition, seen.view.after)
    if same.joined_by is None and seen.origin.startswith("snapshot"):
        # Of whatever machine it is: rules would judge this domain by it. An agent answers for its domain, by libvirt.
        return Guest(seen.origin, None, same.reason, ANOTHER)
    if same.joined_by is None:
        return Guest(seen.origin, seen.view, same.reason, seen.remedy)
    joined = nics.pairs(domain, seen.view)
    rates = ratios.joined(host, domain, seen.view, joined, apart=ratios.apart(host, seen.view, seen.origin))
    return Guest(seen.origin, seen.view, seen.reason, seen.remedy, same.joined_by, joined, rates)
