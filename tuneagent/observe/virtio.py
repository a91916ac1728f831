"""The virtio bus: every device, its kind, its negotiated features and where it sits."""

from __future__ import annotations

import re

from tuneagent.model.missing import Reason
from tuneagent.model.virtio import Transport, VirtioDevice
from tuneagent.observe.gaps import Gaps
from tuneagent.parse import features, virtio_id

DEVICES = "/sys/bus/virtio/devices"
_NAME = re.compile(r"virtio([0-9]{1,6})")
_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_CCW = re.compile(r"[0-9a-f]\.[0-9a-f]\.[0-9a-f]{4}")
_MMIO = re.compile(r".*virtio[-_]mmio.*|LNRO0005:[0-9a-fA-F]{2,8}")
"""drivers/virtio/virtio_mmio.c: named by a device tree or the command line, or by the ACPI id that it matches."""


def observe(gaps: Gaps) -> tuple[VirtioDevice, ...] | None:
    """All virtio devices in the order of their index; None when the bus cannot be listed, () when it is empty."""
    names = gaps.names("virtio", DEVICES)
    if names is None:
        return None
    return tuple(_device(gaps, name, int(match[1])) for name in names if (match := _NAME.fullmatch(name)))


def _device(gaps: Gaps, name: str, index: int) -> VirtioDevice:
    path = f"{DEVICES}/{name}"
    resolved = gaps.link(path) or ""
    parent = resolved.rsplit("/", 2)[-2] if resolved.count("/") > 1 else None
    driver = gaps.link(f"{path}/driver")
    if not resolved:
        gaps.note(f"virtio.{name}.bus_address", path, Reason.ABSENT, "the device's place in the tree is not linked")
    return VirtioDevice(
        name=name,
        index=index,
        device_id=gaps.parsed(f"virtio.{name}.device_id", f"{path}/device", virtio_id.parse),
        features=gaps.parsed(f"virtio.{name}.features", f"{path}/features", features.parse),
        transport=_transport(gaps, parent, resolved.rsplit("/", 1)[0]),
        bus_address=parent,
        driver=driver.rsplit("/", 1)[-1] if driver else None,
    )


def _transport(gaps: Gaps, parent: str | None, parent_path: str) -> Transport:
    if parent is None:
        return Transport.OTHER
    if _PCI.fullmatch(parent):
        return Transport.PCI
    if _CCW.fullmatch(parent):
        return Transport.CCW
    # A device tree may name the node otherwise (kvmtool: ``10000.virtio``); the driver that is bound tells.
    if _MMIO.fullmatch(parent) or (gaps.link(f"{parent_path}/driver") or "").endswith("/virtio-mmio"):
        return Transport.MMIO
    return Transport.OTHER
