"""A virtio device: its kind and the features that both sides agreed on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Feature(IntEnum):
    """Feature bits that tuneagent reasons about (include/uapi/linux/virtio_net.h, virtio_ring.h, virtio_config.h)."""

    NET_MQ = 22
    RING_EVENT_IDX = 29
    RING_PACKED = 34
    RING_RESET = 40
    """One queue can be reset without the others, and so given a ring of another size."""
    NET_VQ_NOTF_COAL = 52
    """Interrupts are held back queue by queue, which adaptive coalescing needs."""
    NET_NOTF_COAL = 53
    """The device can hold interrupts back."""


class Transport(StrEnum):
    """How the device is reached, which decides how many interrupts it can have."""

    PCI = "pci"
    MMIO = "mmio"
    CCW = "ccw"
    OTHER = "other"


NET_DEVICE_ID = 1
"""VIRTIO_ID_NET (include/uapi/linux/virtio_ids.h)."""


@dataclass(frozen=True, slots=True)
class VirtioDevice:
    """One entry of /sys/bus/virtio/devices."""

    name: str
    """``virtio2``; the index is the kernel's, stable until the device is probed again."""
    index: int
    device_id: int | None
    """VIRTIO_ID_*: 1 net, 2 block, 3 console, 5 balloon…"""
    features: frozenset[int] | None
    """Bits negotiated (device *and* driver), not those offered."""
    transport: Transport
    bus_address: str | None
    """Parent on its bus: ``0000:00:03.0``, ``virtio-mmio.4``, ``0.0.0001``."""
    driver: str | None

    def has(self, feature: Feature) -> bool | None:
        """Whether a feature was negotiated; None when the features could not be read."""
        return None if self.features is None else feature in self.features
