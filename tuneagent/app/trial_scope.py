"""What a trial is about: which interfaces or virtual machine are measured, and what is known of them beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import click

from tuneagent import rates
from tuneagent.app import domains
from tuneagent.machine.guest_agent import Transport
from tuneagent.machine.source import Source
from tuneagent.measure.scope import Scope
from tuneagent.model.apply_report import PlannedChange
from tuneagent.model.domain import DomainInterface
from tuneagent.model.domain_view import DomainView, HypervisorView
from tuneagent.model.nic import Nic
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.observe import snapshot as observe
from tuneagent.report.values import plural

MOST_FACTS = 16


@dataclass(frozen=True, slots=True)
class Measured:
    """The measured side."""

    scope: Scope
    seen: Snapshot
    subject: str
    facts: dict[str, str]
    connect_guest: Callable[[], Transport] | None
    domain: DomainView | None = None
    """The virtual machine that is measured, as it was seen."""


@dataclass(frozen=True, slots=True)
class Named:
    """What the command line names."""

    nics: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    guest_agent: bool = True
    load_runs: bool = True
    """Whether a load has processes: on this machine those that send, in a virtual machine those that answer."""


def measured(source: Source, planned: Iterable[PlannedChange], named: Named) -> Measured:
    """Looks once. UsageError where the changes are about several virtual machines: they cannot be told apart."""
    planned = tuple(planned)
    view = rates.alone(observe(source, None, frozenset(named.domains)))
    subjects = tuple(dict.fromkeys(_subject(one) for one in planned))
    meant = _domains(view, planned, named)
    if len(meant) > 1:
        names = ", ".join(one.name for one in meant)
        raise click.UsageError(f"a trial is about one virtual machine, and this is about {names}: name one by --domain")
    subject = ", ".join(filter(None, subjects))
    if meant:
        return _of_domain(view, meant[0], subject, subjects, named)
    nics = _nics(view, planned, named) or tuple(nic.name for nic in view.after.virtio_nics)
    own = any(one.data_irqs for one in view.after.nics or () if one.name in nics)
    scope = Scope(nics=nics, interrupts=own, client_measured=named.load_runs)
    return Measured(scope, view.after, subject, dict(_facts(view.after, nics)), None)


def _subject(one: PlannedChange) -> str:
    return one.subject or one.change.target.interface or ""


def _domains(view: View, planned: tuple[PlannedChange, ...], named: Named) -> tuple[DomainView, ...]:
    host = view.hypervisor
    if host is None:
        return ()
    if named.domains:
        return tuple({one.key: one for found in domains.named(view, named.domains) for one in found}.values())
    found = [_domain_of(host, one) for one in planned]
    return tuple({one.key: one for one in found if one is not None}.values())


def _domain_of(host: HypervisorView, one: PlannedChange) -> DomainView | None:
    place = host.of_subject(one.subject)
    if place is not None:
        return place[0]
    uuid = one.change.target.domain_uuid
    return next((domain for domain in host.domains if uuid is not None and domain.key == uuid), None)


def _of_domain(view: View, domain: DomainView, subject: str, subjects: tuple[str, ...], named: Named) -> Measured:
    meant = [one for one in _interfaces(domain) if domain.subject_of(one) in subjects]
    definition = domain.definition
    asks = named.guest_agent and definition is not None
    scope = Scope(
        domain=domain.key,
        macs=frozenset(one.mac.lower() for one in meant if one.mac is not None),
        guest=asks,
        server_measured=named.load_runs,
    )
    facts = dict(_facts(view.after, None)) | _domain_facts(domain)
    connect: Callable[[], Transport] | None = None
    if asks and definition is not None:
        uri, uuid = definition.uri, definition.uuid

        def connect() -> Transport:
            from tuneagent.machine import guest_libvirt

            return guest_libvirt.transport(uri, uuid)

    return Measured(scope, view.after, subject or domain.subject, facts, connect, domain)


def _interfaces(domain: DomainView) -> tuple[DomainInterface, ...]:
    return domain.definition.interfaces if domain.definition is not None else ()


def _nics(view: View, planned: tuple[PlannedChange, ...], named: Named) -> tuple[str, ...]:
    """The interfaces that are changed; of what is about the whole machine those that were named."""
    there = {nic.name: nic for nic in view.after.nics or ()}
    by_mac = {nic.mac: nic.name for nic in there.values() if nic.mac is not None}
    found = dict.fromkeys(named.nics)
    for one in planned:
        target = one.change.target
        name = by_mac.get(target.mac or "") or target.interface or one.subject
        if name in there:
            found[name] = None
    return tuple(name for name in found if name in there)


def _pairs(number: int | None) -> str:
    return plural(number, "queue pair") if number is not None else "? queue pairs"


def _facts(seen: Snapshot, nics: tuple[str, ...] | None) -> Iterator[tuple[str, str]]:
    """``nics``: those that are told; empty all of virtio, None none."""
    who, cpus = seen.identity, seen.cpus
    if who is not None:
        yield "kernel", who.kernel_release or "not known"
        yield "machine", " ".join(filter(None, (str(who.role), who.virtualisation, who.architecture)))
    if cpus is not None:
        yield "CPUs", str(cpus.online)
    if seen.irqbalance is not None and seen.irqbalance.running is not None:
        yield "irqbalance", "runs" if seen.irqbalance.running else "does not run"
    if nics is None:
        return
    meant = [one for one in seen.nics or () if one.name in nics] if nics else seen.virtio_nics
    for nic in meant[:MOST_FACTS]:
        yield f"interface {nic.name}", _nic(nic)


def _nic(nic: Nic) -> str:
    parts = [nic.driver or "no driver", _pairs(nic.queue_pairs)]
    if nic.mtu is not None:
        parts.append(f"MTU {nic.mtu}")
    return ", ".join(parts)


def _domain_facts(domain: DomainView) -> dict[str, str]:
    interfaces = ((domain.subject_of(one), _interface(one)) for one in _interfaces(domain)[:MOST_FACTS])
    return {"virtual machine": f"{domain.name}, {domain.vcpus or '?'} vCPUs", **dict(interfaces)}


def _interface(one: DomainInterface) -> str:
    index = {True: "on", False: "off", None: "not there"}[one.event_index]
    return f"{one.model or one.type}, {one.backend}, {_pairs(one.queue_pairs)}, event index {index}"
