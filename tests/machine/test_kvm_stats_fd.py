"""KVM's counters from another process's descriptors, against that process's own readings where KVM can be used."""

from __future__ import annotations

import errno
import json
import os
import platform
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.machine import kvm_machine
from tuneagent.machine import kvm_stats_fd
from tuneagent.machine.kvm_stats_fd import KvmStatistics, layout_of
from tuneagent.model.errors import SourceError
from tuneagent.model.hypervisor import KVM_COUNTERS
from tuneagent.model.missing import Reason


def why_not() -> str | None:
    """Why this machine cannot run a virtual machine of two instructions; None where it can."""
    if platform.machine() != "x86_64":
        return "the virtual machine's program is for x86_64"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "no /dev/kvm that we may use"
    done = subprocess.run([sys.executable, kvm_machine.__file__, "1"], input=b"", capture_output=True, check=False)
    return None if done.returncode == 0 else f"KVM does not run: {done.stderr.splitlines()[-1].decode()}"


WHY_NOT = why_not()
needs_kvm = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="duplicates descriptors of a process that changed its user")


class Child:
    """A process with a virtual machine."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.counters = self._told()

    @property
    def pid(self) -> int:
        return self.process.pid

    def turn(self) -> None:
        """Every vCPU leaves to its port once more as often as it did."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.counters = self._told()

    def _told(self) -> list[dict[str, int]]:
        assert self.process.stdout is not None
        told: list[dict[str, int]] = json.loads(self.process.stdout.readline())
        return told


@contextmanager
def machine(*times: int) -> Iterator[Child]:
    command = [sys.executable, kvm_machine.__file__, *map(str, times)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Child(process)
        finally:
            process.kill()


def expected(child: Child) -> dict[str, Any]:
    """The contract's value, from the child's own readings."""
    wanted = [{name: value for name, value in one.items() if name in KVM_COUNTERS} for one in child.counters]
    return {str(child.pid): {"vcpus": {str(number): one for number, one in enumerate(wanted)}}}


def refused(statistics: KvmStatistics, *pids: int) -> SourceError:
    with pytest.raises(SourceError) as caught:
        statistics.read(pids)
    assert caught.value.source == "kvm-statistics"
    return caught.value


@needs_kvm
def test_the_counters_are_those_that_the_process_reads_itself() -> None:
    statistics = KvmStatistics()
    with machine(3, 50, 7) as child, machine(11) as other:
        said = statistics.read([child.pid, other.pid])
        assert said == expected(child) | expected(other)
        exits = [one["exits"] for one in said[str(child.pid)]["vcpus"].values()]
        assert exits[0] >= 3
        assert exits[1] >= 50
        child.turn()
        assert statistics.read([child.pid]) == expected(child)
        grown = [one["exits"] for one in statistics.read([child.pid])[str(child.pid)]["vcpus"].values()]
        assert grown[1] - exits[1] >= 50


@needs_kvm
def test_no_descriptor_is_kept() -> None:
    statistics = KvmStatistics()
    with machine(1, 2) as child:
        before = sorted(Path("/proc/self/fd").iterdir())
        statistics.read([child.pid])
        assert sorted(Path("/proc/self/fd").iterdir()) == before


@needs_kvm
def test_where_to_look_is_found_out_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    original = kvm_stats_fd._descriptors  # noqa: SLF001 - counts the looks

    def counting(pid: int) -> tuple[int, ...]:
        looked.append(pid)
        return original(pid)

    now = 10**12
    monkeypatch.setattr(kvm_stats_fd, "_descriptors", counting)
    monkeypatch.setattr("time.monotonic_ns", lambda: now)
    statistics = KvmStatistics()
    with machine(2) as child:
        statistics.read([child.pid])
        statistics.read([child.pid])
        assert looked == [child.pid]
        now += kvm_stats_fd.KEPT_NS
        statistics.read([child.pid])
        assert looked == [child.pid] * 2
        now += 1
        statistics.read([])
        assert statistics._known == {}  # noqa: SLF001 - a host's processes come and go for years


@needs_kvm
def test_a_number_that_has_become_another_file_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = KvmStatistics()
    with machine(5) as child:
        original = kvm_stats_fd._descriptors  # noqa: SLF001 - what it found is spoilt
        monkeypatch.setattr(kvm_stats_fd, "_descriptors", lambda pid: (0, *original(pid), 4321))
        assert statistics.read([child.pid]) == expected(child)
        monkeypatch.setattr(kvm_stats_fd, "_descriptors", original)
        assert statistics.read([child.pid]) == expected(child)
        assert 0 not in statistics._known[child.pid].numbers  # noqa: SLF001 - looked for anew


@needs_kvm
def test_a_process_that_ends_is_left_out() -> None:
    statistics = KvmStatistics()
    with machine(4) as child, machine(6) as other:
        statistics.read([child.pid, other.pid])
        other.process.kill()
        other.process.wait()
        assert statistics.read([child.pid, other.pid]) == expected(child)


@needs_kvm
@needs_root
def test_without_the_right_to_look() -> None:
    code = (
        "import os, sys\n"
        "from tuneagent.machine.kvm_stats_fd import *\n"
        "os.setuid(65534)\n"
        "try:\n KvmStatistics().read([int(sys.argv[1])])\n"
        "except SourceError as error:\n print(error.source, error.reason, error.remedy)\n"
    )
    with machine(1) as child:
        done = subprocess.run([sys.executable, "-c", code, str(child.pid)], capture_output=True, check=False)
    assert done.stdout == b"kvm-statistics permission run as root (CAP_SYS_PTRACE)\n"


def test_no_process_at_all() -> None:
    assert KvmStatistics().read([]) == {}


def test_a_process_without_such_descriptors() -> None:
    error = refused(KvmStatistics(), os.getpid())
    assert error.reason is Reason.ABSENT
    assert "from QEMU 8.1 on" in error.detail


def test_a_kernel_without_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("os.pidfd_open", absent)
    error = refused(KvmStatistics(), 1)
    assert (error.reason, error.detail) == (Reason.ABSENT, "the kernel has no pidfd_getfd (Linux 5.6)")


def described(*counters: tuple[str, int, int, int], data: int = 4096, name_bytes: int = 48) -> tuple[bytes, bytes]:
    """A header and the descriptors of counters: name, flags, size, offset."""
    header = struct.pack("=6I", 0, name_bytes, len(counters), 24, 72, data)
    entries = (
        struct.pack(f"=IhHII{name_bytes}s", flags, -9, size, offset, 0, name.encode())
        for name, flags, size, offset in counters
    )
    return header, b"".join(entries)


def test_of_a_layout_cumulative_single_known_counters_are_taken() -> None:
    layout = layout_of(
        *described(
            ("halt_wait_ns", 0x20, 1, 24),
            ("exits", 0, 1, 8),
            ("io_exits", 1, 1, 16),  # instant
            ("irq_exits", 2, 1, 32),  # peak
            ("halt_exits", 0, 2, 40),
            ("pf_taken", 0, 1, 56),
            ("exit_null", 0, 1, 64),
            data=333,
        )
    )
    assert layout.offset == 333
    assert layout.places == (("halt_wait_ns", 3), ("exits", 1), ("exit_null", 8))
    assert layout.values.size == 72


@pytest.mark.parametrize(
    ("header", "descriptors"),
    [
        described(),
        described(("pf_taken", 0, 1, 8)),
        described(("exits", 0, 1, 7)),
        described(("exits", 0, 1, 2**31)),
        described(("exits", 0, 1, 8), data=2**31),
        (described(("exits", 0, 1, 8))[0], b""),
        (described(("exits", 0, 1, 8), ("io_exits", 0, 1, 16))[0], described(("exits", 0, 1, 8))[1]),
    ],
    ids=["nothing", "nothing known", "odd place", "far place", "far data", "no descriptors", "too few"],
)
def test_a_layout_that_is_not_as_documented(header: bytes, descriptors: bytes) -> None:
    with pytest.raises(SourceError) as caught:
        layout_of(header, descriptors)
    assert caught.value.reason is Reason.MALFORMED


@pytest.mark.parametrize(
    "header", [(0, 0, 1, 24, 72, 99), (0, 257, 1, 24, 72, 99), (0, 48, 4097, 24, 72, 99), (0, 48, 1, 24, 2**30, 99)]
)
def test_a_header_that_is_not_as_documented(header: tuple[int, ...]) -> None:
    file = os.memfd_create("header")
    try:
        os.write(file, struct.pack("=6I", *header))
        with pytest.raises(SourceError) as caught:
            kvm_stats_fd._layout(file)  # noqa: SLF001 - the file behind it is the kernel's otherwise
    finally:
        os.close(file)
    assert caught.value.reason is Reason.MALFORMED
