"""Every file of a whole tree spoilt in turn: nothing raises, the file is named, and the rest is seen as before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.observe.damage import Damage, changed, damaged, parts
from tests.trees import Guest, Wiring
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.missing import Missing, Reason
from tuneagent.model.snapshot import Snapshot
from tuneagent.observe import snapshot

WHOLE = Guest(
    cpus=2,
    queues=2,
    vlan=True,
    timeouts={0: 3, 1: 4},
    irqbalance=("/usr/sbin/irqbalance", "--foreground"),
    irqbalance_env='IRQBALANCE_ARGS="--banirq=31"\n',
)
SHOWN = (Damage.BYTES, Damage.ESCAPES)
"""What no file of these may hold, so that it must be told wherever the file is read."""
FREE = ("/proc/1/", "/proc/412/", "/run/", "/proc/cpuinfo", "/sys/devices/pci0000:00/0000:00:03.0/msi_irqs/")
"""Files whose text is free, or whose name alone is looked at."""
UNREAD = ("/vendor", "/effective_affinity", "/smp_affinity", "/actions", "/product_name", "/sys_vendor")
"""Files that are not looked at where another says the same."""
MAY_BE_EMPTY = (
    "/isolated", "/nohz_full", "/cmdline", "/irqbalance", "/cgroup", "cpulist", "/available_clocksource", "/address",
    "/effective_affinity_list",
)  # fmt: skip


def combinations(chance: random.Random, count: int) -> Iterator[tuple[str, Damage]]:
    every = [(path, damage) for path in sorted(WHOLE.files()) for damage in Damage]
    yield from chance.sample(every, min(count, len(every)))


def source_of(path: str) -> str:
    name = path.removeprefix("/captured/")
    if name not in (path, "clock.json"):
        return name.removesuffix(".json")
    return (
        path.replace("/sys/devices/pci0000:00/0000:00:03.0/virtio0/net/", "/sys/class/net/")
        .replace("/sys/devices/virtual/net/", "/sys/class/net/")
        .replace("/sys/devices/pci0000:00/0000:00:03.0/virtio0/", "/sys/bus/virtio/devices/virtio0/")
    )


def about(seen: Snapshot, path: str) -> list[Missing]:
    return [gap for gap in seen.missing if gap.source == source_of(path)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return WHOLE.write(tmp_path_factory.mktemp("whole"))


def test_the_whole_tree_misses_nothing(root: Path) -> None:
    assert snapshot(Sysroot(str(root))).missing == ()


@pytest.mark.parametrize("seed", range(3))
def test_a_spoilt_file_spoils_its_own_part_only(root: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - which combinations, not secrets
    before = snapshot(Sysroot(str(root)))
    for path, damage in combinations(chance, 80):
        with damaged(root, path, damage, chance):
            after = snapshot(Sysroot(str(root)))
        assert changed(before, after) <= parts(path), (path, damage)
        told = about(after, path)
        assert told or not must_tell(path, damage), (path, damage, after.missing)
        assert all(gap.reason is not Reason.NOT_CAPTURED or damage is Damage.NOTHING for gap in told), (path, damage)
    assert snapshot(Sysroot(str(root))) == before


def must_tell(path: str, damage: Damage) -> bool:
    if path.startswith(FREE) or path.endswith(UNREAD):
        return False
    if damage is Damage.EMPTY:
        return not path.endswith(MAY_BE_EMPTY)
    return damage in (*SHOWN, Damage.DIRECTORY, Damage.FIFO)


def test_a_tree_with_nothing_in_it_is_all_gaps(tmp_path: Path) -> None:
    seen = snapshot(Sysroot(str(tmp_path)))
    assert (seen.interrupts, seen.irqs, seen.nics, seen.virtio, seen.softnet, seen.cpu_times) == (None,) * 6
    assert {gap.source for gap in seen.missing} >= {
        "/proc/interrupts",
        "/proc/stat",
        "/sys/class/net",
        "/proc/softirqs",
    }


@pytest.mark.parametrize("wiring", Wiring)
def test_every_wiring_is_seen_whole(tmp_path: Path, wiring: Wiring) -> None:
    seen = snapshot(Sysroot(str(Guest(wiring=wiring).write(tmp_path))))
    assert seen.missing == ()
    assert [nic.name for nic in seen.virtio_nics] == ["eth0"]
    assert {irq.irq for irq in seen.virtio_nics[0].queue_irqs} == {row.irq for row in Guest(wiring=wiring).rows()}
