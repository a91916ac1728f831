"""How many queue pairs a virtio NIC uses and how many its device offers."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.subjects import device_of
from tuneagent.model.finding import Evidence
from tuneagent.model.nic import Nic
from tuneagent.model.view import View
from tuneagent.model.virtio import Feature


def offered_pairs(view: View, nic: Nic) -> int | None:
    """Queue pairs that the device offers; None when unknown. Without VIRTIO_NET_F_MQ there is one."""
    if nic.channels is not None and nic.channels.pairs_max:
        return nic.channels.pairs_max
    device = device_of(view, nic)
    return 1 if device is not None and device.has(Feature.NET_MQ) is False else None


def evidence(nic: Nic, offered: int | None, online: int) -> tuple[Evidence, ...]:
    """The three numbers that both rules about the number of queues weigh."""
    return (
        Evidence("queue_pairs", nic.queue_pairs, "queues", sources.CHANNELS),
        Evidence("queue_pairs_offered", offered, "queues", sources.CHANNELS),
        Evidence("cpus_online", online, "CPUs", sources.ONLINE),
    )
