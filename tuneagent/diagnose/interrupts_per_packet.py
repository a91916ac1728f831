"""interrupts-per-packet: under load, a receive interrupt for too many of the packets."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.load import busiest_rx_packets_per_sec, needs
from tuneagent.diagnose.subjects import device_of, no_rates, quiet, virtio_nics
from tuneagent.diagnose.thresholds import (
    LOAD_PACKETS_PER_SEC_PER_QUEUE,
    MIN_PACKETS_PER_SEC,
    RX_INTERRUPTS_PER_PACKET,
)
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.nic import Nic
from tuneagent.model.view import NicRate, View
from tuneagent.model.virtio import Feature

NAME = "interrupts-per-packet"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC: few interrupts are well at any load, many only mean something under load."""
    return tuple(_nic(view, nic) for nic in virtio_nics(view))


def _nic(view: View, nic: Nic) -> Judgement:
    rate = view.nics.get(nic.name)
    return no_rates(view, NAME, nic.name) if view.before is None or rate is None else _rated(view, nic, rate)


def _rated(view: View, nic: Nic, rate: NicRate) -> Judgement:
    packets, ratio, metric = _ratio(rate)
    if packets is None:
        return Unjudged(NAME, nic.name, f"the packets of {nic.name} were not counted in both samples")
    if packets < MIN_PACKETS_PER_SEC:
        return quiet(NAME, nic.name, needs(f"{figure(packets)} packets/s"))
    if ratio is None:
        return Unjudged(NAME, nic.name, f"the interrupts of {nic.name} were not counted in both samples")
    evidence = _evidence(nic, metric, ratio, packets)
    if ratio < RX_INTERRUPTS_PER_PACKET:
        return Clear(NAME, nic.name, evidence)
    busiest = busiest_rx_packets_per_sec(rate)
    if busiest is None or busiest < LOAD_PACKETS_PER_SEC_PER_QUEUE:
        return _one_connection(nic, ratio, busiest)
    return _finding(view, nic, ratio, packets, evidence)


def _ratio(rate: NicRate) -> tuple[float | None, float | None, str]:
    """Packets a second, interrupts a packet and the metric's name; both directions where vectors are shared."""
    if rate.rx_interrupts_per_packet is None and rate.interrupts_per_packet is not None:
        return rate.packets_per_sec, rate.interrupts_per_packet, "interrupts_per_packet"
    return rate.rx_packets_per_sec, rate.rx_interrupts_per_packet, "rx_interrupts_per_packet"


def _one_connection(nic: Nic, ratio: float, busiest: float | None) -> Unjudged:
    seen = "unknown" if busiest is None else figure(busiest)
    return quiet(
        NAME,
        nic.name,
        f"{figure(ratio)} interrupts a packet is normal for one connection a queue; the busiest queue had {seen} "
        f"packets/s, needs {figure(LOAD_PACKETS_PER_SEC_PER_QUEUE)}",
    )


def _evidence(nic: Nic, metric: str, ratio: float, packets: float) -> tuple[Evidence, ...]:
    return (
        Evidence(metric, ratio, "", f"{sources.INTERRUPTS}, {sources.statistics(nic.name)}"),
        Evidence("packets_per_sec", packets, "1/s", sources.statistics(nic.name)),
        Evidence(
            "napi_defer_hard_irqs", nic.napi_defer_hard_irqs, "", f"/sys/class/net/{nic.name}/napi_defer_hard_irqs"
        ),
    )


def _finding(view: View, nic: Nic, ratio: float, packets: float, evidence: tuple[Evidence, ...]) -> Finding:
    device = device_of(view, nic)
    index = {True: "is on", False: "is off, which explains it", None: "is unknown"}[
        device.has(Feature.RING_EVENT_IDX) if device is not None else None
    ]
    return Finding(
        NAME,
        nic.name,
        Severity.WARNING,
        f"{nic.name} takes {figure(ratio)} interrupts a packet under load",
        f"{figure(ratio)} interrupts a packet at {figure(packets)} packets/s, where {RX_INTERRUPTS_PER_PACKET:.2f} or "
        f"fewer are usual: each is an injection by the host and an interruption of the guest. The event index {index}.",
        evidence,
    )
