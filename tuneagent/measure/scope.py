"""What a trial is about, and where its load runs as seen from there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scope:
    """Interfaces of this machine, or one of its virtual machines: the same in all rounds of a trial."""

    nics: tuple[str, ...] = ()
    """Names of interfaces of this machine; without any its virtio NICs. Not used with a domain."""
    interrupts: bool = True
    """Whether these have interrupts of their own; a veth or a bond has none."""
    domain: str | None = None
    """Key of the virtual machine (``DomainView.key``) that is measured from its hypervisor."""
    macs: frozenset[str] = frozenset()
    """Of those of its interfaces that are meant, lower case; without any all of them."""
    guest: bool = False
    """Whether the guest is asked. A round in which it does not answer then lacks its part, and no other figure stands
    in for it: the rounds of a trial must mean the same."""
    client_measured: bool = False
    """Whether the processes that send requests run on the measured side, so that their CPU time is in its own."""
    server_measured: bool = False
    """The same of those that answer."""
