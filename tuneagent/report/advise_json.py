"""``tuneagent advise --json``: one object with stable keys. ``tuneagent explain json`` documents them."""

from __future__ import annotations

from typing import Any

from tuneagent.model.advise import AdviseReport
from tuneagent.model.finding import Evidence, Finding
from tuneagent.model.nic import Nic
from tuneagent.model.plan import Advice
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.model.virtio import Feature
from tuneagent.report.contention_json import contention_json
from tuneagent.report.hypervisor_json import hypervisor_json
from tuneagent.report.jsonable import jsonable

SCHEMA = "tuneagent.advise/1"
"""Grows by new keys only; a key that changes its meaning changes this number."""


def to_json(report: AdviseReport) -> dict[str, Any]:
    """The report as JSON values. Unknown is null, and ``missing`` says why."""
    return {
        "schema": SCHEMA,
        "version": report.version,
        "origin": report.origin,
        **_seen(report),
        "hypervisor": hypervisor_json(report),
        "guests": [
            {"domain": guest.key, "name": guest.name, "origin": guest.report.origin, "report": _seen(guest.report)}
            for guest in report.guests
        ],
        "cost": jsonable(report.cost),
    }


def _seen(report: AdviseReport) -> dict[str, Any]:
    """What is told of any machine, this one or a guest."""
    view = report.view
    return {
        "state": report.state.value,
        "worst_severity": None if report.worst is None else str(report.worst),
        "machine": _machine(view.after),
        "interval_s": jsonable(view.interval_s),
        "interval_assumed": view.interval_assumed,
        "rates_reason": view.rates_reason,
        "nics": [_nic(view, nic) for nic in view.after.nics or () if nic.bus_address is not None],
        "cpus": [jsonable(rate) for rate in view.cpus.values()],
        "protocols": jsonable(view.protocols),
        "contention": contention_json(view.contention),
        "lock_stat": jsonable(view.lock_stat),
        "findings": [_finding(finding) for finding in report.findings],
        "advice": [_advice(advice) for advice in report.plan.advice],
        "declined": jsonable(report.plan.declined),
        "clear": [
            {"rule": one.rule, "subject": one.subject, "evidence": _evidence(one.evidence)} for one in report.clear
        ],
        "unjudged": jsonable(report.unjudged),
        "missing": jsonable(view.missing),
    }


def _machine(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "identity": jsonable(snapshot.identity),
        "clock": jsonable(snapshot.clock),
        "cpus": jsonable(snapshot.cpus),
        "irqbalance": jsonable(snapshot.irqbalance),
    }


def _nic(view: View, nic: Nic) -> dict[str, Any]:
    device = view.after.virtio_device(nic.virtio)
    return {
        "name": nic.name,
        "mac": nic.mac,
        "driver": nic.driver,
        "virtio": nic.virtio,
        "bus_address": nic.bus_address,
        "node": nic.node,
        "queue_pairs": nic.queue_pairs,
        "queue_pairs_max": nic.channels.pairs_max if nic.channels else None,
        "event_index": device.has(Feature.RING_EVENT_IDX) if device else None,
        "features": jsonable(device.features) if device else None,
        "link": jsonable(nic.link),
        "channels": jsonable(nic.channels),
        "rings": jsonable(nic.rings),
        "coalesce": jsonable(nic.coalesce),
        "rates": jsonable(view.nics.get(nic.name)),
        "interrupts": [_interrupt(view, irq.irq, irq.role.value, irq.queue) for irq in nic.queue_irqs],
    }


def _interrupt(view: View, number: int, role: str, queue: int | None) -> dict[str, Any]:
    line, rate = view.after.irq(number), view.irqs.get(number)
    per_cpu = None if rate is None else {str(cpu): round(per_sec, 3) for cpu, per_sec in rate.per_cpu_per_sec.items()}
    return {
        "irq": number,
        "role": role,
        "queue": queue,
        "affinity": jsonable(line.affinity) if line else None,
        "effective_affinity": jsonable(line.effective_affinity) if line else None,
        "movable": line.movable if line else None,
        "movable_reason": line.movable_reason if line else None,
        "per_sec": None if rate is None else jsonable(rate.per_sec),
        "per_cpu_per_sec": per_cpu,
    }


def _evidence(evidence: tuple[Evidence, ...]) -> list[Any]:
    return [jsonable(one) for one in evidence]


def _finding(finding: Finding) -> dict[str, Any]:
    return {"id": f"{finding.rule}:{finding.subject}", **jsonable(finding)}


def _advice(advice: Advice) -> dict[str, Any]:
    fields: dict[str, Any] = jsonable(advice)
    fields["findings"] = [f"{finding.rule}:{finding.subject}" for finding in advice.findings]
    fields["do"] = [change.do for change in advice.changes]
    fields["undo"] = [change.undo for change in reversed(advice.changes)]
    return fields
