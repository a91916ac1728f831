"""The ``hypervisor`` of ``tuneagent advise --json``: the host's facts, and every virtual machine in full."""

from __future__ import annotations

from typing import Any

from tuneagent.model.advise import AdviseReport
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.domain_view import Guest, KvmRate, TapRate, ThreadRate
from tuneagent.model.hypervisor import Hypervisor, KvmCounters
from tuneagent.report.domain_ranking import RankedDomain, ranked
from tuneagent.report.jsonable import jsonable


def hypervisor_json(report: AdviseReport) -> dict[str, Any] | None:
    """The host and its virtual machines, that with most to gain first; null where this machine is no hypervisor."""
    host, view = report.view.after.hypervisor, report.view.hypervisor
    if host is None or view is None:
        return None
    domains = ranked(view, report.findings, report.plan.advice)
    return {
        **_host(host),
        "domains": [_domain(one) for one in domains],
        "gone": list(view.gone),
        "new": list(view.new),
        "stray_taps": [_tap(one) for one in view.stray_taps],
    }


def _host(host: Hypervisor) -> dict[str, Any]:
    return {
        "vhost_net": host.vhost_net if host.parameters else None,
        "parameters": jsonable(host.parameters),
        "memory": jsonable(host.memory),
        "kvm_source": host.kvm_source.value,
        "threads_left_out": host.threads_left_out,
        "libvirt_answered": host.domains is not None,
        "processes": None if host.processes is None else jsonable(host.processes),
    }


def _domain(one: RankedDomain) -> dict[str, Any]:
    domain = one.domain
    return {
        "key": domain.key,
        "name": domain.name,
        "subject": domain.subject,
        "pid": domain.pid,
        "running": one.runs,
        "worst_severity": None if one.worst is None else str(one.worst),
        "findings": [f"{finding.rule}:{finding.subject}" for finding in one.findings],
        "advice": [advice.id for advice in one.advice],
        "packets_per_sec": jsonable(domain.packets_per_sec),
        "exits_per_packet": jsonable(domain.exits_per_packet),
        "kvm": _kvm(domain.kvm),
        "kvm_reason": domain.kvm_reason,
        "kvm_totals": _totals(domain.counters),
        "vcpus": domain.vcpus,
        "definition": _definition(domain.definition),
        "threads": [_thread(thread) for thread in domain.threads],
        "taps": [_tap(tap) for tap in domain.taps],
        "virtio": [{**jsonable(status), "event_index": status.event_index} for status in domain.virtio],
        "guest": _guest(domain.guest),
    }


def _kvm(rate: KvmRate | None) -> dict[str, Any] | None:
    if rate is None:
        return None
    return {**jsonable(rate), "exits_per_sec": jsonable(rate.exits_per_sec)}


def _totals(counters: KvmCounters | None) -> dict[str, Any] | None:
    """What KVM has counted so far, over all vCPUs."""
    if counters is None:
        return None
    return {"counters": jsonable(counters.totals), "exits_are_a_sum": counters.exits_are_a_sum}


def _definition(domain: Domain | None) -> dict[str, Any] | None:
    """Without the XML: it is in the advice where it matters, and names files and servers elsewhere."""
    if domain is None:
        return None
    fields: dict[str, Any] = {
        name: jsonable(getattr(domain, name))
        for name in Domain.__dataclass_fields__
        if name not in {"interfaces", "pending"}
    }
    fields["interfaces"] = [_interface(one) for one in domain.interfaces]
    fields["pending"] = _definition(domain.pending)
    return fields


def _interface(interface: DomainInterface) -> dict[str, Any]:
    fields: dict[str, Any] = jsonable(interface)
    del fields["xml"]
    return {**fields, "backend": interface.backend.value, "event_index": interface.event_index}


def _thread(rate: ThreadRate) -> dict[str, Any]:
    thread = rate.thread
    return {
        "tid": thread.tid,
        "role": thread.role.value,
        "vcpu": thread.index,
        "kernel_thread": thread.kernel_thread,
        "affinity": jsonable(thread.affinity),
        "cpu": thread.cpu,
        "cpu_percent": jsonable(rate.cpu_percent),
        "wait_percent": jsonable(rate.wait_percent),
        "moved": rate.moved,
    }


def _tap(rate: TapRate) -> dict[str, Any]:
    fields: dict[str, Any] = jsonable(rate)
    tap = fields.pop("tap")
    facts = {name: tap[name] for name in ("name", "ifindex", "multi_queue", "queues", "master", "tx_queue_len")}
    interface = rate.interface
    return {
        **facts,
        **fields,
        "interface": None if interface is None else interface.position,
        "packets_per_sec": jsonable(rate.packets_per_sec),
    }


def _guest(guest: Guest | None) -> dict[str, Any] | None:
    if guest is None:
        return None
    return {
        "origin": guest.origin,
        "seen": guest.view is not None,
        "reason": guest.reason,
        "remedy": guest.remedy,
        "joined_by": guest.joined_by,
        "nics": [{"name": nic.nic.name, "interface": nic.interface.position} for nic in guest.nics],
        "rates": jsonable(guest.rates),
    }
