"""Interrupts as things to be placed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.observe.looking import Refusing, gaps_at, look, put
from tests.trees import PCI, Wiring, guest
from tuneagent.machine.recording import Recording
from tuneagent.machine.replay import Replay
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irq import IrqLine
from tuneagent.model.missing import Reason
from tuneagent.observe import irqs, snapshot
from tuneagent.observe.gaps import Gaps
from tuneagent.parse import interrupts as parse_interrupts


def line(root: Path, number: int) -> IrqLine:
    found = look(root).irq(number)
    assert found is not None
    return found


def test_a_queue_interrupt(tmp_path: Path) -> None:
    guest(tmp_path, affinity={"output.1": "1,3"})
    put(tmp_path, "/proc/irq/34/affinity_hint", "00000000,00000002\n")
    put(tmp_path, "/proc/irq/34/node", "1\n")
    assert line(tmp_path, 34) == IrqLine(
        34,
        ("virtio0-output.1",),
        f"PCI-MSIX-{PCI}",
        "4",
        "edge",
        PCI,
        CpuSet.of([1, 3]),
        CpuSet.of([1]),
        CpuSet.of([1]),
        1,
        movable=True,
    )


def test_no_hint_and_no_node_are_none(tmp_path: Path) -> None:
    seen = line(guest(tmp_path), 33)
    assert (seen.affinity_hint, seen.node) == (None, None)


def test_the_kernel_s_word_that_it_cannot_be_moved(tmp_path: Path) -> None:
    seen = line(guest(tmp_path, fixed=frozenset({"input.2"})), 35)
    assert seen.movable is False
    assert "managed" in (seen.movable_reason or "")
    assert line(tmp_path, 36).movable is True


def test_kernels_without_the_list_files_have_masks(tmp_path: Path) -> None:
    guest(tmp_path, cpus=40, queues=40)
    for name in ("smp_affinity_list", "effective_affinity_list"):
        (tmp_path / f"proc/irq/101/{name}").unlink()
    seen = line(tmp_path, 101)
    assert (tmp_path / "proc/irq/101/smp_affinity").read_text() == "8,00000000\n"
    assert (seen.affinity, seen.effective_affinity, seen.movable) == (CpuSet.of([35]), CpuSet.of([35]), True)


def test_no_effective_affinity_is_unknown_and_not_the_mask(tmp_path: Path) -> None:
    guest(tmp_path, affinity={"input.0": "0-3"})
    for name in ("effective_affinity", "effective_affinity_list"):
        (tmp_path / f"proc/irq/31/{name}").unlink()
    seen = line(tmp_path, 31)
    assert (seen.affinity, seen.effective_affinity) == (CpuSet.of(range(4)), None)


def test_an_interrupt_that_was_never_set_up_goes_nowhere(tmp_path: Path) -> None:
    put(guest(tmp_path), "/proc/irq/31/effective_affinity_list", "\n")
    assert line(tmp_path, 31).effective_affinity is None
    assert look(tmp_path).missing == ()


def test_msi_irqs_name_the_device_where_the_chip_does_not(tmp_path: Path) -> None:
    """Before kernel 6.2 the chip is called PCI-MSI for every device."""
    guest(tmp_path)
    text = (tmp_path / "proc/interrupts").read_text().replace(f"PCI-MSIX-{PCI}", "PCI-MSI 49152")
    put(tmp_path, "/proc/interrupts", text)
    assert line(tmp_path, 31).pci_address == PCI


def test_the_chip_names_the_device_where_msi_irqs_is_empty(tmp_path: Path) -> None:
    """Kernels 5.17 to 5.19 show no msi_irqs."""
    guest(tmp_path)
    for file in (tmp_path / f"sys/devices/pci0000:00/{PCI}/msi_irqs").iterdir():
        file.unlink()
    assert line(tmp_path, 31).pci_address == PCI


@pytest.mark.parametrize(("wiring", "number"), [(Wiring.MMIO, 30), (Wiring.LEGACY_LINE, 11)])
def test_lines_without_an_address(tmp_path: Path, wiring: Wiring, number: int) -> None:
    assert line(guest(tmp_path, wiring=wiring, queues=1), number).pci_address is None


def test_handlers_from_sysfs_where_the_row_names_none(tmp_path: Path) -> None:
    guest(tmp_path, queues=1)
    text = (tmp_path / "proc/interrupts").read_text().replace("      virtio0-input.0", "")
    put(tmp_path, "/proc/interrupts", text)
    seen = look(tmp_path)
    assert line(tmp_path, 31).actions == ("virtio0-input.0",)
    assert [irq.irq for irq in seen.virtio_nics[0].queue_irqs] == [31, 32, 30]


@pytest.mark.parametrize("name", ["smp_affinity_list", "effective_affinity_list", "affinity_hint", "node"])
@pytest.mark.parametrize("text", ["x", "-", "1" * 5000, "\x1b[31m"])
def test_nonsense_is_unknown_and_named(tmp_path: Path, name: str, text: str) -> None:
    path = f"/proc/irq/32/{name}"
    put(guest(tmp_path), path, text)
    seen = look(tmp_path)
    (gap,) = gaps_at(seen, path)
    assert gap.reason is Reason.MALFORMED
    assert gap.what.startswith("irq.32.")
    assert gap.detail.isprintable()


def test_an_affinity_that_may_not_be_read_is_unknown_and_so_is_whether_it_can_be_moved(tmp_path: Path) -> None:
    names = [f"/proc/irq/31/{name}" for name in ("smp_affinity_list", "smp_affinity")]
    seen = snapshot(Refusing(guest(tmp_path), *names))
    found = seen.irq(31)
    assert found is not None
    assert (found.affinity, found.movable) == (None, None)
    assert gaps_at(seen, names[0])[0].reason is Reason.PERMISSION


def test_a_recorded_name_of_any_length_in_msi_irqs_is_no_number(tmp_path: Path) -> None:
    recording = Recording(Sysroot(str(guest(tmp_path))))
    plain = snapshot(recording)
    sample = recording.sample()
    sample["directories"][f"/sys/devices/pci0000:00/{PCI}/msi_irqs"].append("9" * 6000)
    sample["directories"]["/sys/devices/system/node"].append("node" + "9" * 6000)
    seen = snapshot(Replay(sample))
    assert seen.irqs == plain.irqs
    assert seen.cpus == plain.cpus


def test_of_a_flood_of_interrupts_those_of_virtio_are_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(irqs, "MOST_LINES", 2)
    names = ("timer", "virtio0-input.0", "rtc0", "virtio0-output.0")
    rows = [f" {number}: {number + 4} PCI-MSI {number}-edge {name}" for number, name in enumerate(names, 1)]
    table = parse_interrupts.parse("CPU0\n" + "\n".join(rows) + "\n")
    gaps = Gaps(Replay({}))

    lines = irqs.observe(gaps, table, ())

    assert [line.irq for line in lines] == [2, 4]
    assert "only 2 of 4" in next(one.detail for one in gaps.missing if one.what == "irq.placement")
