"""Ways to spoil a file of a tree, and the parts of a snapshot that may then change."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from enum import Enum
from pathlib import Path

from tuneagent.model.snapshot import Snapshot


class Damage(Enum):
    """What lies in the place of a file."""

    NOTHING = "nothing"
    EMPTY = "empty"
    BYTES = "64 random bytes"
    HALF = "truncated"
    ESCAPES = "escape sequences"
    DIRECTORY = "a directory"
    FIFO = "a FIFO"
    HUGE = "a number of 6000 digits"


PARTS = {
    "/proc/interrupts": {"interrupts", "irqs", "nics"},
    "/proc/irq": {"irqs"},
    "/sys/kernel/irq": {"irqs"},
    "/proc/net/softnet_stat": {"softnet"},
    "/proc/softirqs": {"softirqs"},
    "/proc/stat": {"cpu_times"},
    "/proc/net": {"protocols"},
    "/proc/cmdline": {"cpus"},
    "/proc/self/status": {"cpus"},
    "/sys/devices/system/cpu/online": {"cpus", "softnet"},
    "/sys/devices/system/cpu": {"cpus"},
    "/sys/devices/system/node": {"cpus"},
    "/proc/self/cgroup": {"identity"},
    "/proc/sys": {"identity"},
    "/proc/cpuinfo": {"identity"},
    "/sys/class/dmi": {"identity"},
    "/sys/devices/system/clocksource": {"identity"},
    "/proc": {"irqbalance"},
    "/etc/default/irqbalance": {"irqbalance"},
    "/run": {"irqbalance"},
    "/captured/clock.json": {"clock"},
    "/captured/units.json": {"irqbalance"},
    "/captured/lock-contention.json": {"contention"},
    "/captured": {"nics"},
    "/sys/devices/pci0000:00/0000:00:03.0/msi_irqs": {"irqs"},
    "/sys/devices/pci0000:00/0000:00:03.0/virtio0/device": {"virtio", "irqs", "nics"},
    "/sys/devices/pci0000:00/0000:00:03.0/virtio0/features": {"virtio"},
    "/sys/devices": {"nics"},
}
"""The parts that a file is for, by the longest beginning of its path."""


def parts(path: str) -> set[str]:
    """The parts of a snapshot that rest on a file."""
    return PARTS[max((start for start in PARTS if path.startswith(start)), key=len)]


def changed(before: Snapshot, after: Snapshot) -> set[str]:
    """The parts in which two snapshots differ; what is missing is compared by who asks."""
    names = {field.name for field in fields(Snapshot)} - {"missing"}
    return {name for name in names if getattr(before, name) != getattr(after, name)}


@contextmanager
def damaged(root: Path, path: str, damage: Damage, chance: random.Random) -> Iterator[None]:
    """The file of a tree spoilt for a while."""
    file = root / path.lstrip("/")
    kept, mode = file.read_bytes(), file.stat().st_mode
    file.unlink()
    try:
        _put(file, kept, damage, chance)
        yield
    finally:
        if file.is_dir():
            shutil.rmtree(file)
        else:
            file.unlink(missing_ok=True)
        file.write_bytes(kept)
        file.chmod(mode)


def _put(file: Path, kept: bytes, damage: Damage, chance: random.Random) -> None:
    contents = {
        Damage.EMPTY: b"",
        Damage.BYTES: b"\x80" + chance.randbytes(63),  # never UTF-8: a continuation byte cannot come first
        Damage.HALF: kept[: len(kept) // 2],
        Damage.ESCAPES: b"\x1b[31m0\x1b[0m\n",
        Damage.HUGE: b"7" * 6000 + b"\n",
    }
    if damage is Damage.DIRECTORY:
        file.mkdir()
    elif damage is Damage.FIFO:
        os.mkfifo(file)
    elif damage is not Damage.NOTHING:
        file.write_bytes(contents[damage])
