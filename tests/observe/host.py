"""A hypervisor with few virtual machines as a tree, each file by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.observe.looking import put
from tuneagent.machine.source import Source, Text
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.hypervisor import Hypervisor
from tuneagent.model.missing import Missing
from tuneagent.model.snapshot import Snapshot
from tuneagent.observe import snapshot

UUID = "4dea22b3-1d52-d8f3-2516-782e98ab3fa0"
KVM = "/sys/kernel/debug/kvm"


def qemu(root: Path, pid: int, uuid: str = UUID, name: str = "web1") -> None:
    """A process of QEMU with a main thread."""
    put(root, f"/proc/{pid}/comm", "qemu-system-x86\n")
    put(root, f"/proc/{pid}/cmdline", f"qemu-system-x86_64\0-name\0guest={name},debug-threads=on\0-uuid\0{uuid}\0")
    thread(root, f"/proc/{pid}", pid, "qemu-system-x86", cpu=3, cpus="0-7", times=(pid * 1000, pid * 10))
    put(root, f"/proc/{pid}/task/{pid}/comm", "qemu-system-x86\n")


def task(root: Path, pid: int, tid: int, name: str, **more: Any) -> None:
    """A thread of a process."""
    put(root, f"/proc/{pid}/task/{tid}/comm", f"{name}\n")
    thread(root, f"/proc/{pid}/task/{tid}", tid, name, **more)


def kernel_thread(root: Path, tid: int, name: str, parent: int = 2, **more: Any) -> None:
    """A process of the kernel."""
    put(root, f"/proc/{tid}/comm", f"{name}\n")
    put(root, f"/proc/{tid}/cmdline", "")
    thread(root, f"/proc/{tid}", tid, name, parent=parent, **more)


def thread(
    root: Path,
    path: str,
    tid: int,
    name: str,
    *,
    cpu: int = 1,
    cpus: str = "0-3",
    times: tuple[int, int] | None = None,
    parent: int = 1,
) -> None:
    run, wait = times or (tid * 1000, tid * 10)
    put(root, f"{path}/stat", f"{tid} ({name}) S {parent} {' '.join(str(field) for field in range(5, 39))} {cpu} 0 0\n")
    put(root, f"{path}/schedstat", f"{run} {wait} 5\n")
    put(root, f"{path}/status", f"Name:\t{name}\nTgid:\t{tid}\nCpus_allowed_list:\t{cpus}\n")


def counters(root: Path, directory: str, **values: int | str) -> None:
    """A directory of KVM's in debugfs."""
    for name, value in values.items():
        put(root, f"{KVM}/{directory}/{name}", f"{value}\n")


def tap(root: Path, name: str, flags: str = "0x5002", **statistics: int) -> None:
    put(root, f"/sys/class/net/{name}/tun_flags", f"{flags}\n")
    put(root, f"/sys/class/net/{name}/ifindex", "17\n")
    put(root, f"/sys/class/net/{name}/tx_queue_len", "1000\n")
    for counter, value in statistics.items():
        put(root, f"/sys/class/net/{name}/statistics/{counter}", f"{value}\n")


def seen(source: Source | Path, previous: Snapshot | None = None, *detail: str) -> Hypervisor:
    """The hypervisor of a tree."""
    found = look(source, previous, *detail).hypervisor
    assert found is not None
    return found


def look(source: Source | Path, previous: Snapshot | None = None, *detail: str) -> Snapshot:
    return snapshot(Sysroot(str(source)) if isinstance(source, Path) else source, previous, frozenset(detail))


def gaps(found: Snapshot, what: str) -> list[Missing]:
    return [gap for gap in found.missing if gap.what == what or gap.what.startswith(f"{what}.")]


class Counting(Sysroot):
    """A tree that remembers what was read of it."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self.asked: list[str] = []

    def read(self, path: str) -> Text:
        self.asked.append(path)
        return super().read(path)

    def names(self, path: str) -> tuple[str, ...]:
        self.asked.append(path)
        return super().names(path)
