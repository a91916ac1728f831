"""event-index-off: the NIC was negotiated without VIRTIO_RING_F_EVENT_IDX."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.subjects import device_of, virtio_nics
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.nic import Nic
from tuneagent.model.view import View
from tuneagent.model.virtio import Feature

NAME = "event-index-off"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC, from the negotiated features; one sample is enough."""
    return tuple(_nic(view, nic) for nic in virtio_nics(view))


def _nic(view: View, nic: Nic) -> Judgement:
    device = device_of(view, nic)
    on = device.has(Feature.RING_EVENT_IDX) if device is not None else None
    if device is None or on is None:
        return Unjudged(NAME, nic.name, f"the features of {nic.name} are not known")
    evidence = (
        Evidence("VIRTIO_RING_F_EVENT_IDX", "negotiated" if on else "absent", "", sources.features(nic.virtio)),
        Evidence(
            "VIRTIO_F_RING_PACKED",
            "negotiated" if device.has(Feature.RING_PACKED) else "absent",
            "",
            sources.features(nic.virtio),
        ),
    )
    return (
        Clear(NAME, nic.name, evidence) if on else _finding(nic, evidence, packed=bool(device.has(Feature.RING_PACKED)))
    )


def _finding(nic: Nic, evidence: tuple[Evidence, ...], *, packed: bool) -> Finding:
    ring = "The ring is packed; there the same bit allows to ask for an event at one descriptor. " if packed else ""
    return Finding(
        NAME,
        nic.name,
        Severity.WARNING,
        f"{nic.name} runs without the event index",
        "Without VIRTIO_RING_F_EVENT_IDX the host interrupts for each used buffer until the driver switches interrupts "
        f"off, and the guest notifies in the same way. {ring}It is chosen when the device is probed: the hypervisor's "
        "domain definition switches it on, not the guest.",
        evidence,
    )
