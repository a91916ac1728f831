"""vhost-absent: QEMU itself moves the packets of a tap that the kernel's vhost-net could serve."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose import sources
from tuneagent.diagnose.domains import each, interface_name, interfaces, packets
from tuneagent.diagnose.thresholds import MIN_PACKETS_PER_SEC
from tuneagent.model.domain import TAP_TYPES, Backend, Domain, DomainInterface
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import View

NAME = "vhost-absent"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio interface on a tap; one sample is enough. Not of other back ends, nor of emulation."""
    return each(view, NAME, _domain, rates=False)


def _domain(view: View, domain: DomainView) -> Iterable[Judgement]:
    # libvirt opens vhost-net of itself for hardware virtualisation only (qemuInterfaceOpenVhostNet()).
    if domain.definition is None or domain.definition.type != "kvm":
        return ()
    loaded = module_loaded(view)
    return interfaces(domain, lambda _, interface: _interface(domain, interface, loaded=loaded))


def module_loaded(view: View) -> bool | None:
    """Whether the vhost_net module is there; None where no module's parameters could be seen."""
    host = view.after.hypervisor
    if host is None or not host.parameters:
        return None
    return host.vhost_net


def _interface(domain: DomainView, interface: DomainInterface, *, loaded: bool | None) -> Judgement | None:
    if interface.type not in TAP_TYPES:
        return None
    facts = _evidence(domain, interface, loaded=loaded)
    if interface.backend is Backend.QEMU:
        return _finding(domain, interface, _chosen(loaded=loaded), facts)
    # vhost that is not started proves nothing: so it is until the guest's driver is ready.
    if domain.of_role(ThreadRole.VHOST) or _started(domain, interface):
        return Clear(NAME, domain.subject_of(interface), facts)
    if loaded is False and domain.of_role(ThreadRole.EMULATOR):
        return _finding(domain, interface, _fell_back(), facts)
    return Unjudged(NAME, domain.subject_of(interface), _unknown(domain))


def _unknown(domain: DomainView) -> str:
    if domain.of_role(ThreadRole.EMULATOR):
        return "the definition leaves it to vhost-net, and no vhost worker of its QEMU is seen"
    return "whether a vhost worker serves it is not known: no thread of its QEMU was read"


def _started(domain: DomainView, interface: DomainInterface) -> bool | None:
    found = (one for one in domain.virtio if interface.alias is not None and one.alias == interface.alias)
    return next((one.vhost_started for one in found), None)


def _chosen(*, loaded: bool | None) -> str:
    there = {True: "is loaded", False: "is not loaded", None: "may be there"}[loaded]
    return f"The definition asks for QEMU (driver name='qemu'); the module vhost_net {there}."


def _fell_back() -> str:
    return "The module vhost_net is not loaded and no vhost worker runs, so libvirt fell back to QEMU without a word."


def _evidence(domain: DomainView, interface: DomainInterface, *, loaded: bool | None) -> tuple[Evidence, ...]:
    module = {True: "loaded", False: "not loaded", None: None}[loaded]
    started, workers = _started(domain, interface), len(domain.of_role(ThreadRole.VHOST))
    return (
        Evidence("driver_name", interface.driver_name or "not set", "", sources.DEFINITION),
        Evidence("vhost_net_module", module, "", sources.VHOST_NET),
        Evidence("vhost_workers_of_domain", workers, "threads", sources.THREAD_PLACE),
        *(() if started is None else (Evidence("vhost_started", str(started).lower(), "", sources.MONITOR),)),
    )


def _finding(domain: DomainView, interface: DomainInterface, why: str, facts: tuple[Evidence, ...]) -> Finding:
    rate = packets(domain.tap_of(interface))
    stored = _stored(domain.definition, interface)
    load = () if rate is None else (Evidence("packets_per_sec", rate, "1/s", sources.statistics("<tap>")),)
    return Finding(
        NAME,
        domain.subject_of(interface),
        Severity.INFO if rate is not None and rate < MIN_PACKETS_PER_SEC else Severity.WARNING,
        f"QEMU itself moves the packets of {interface_name(domain, interface)}",
        f"{why} Each batch then passes user space and QEMU's main thread.{stored}",
        (*facts, *load),
    )


def _stored(definition: Domain | None, interface: DomainInterface) -> str:
    stored = definition.stored_interface(interface) if definition is not None else None
    if stored is None or stored.backend is interface.backend:
        return ""
    return f" The stored definition has {stored.backend}: that counts from the next cold start on."
