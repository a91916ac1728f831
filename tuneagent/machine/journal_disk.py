"""The interrupts of the disk that a path lies on: whoever moves those may find that the journal does not reach it.

From the path's device number (``/sys/dev/block``) through partitions, device-mapper and RAID (``slaves``) to the PCI
function or virtio device that each disk hangs on (Documentation/ABI/testing/sysfs-bus-pci ``msi_irqs``, ``irq``).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from tuneagent.machine.source import Source
from tuneagent.model.counters import InterruptRow
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.missing import Reason
from tuneagent.parse import interrupts as interrupt_table
from tuneagent.parse import mountinfo

INTERRUPTS = "/proc/interrupts"
MOUNTS = "/proc/self/mountinfo"
BTRFS = "/sys/fs/btrfs"
IN_MEMORY = frozenset({"tmpfs", "ramfs", "rootfs", "devtmpfs"})
MOST_DEVICES = 256
"""Block devices looked at for one path: a RAID of 64 disks on partitions has 129."""

_MOUNT_ID = re.compile(r"^mnt_id:\s*([0-9]{1,10})$", re.MULTILINE)
_IRQ = re.compile(r"[1-9][0-9]{0,9}")
_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_OWNER = re.compile(rf"{_PCI.pattern}|virtio[0-9]{{1,9}}")
_NAMES_HANDLERS = re.compile(r"(virtio|nvme)[0-9]{1,9}")
_NVME = re.compile(r"nvme[0-9]{1,9}")
_MEMORY_DISK = re.compile(r"(zram|ram)[0-9]+")


@dataclass(frozen=True, slots=True)
class DiskInterrupts:
    """What is known of the interrupts that a path's disks need."""

    irqs: frozenset[int]
    unknown: str = ""
    """Why there may be others; empty where these are all, and none means that there are none."""


def interrupts(source: Source, path: str) -> DiskInterrupts:
    """Of the disks below ``path`` on this machine, whose files ``source`` reads; never raises.

    What does not exist yet lies where the nearest directory above it does.
    """
    try:
        fd = _nearest(path)
    except OSError as error:
        return DiskInterrupts(frozenset(), f"{path}: {error.strerror or error}")
    except ValueError as error:  # a NUL, or half a surrogate pair
        return DiskInterrupts(frozenset(), f"{path!a}: {error}")
    try:
        device = os.fstat(fd).st_dev
        if os.major(device):
            return of_devices(source, _block(device))
        return _of_mount(source, fd)
    finally:
        os.close(fd)


def of_devices(source: Source, *devices: str) -> DiskInterrupts:
    """Of block devices, each a link below /sys: ``/sys/dev/block/8:1``; never raises."""
    look = _Look(source)
    try:
        look.follow([source.link(device) for device in devices])
    except (SourceError, ParseError) as error:
        look.unknown.append(str(error))
    return DiskInterrupts(frozenset(look.irqs), "; ".join(dict.fromkeys(look.unknown)))


def _block(device: int) -> str:
    return f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"


def _nearest(path: str) -> int:
    here = os.path.abspath(path)
    while True:
        try:
            return os.open(here, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            if here == "/":
                raise
            here = os.path.dirname(here)


def _of_mount(source: Source, fd: int) -> DiskInterrupts:
    """Of a file system whose device number is none of a disk: the mount tells what it is (proc_pid_mountinfo(5))."""
    try:
        found = _MOUNT_ID.search(source.read(f"/proc/self/fdinfo/{fd}").text)
        mount = mountinfo.parse(source.read(MOUNTS).text).get(int(found[1])) if found else None
    except (SourceError, ParseError) as error:
        return DiskInterrupts(frozenset(), str(error))
    if mount is None:
        return DiskInterrupts(frozenset(), f"{MOUNTS}: the mount that it lies on is not there")
    if mount.type in IN_MEMORY:
        return DiskInterrupts(frozenset())
    if mount.type == "btrfs":
        return _of_btrfs(source, mount.source)
    return DiskInterrupts(frozenset(), f"it lies on {mount.type}, which tells no disk")


def _of_btrfs(source: Source, special: str) -> DiskInterrupts:
    """A btrfs lies on all of its devices, of which the mount names one (fs/btrfs/sysfs.c ``devices``)."""
    try:
        device = os.stat(special).st_rdev
        name = source.link(_block(device)).rsplit("/", 1)[1]
        for uuid in source.names(BTRFS):
            names = source.names(f"{BTRFS}/{uuid}/devices") if "-" in uuid else ()
            if name in names:
                return of_devices(source, *(f"{BTRFS}/{uuid}/devices/{one}" for one in names))
    except (SourceError, OSError) as error:
        return DiskInterrupts(frozenset(), f"{special}: {error}")
    return DiskInterrupts(frozenset(), f"{BTRFS} knows no file system on {special}")


class _Look:
    """A walk down from block devices, with what it has found so far."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._rows: tuple[InterruptRow, ...] | None = None
        self.irqs: set[int] = set()
        self.unknown: list[str] = []

    def follow(self, devices: list[str]) -> None:
        """Down from these, each a resolved path below /sys/devices. Raises SourceError or ParseError."""
        seen: set[str] = set()
        while devices:
            device = devices.pop()
            if device in seen:
                continue
            if len(seen) >= MOST_DEVICES:
                self.unknown.append(f"more than {MOST_DEVICES} block devices lie below")
                return
            seen.add(device)
            devices.extend(self._below(device))

    def _below(self, device: str) -> list[str]:
        """The devices that this one lies on; of one that lies on none the interrupts are taken down."""
        parent, name = device.rsplit("/", 1)
        if self._has(f"{device}/partition"):
            return [parent]
        slaves = [f"{device}/slaves/{slave}" for slave in self._names(f"{device}/slaves")]
        if "/nvme-subsystem/" in device:  # stands beside links to its controllers (drivers/nvme/host/multipath.c)
            slaves += [f"{parent}/{beside}" for beside in self._names(parent) if _NVME.fullmatch(beside)]
        if not slaves and not _MEMORY_DISK.fullmatch(name):
            self._take(device, name)
        return [self._source.link(slave) for slave in slaves[:MOST_DEVICES]]

    def _take(self, device: str, name: str) -> None:
        parts = device.split("/")
        end = next((end for end in range(len(parts), 0, -1) if _OWNER.fullmatch(parts[end - 1])), None)
        if end is None:
            self.unknown.append(f"{name}: lies on neither PCI nor virtio")
            return
        found = self._named(parts[end - 1 :])
        # A virtio device lies in the directory of its PCI function, and elsewhere on other transports.
        directory = next(("/".join(parts[:at]) for at in (end, end - 1) if _PCI.fullmatch(parts[at - 1])), None)
        if directory is not None:
            found |= self._of_pci(directory)
        self.irqs |= found
        if not found:
            self.unknown.append(f"{name}: {parts[end - 1]} shows no interrupt")

    def _named(self, parts: list[str]) -> frozenset[int]:
        """Of handlers that are called after one of these: ``virtio1-req.0``, ``virtio1``, ``nvme0q1``."""
        names = [part for part in parts if _NAMES_HANDLERS.fullmatch(part)]
        rows = self._table()
        return frozenset(row.irq for row in rows if row.irq is not None and _is_called_after(row, names))

    def _of_pci(self, directory: str) -> frozenset[int]:
        vectors = frozenset(int(name) for name in self._names(f"{directory}/msi_irqs") if _IRQ.fullmatch(name))
        if vectors:
            return vectors
        address = directory.rsplit("/", 1)[1]  # from 5.17 to 5.19 msi_irqs may be empty; a chip has its name since 6.2
        rows = self._table()
        found = frozenset(
            row.irq for row in rows if row.irq is not None and interrupt_table.pci_address(row.chip) == address
        )
        return found or self._pin(directory, rows)

    def _pin(self, directory: str, rows: tuple[InterruptRow, ...]) -> frozenset[int]:
        """The interrupt of the function's pin, where somebody handles it."""
        if not self._has(f"{directory}/irq"):
            return frozenset()
        text = self._source.read(f"{directory}/irq").text.strip()
        return frozenset(row.irq for row in rows if row.label == text and row.irq and row.actions)

    def _table(self) -> tuple[InterruptRow, ...]:
        if self._rows is None:
            try:
                self._rows = interrupt_table.parse(self._source.read(INTERRUPTS).text).rows
            except ParseError as error:
                raise SourceError(INTERRUPTS, error.reason, str(error)) from error
        return self._rows

    def _names(self, directory: str) -> tuple[str, ...]:
        try:
            return self._source.names(directory)
        except SourceError as error:
            if error.reason is Reason.ABSENT:
                return ()
            raise

    def _has(self, path: str) -> bool:
        try:
            self._source.writable_mode(path)
        except SourceError as error:
            if error.reason is Reason.ABSENT:
                return False
            raise
        return True


def _is_called_after(row: InterruptRow, names: list[str]) -> bool:
    pairs = ((action, name) for action in row.actions for name in names if action.startswith(name))
    return any(not action[len(name) : len(name) + 1].isdigit() for action, name in pairs)
