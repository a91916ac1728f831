"""kicks-per-packet: under load, a notification of the host for too many of the packets sent."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.load import busiest_tx_packets_per_sec, needs
from tuneagent.diagnose.subjects import no_rates, quiet, virtio_nics
from tuneagent.diagnose.thresholds import LOAD_PACKETS_PER_SEC_PER_QUEUE, MIN_PACKETS_PER_SEC, TX_KICKS_PER_PACKET
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.nic import Nic
from tuneagent.model.view import NicRate, View

NAME = "kicks-per-packet"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC. Kicks are what the driver sent, by its own statistics; not all of them exit."""
    return tuple(_nic(view, nic) for nic in virtio_nics(view))


def _nic(view: View, nic: Nic) -> Judgement:
    rate = view.nics.get(nic.name)
    if view.before is None or rate is None:
        return no_rates(view, NAME, nic.name)
    if rate.tx_packets_per_sec is None:
        return Unjudged(NAME, nic.name, f"the packets that {nic.name} sent were not counted in both samples")
    if rate.tx_packets_per_sec < MIN_PACKETS_PER_SEC:
        return quiet(NAME, nic.name, needs(f"{figure(rate.tx_packets_per_sec)} packets/s sent"))
    if rate.tx_kicks_per_packet is None:
        return Unjudged(NAME, nic.name, f"the driver of {nic.name} reports no notifications (tx_kicks)")
    return _loaded(nic, rate, rate.tx_packets_per_sec, rate.tx_kicks_per_packet)


def _loaded(nic: Nic, rate: NicRate, packets: float, ratio: float) -> Judgement:
    evidence = (
        Evidence("tx_kicks_per_packet", ratio, "", f"{sources.KICKS}, {sources.statistics(nic.name)}"),
        Evidence("tx_packets_per_sec", packets, "1/s", sources.statistics(nic.name)),
        Evidence("rx_kicks_per_packet", rate.rx_kicks_per_packet, "", sources.KICKS),
    )
    if ratio < TX_KICKS_PER_PACKET:
        return Clear(NAME, nic.name, evidence)
    busiest = busiest_tx_packets_per_sec(rate) or 0.0
    if busiest < LOAD_PACKETS_PER_SEC_PER_QUEUE:
        return quiet(
            NAME,
            nic.name,
            f"{figure(ratio)} kicks a packet is normal for one connection a queue; the busiest queue sent "
            f"{figure(busiest)} packets/s, needs {figure(LOAD_PACKETS_PER_SEC_PER_QUEUE)}",
        )
    return Finding(
        NAME,
        nic.name,
        Severity.WARNING,
        f"{nic.name} notifies the host {figure(ratio)} times a packet sent",
        f"The driver sent {figure(ratio)} notifications a packet at {figure(packets)} packets/s, where under "
        f"{TX_KICKS_PER_PACKET} is usual under load. Each may leave the guest (a VM exit).",
        evidence,
    )
