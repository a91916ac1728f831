"""Small trees of block devices, each of one kind, and the running machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tuneagent.machine import journal_disk
from tuneagent.machine.journal_disk import DiskInterrupts, interrupts, of_devices
from tuneagent.machine.live import Live
from tuneagent.machine.sysroot import Sysroot

PCI = "/sys/devices/pci0000:00"
TABLE = """\
            CPU0       CPU1
  11:         70         71  IO-APIC  11-fasteoi   uhci_hcd, virtio3
  24:          1          2  PCI-MSIX-0000:00:02.0   0-edge      virtio1-config
  25:          3          4  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
  26:          5          6  PCI-MSIX-0000:00:03.0   0-edge      virtio10-input.0
  27:          7          8  PCI-MSI   524288-edge      nvme0q0
  28:          9         10  PCI-MSI   524289-edge      nvme0q1
  29:         11         12  PCI-MSIX-0000:02:00.0   0-edge      nvme1q0
  30:         13         14  PCI-MSI-0000:00:1f.2   0-edge      ahci[0000:00:1f.2]
  31:         15         16  GIC  47-edge      virtio0
  12:         17         18  IO-APIC  12-fasteoi   megasas
  13:         19         20  IO-APIC  13-fasteoi
"""


class Tree:
    """Files below a root that are there as soon as they are named."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file("/proc/interrupts", TABLE)

    def file(self, path: str, text: str = "") -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def link(self, path: str, target: str) -> str:
        link = self.root / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        (self.root / target.lstrip("/")).mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
        return path

    def block(self, number: str, device: str) -> str:
        return self.link(f"/sys/dev/block/{number}", device)

    def vectors(self, function: str, *irqs: int) -> None:
        for irq in irqs:
            self.file(f"{function}/msi_irqs/{irq}", "msix\n")

    def found(self, *devices: str) -> DiskInterrupts:
        return of_devices(Sysroot(str(self.root)), *devices)


@pytest.fixture(name="tree")
def made(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def known(*irqs: int) -> DiskInterrupts:
    return DiskInterrupts(frozenset(irqs))


def test_a_virtio_disk_and_its_partition(tree: Tree) -> None:
    vda = f"{PCI}/0000:00:02.0/virtio1/block/vda"
    tree.vectors(f"{PCI}/0000:00:02.0", 24, 25)
    tree.file(f"{vda}/vda1/partition", "1\n")
    assert tree.found(tree.block("254:0", vda)) == known(24, 25)
    assert tree.found(tree.block("254:1", f"{vda}/vda1")) == known(24, 25)


def test_a_virtio_disk_of_a_kernel_that_lists_no_vectors(tree: Tree) -> None:
    disk = tree.block("254:0", f"{PCI}/0000:00:02.0/virtio1/block/vda")
    assert tree.found(disk) == known(24, 25)


def test_a_virtio_disk_that_shares_a_line(tree: Tree) -> None:
    assert tree.found(tree.block("254:0", f"{PCI}/0000:00:05.0/virtio3/block/vda")) == known(11)


def test_a_virtio_disk_that_is_not_on_pci(tree: Tree) -> None:
    assert tree.found(tree.block("254:0", "/sys/devices/platform/a000.virtio_mmio/virtio0/block/vda")) == known(31)


def test_a_disk_behind_a_virtio_host_adapter(tree: Tree) -> None:
    tree.vectors(f"{PCI}/0000:00:02.0", 24, 25)
    scsi = f"{PCI}/0000:00:02.0/virtio1/host0/target0:0:0/0:0:0:0/block/sda"
    assert tree.found(tree.block("8:0", scsi)) == known(24, 25)


def test_the_nearest_function_and_not_the_bridge_above_it(tree: Tree) -> None:
    tree.vectors(f"{PCI}/0000:00:1c.0", 40)
    tree.vectors(f"{PCI}/0000:00:1c.0/0000:01:00.0", 27, 28)
    nvme = f"{PCI}/0000:00:1c.0/0000:01:00.0/nvme/nvme0/nvme0n1"
    assert tree.found(tree.block("259:0", nvme)) == known(27, 28)


def test_a_controller_that_lists_no_vectors_is_known_by_its_handlers_or_chip(tree: Tree) -> None:
    assert tree.found(tree.block("259:0", f"{PCI}/0000:01:00.0/nvme/nvme0/nvme0n1")) == known(27, 28)
    assert tree.found(tree.block("8:0", f"{PCI}/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda")) == known(30)


@pytest.mark.parametrize(
    ("pin", "expected"),
    [
        ("12\n", frozenset({12})),
        ("13\n", frozenset()),
        ("0\n", frozenset()),
        ("14\n", frozenset()),
        ("\n", frozenset()),
    ],
)
def test_a_controller_with_a_pin_only(tree: Tree, pin: str, expected: frozenset[int]) -> None:
    tree.file(f"{PCI}/0000:03:00.0/irq", pin)
    found = tree.found(tree.block("8:0", f"{PCI}/0000:03:00.0/host1/target1:2:0/1:2:0:0/block/sda"))
    assert found.irqs == expected
    assert bool(found.unknown) is not bool(expected)


def test_all_disks_below_device_mapper_on_raid(tree: Tree) -> None:
    nvme0 = f"{PCI}/0000:01:00.0/nvme/nvme0/nvme0n1"
    nvme1 = f"{PCI}/0000:02:00.0/nvme/nvme1/nvme1n1"
    dm, md = "/sys/devices/virtual/block/dm-0", "/sys/devices/virtual/block/md127"
    for disk in (nvme0, nvme1):
        tree.file(f"{disk}/{disk[-7:]}p2/partition", "2\n")
        tree.link(f"{md}/slaves/{disk[-7:]}p2", f"{disk}/{disk[-7:]}p2")
    tree.link(f"{dm}/slaves/md127", md)
    assert tree.found(tree.block("253:0", dm)) == known(27, 28, 29)


def test_all_paths_of_a_disk_of_several_controllers(tree: Tree) -> None:
    subsystem = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0"
    tree.link(f"{subsystem}/nvme0", f"{PCI}/0000:01:00.0/nvme/nvme0")
    tree.link(f"{subsystem}/nvme1", f"{PCI}/0000:02:00.0/nvme/nvme1")
    assert tree.found(tree.block("259:0", f"{subsystem}/nvme0n1")) == known(27, 28, 29)


def test_a_disk_in_memory_has_none(tree: Tree) -> None:
    assert tree.found(tree.block("253:0", "/sys/devices/virtual/block/zram0")) == known()


@pytest.mark.parametrize(
    "device",
    ["/sys/devices/virtual/block/loop0", "/sys/devices/vbd-51712/block/xvda", f"{PCI}/0000:09:00.0/nvme/nvme9/nvme9n1"],
)
def test_what_shows_no_interrupt_is_unknown_and_not_none(tree: Tree, device: str) -> None:
    found = tree.found(tree.block("7:0", device))
    assert not found.irqs
    assert found.unknown.startswith(device.rsplit("/", 1)[1])


def test_one_unknown_leg_hides_no_known_one(tree: Tree) -> None:
    md = "/sys/devices/virtual/block/md0"
    tree.link(f"{md}/slaves/nvme0n1", f"{PCI}/0000:01:00.0/nvme/nvme0/nvme0n1")
    tree.link(f"{md}/slaves/nbd0", "/sys/devices/virtual/block/nbd0")
    found = tree.found(tree.block("9:0", md))
    assert found.irqs == {27, 28}
    assert "nbd0" in found.unknown


def test_a_device_that_sysfs_does_not_have_is_unknown(tree: Tree) -> None:
    found = tree.found("/sys/dev/block/254:9")
    assert not found.irqs
    assert "/sys/dev/block/254:9" in found.unknown


@pytest.mark.parametrize("table", [None, "", "no table\n"])
def test_without_the_table_a_disk_is_unknown(tree: Tree, table: str | None) -> None:
    if table is None:
        (tree.root / "proc/interrupts").unlink()
    else:
        tree.file("/proc/interrupts", table)
    assert "/proc/interrupts" in tree.found(tree.block("254:0", f"{PCI}/0000:00:02.0/virtio1/block/vda")).unknown


def test_rings_of_devices_end(tree: Tree) -> None:
    one, other = "/sys/devices/virtual/block/dm-0", "/sys/devices/virtual/block/dm-1"
    tree.link(f"{one}/slaves/dm-1", other)
    tree.link(f"{other}/slaves/dm-0", one)
    assert tree.found(tree.block("253:0", one)) == known()


def test_more_devices_than_anybody_has_are_unknown(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_disk, "MOST_DEVICES", 3)
    md = "/sys/devices/virtual/block/md0"
    for number in range(4):
        tree.link(f"{md}/slaves/ram{number}", f"/sys/devices/virtual/block/ram{number}")
    assert "more than 3" in tree.found(tree.block("9:0", md)).unknown


def root_disk() -> re.Match[str] | None:
    device = Path("/").stat().st_dev
    path = os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    return re.search(r"/(virtio[0-9]+)/block/", path)


@pytest.mark.skipif(root_disk() is None, reason="the root file system lies on no virtio disk")
def test_the_running_machines_virtio_disk_has_the_interrupts_that_its_table_shows() -> None:
    disk = root_disk()
    assert disk is not None
    lines = Path("/proc/interrupts").read_text().splitlines()
    shown = {int(line.split(":")[0]) for line in lines if re.search(rf"\s{disk[1]}(-|,|$)", line)}
    assert shown
    assert interrupts(Live(locks=False), "/") == DiskInterrupts(frozenset(shown))
    assert interrupts(Live(locks=False), "/not/yet/made") == DiskInterrupts(frozenset(shown))


def test_the_running_machines_memory_is_no_disk_and_proc_is_unknown() -> None:
    assert interrupts(Live(locks=False), "/dev/shm") == known()  # noqa: S108 - nothing is written there
    assert "proc" in interrupts(Live(locks=False), "/proc/self").unknown


def test_an_impossible_path_is_unknown() -> None:
    assert interrupts(Live(locks=False), "/x\0y").unknown
