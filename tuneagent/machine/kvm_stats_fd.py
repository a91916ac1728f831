"""KVM's counters from the descriptors that QEMU itself keeps open (KVM_GET_STATS_FD; QEMU 8.1 and newer).

The layout is that of Documentation/virt/kvm/api.rst, 4.134. A descriptor is duplicated by pidfd_getfd(2), read, and
closed at once: one that was kept would keep a virtual machine's memory in the kernel after its QEMU has gone, and on
kernels without commit eed3013faa40 (6.5) reading it then would read memory that was freed. Costs 10 µs a vCPU.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import re
import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tuneagent.machine.reasons import reason_of
from tuneagent.model.errors import SourceError
from tuneagent.model.hypervisor import EXIT_FAMILY, KVM_COUNTERS
from tuneagent.model.missing import Reason

NAME = "kvm-statistics"
PIDFD_GETFD = 438
"""The same on every architecture but alpha (scripts/syscall.tbl)."""
KEPT_NS = 60 * 10**9
MOST_DESCRIPTORS = 1 << 16
MOST_VCPUS = 4096
MOST_COUNTERS = 4096
MOST_NAME_BYTES = 256
MOST_OFFSET = 1 << 20
CUMULATIVE = 0
TYPE_MASK = 0xF
NEEDS = "run as root (CAP_SYS_PTRACE)"

_LINK = re.compile(r"anon_inode:kvm-vcpu-stats:([0-9]{1,4})")
_HEADER = struct.Struct("=6I")  # struct kvm_stats_header
_DESCRIPTOR = struct.Struct("=IhHII")  # struct kvm_stats_desc, to its name
_VALUE_BYTES = 8

Vcpus = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the wanted counters lie in a descriptor's data; the kernel gives all vCPUs of a machine the same."""

    offset: int
    """Of the data, in the file."""
    values: struct.Struct
    """The data, to the last counter that is wanted."""
    places: tuple[tuple[str, int], ...]
    """Counters by name, and which of the values each is."""


@dataclass(slots=True)
class _Known:
    """What was found out about one process, which is the same one while its start time is."""

    started: str
    numbers: tuple[int, ...]
    found_ns: int
    layout: Layout | None = None


class KvmStatistics:
    """Reads the counters of processes. Remembers which of their descriptors to read; holds none of them open."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}

    def read(self, pids: Iterable[int]) -> dict[str, dict[str, Vcpus]]:
        """``{"4711": {"vcpus": {"0": {"exits": 123, …}}}}`` of the processes that have such descriptors.

        Raises SourceError where no process gave any: PERMISSION, ABSENT (an older kernel or QEMU, software emulation),
        or what else went wrong.
        """
        processes = tuple(pids)
        self._known = {pid: known for pid, known in self._known.items() if pid in processes}
        found: dict[str, dict[str, Vcpus]] = {}
        failures: list[SourceError] = []
        for pid in processes:
            try:
                if vcpus := self._vcpus(pid):
                    found[str(pid)] = {"vcpus": vcpus}
            except SourceError as error:
                failures.append(error)
            except OSError as error:
                if error.errno not in (errno.ESRCH, errno.ENOENT):  # it ended meanwhile
                    failures.append(_failure(error))
        if processes and not found:
            raise failures[0] if failures else _no_descriptor()
        return found

    def _vcpus(self, pid: int) -> Vcpus:
        with _closing(os.pidfd_open(pid)) as process:
            known = self._look(pid)
            vcpus: Vcpus = {}
            for number in known.numbers:
                try:
                    vcpu = _read(process, number, known)
                except OSError as error:
                    if error.errno != errno.EBADF:
                        raise
                    vcpu = None
                if vcpu is None:  # closed since, or another file has its number: looked for anew next time
                    self._known.pop(pid, None)
                else:
                    vcpus.setdefault(*vcpu)
        return vcpus

    def _look(self, pid: int) -> _Known:
        """Which descriptors to read, looked for once a minute: QEMU may have hundreds, and vCPUs can be plugged."""
        now, started, known = time.monotonic_ns(), _start_time(pid), self._known.get(pid)
        if known is None or known.started != started or now - known.found_ns >= KEPT_NS:
            known = self._known[pid] = _Known(started, _descriptors(pid), now)
        return known


def _start_time(pid: int) -> str:
    """Field 22 of /proc/PID/stat; the name in field 2 may hold spaces and brackets."""
    with _closing(os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)) as file:
        return os.read(file, 4096).decode("ascii", "replace").rpartition(")")[2].split()[19]


def _descriptors(pid: int) -> tuple[int, ...]:
    directory = f"/proc/{pid}/fd"
    numbers: list[int] = []
    with os.scandir(directory) as entries:
        for count, entry in enumerate(entries):
            if count == MOST_DESCRIPTORS:
                raise SourceError(NAME, Reason.TOO_LARGE, f"{directory}: more than {MOST_DESCRIPTORS} descriptors")
            if _vcpu_of(entry.path) is not None:
                numbers.append(int(entry.name))
    return tuple(sorted(numbers)[:MOST_VCPUS])


def _vcpu_of(path: str) -> str | None:
    """The vCPU whose counters a descriptor in /proc/PID/fd gives; None for any other file."""
    try:
        link = os.readlink(path)
    except FileNotFoundError:
        return None
    match = _LINK.fullmatch(link)
    return None if match is None else match[1]


def _read(process: int, number: int, known: _Known) -> tuple[str, dict[str, int]] | None:
    """One vCPU and its counters; None where the descriptor is something else by now."""
    file = _duplicate(process, number)
    try:
        vcpu = _vcpu_of(f"/proc/self/fd/{file}")
        if vcpu is None:
            return None
        if known.layout is None:
            known.layout = _layout(file)
        layout = known.layout
        data = os.pread(file, layout.values.size, layout.offset)
    finally:
        os.close(file)
    if len(data) != layout.values.size:
        raise _malformed(f"{len(data)} bytes of counters, where {layout.values.size} are described")
    values = layout.values.unpack(data)
    return vcpu, {name: values[place] for name, place in layout.places}


def _duplicate(process: int, number: int) -> int:
    file: int = _libc().syscall(PIDFD_GETFD, process, number, 0)
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return file


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_int, ctypes.c_uint)
    libc.syscall.restype = ctypes.c_long
    return libc


def _layout(file: int) -> Layout:
    header = os.pread(file, _HEADER.size, 0)
    if len(header) != _HEADER.size:
        raise _malformed(f"{len(header)} bytes of header")
    _, name_bytes, count, _, offset, _ = _HEADER.unpack(header)
    if not 0 < name_bytes <= MOST_NAME_BYTES or count > MOST_COUNTERS or offset > MOST_OFFSET:
        raise _malformed(f"{count} counters with names of {name_bytes} bytes at {offset}")
    return layout_of(header, os.pread(file, count * (_DESCRIPTOR.size + name_bytes), offset))


@functools.lru_cache(maxsize=8)
def layout_of(header: bytes, descriptors: bytes) -> Layout:
    """The layout that a header and its descriptors describe. Raises SourceError with MALFORMED."""
    _, name_bytes, count, _, _, data = _HEADER.unpack(header)
    step = _DESCRIPTOR.size + name_bytes
    if len(descriptors) != count * step or data > MOST_OFFSET:
        raise _malformed(f"{len(descriptors)} bytes describe {count} counters of {step} bytes, with data at {data}")
    places = []
    for start in range(0, count * step, step):
        flags, _, size, offset, _ = _DESCRIPTOR.unpack_from(descriptors, start)
        name = descriptors[start + _DESCRIPTOR.size : start + step].partition(b"\0")[0].decode("ascii", "replace")
        if size != 1 or flags & TYPE_MASK != CUMULATIVE or not _is_wanted(name):
            continue
        if offset > MOST_OFFSET or offset % _VALUE_BYTES:
            raise _malformed(f"{name!r:.40} lies at {offset}")
        places.append((name, offset // _VALUE_BYTES))
    if not places:
        raise _malformed("none of the counters described is known")
    last = max(place for _, place in places)
    return Layout(data, struct.Struct(f"={last + 1}Q"), tuple(places))


def _is_wanted(name: str) -> bool:
    return name in KVM_COUNTERS or name.startswith(EXIT_FAMILY)


@contextmanager
def _closing(file: int) -> Iterator[int]:
    try:
        yield file
    finally:
        os.close(file)


def _malformed(detail: str) -> SourceError:
    return SourceError(NAME, Reason.MALFORMED, f"a kvm-vcpu-stats descriptor is not as documented: {detail}")


def _failure(error: OSError) -> SourceError:
    detail = error.strerror or type(error).__name__
    if error.errno == errno.ENOSYS:
        return SourceError(NAME, Reason.ABSENT, "the kernel has no pidfd_getfd (Linux 5.6)")
    if error.errno in (errno.EPERM, errno.EACCES):
        return SourceError(NAME, Reason.PERMISSION, f"{detail}: a QEMU's descriptors need CAP_SYS_PTRACE", NEEDS)
    return SourceError(NAME, reason_of(error.errno), detail)


def _no_descriptor() -> SourceError:
    detail = "no QEMU here keeps KVM's statistics open: it does from QEMU 8.1 on, with KVM of Linux 5.14 or newer"
    return SourceError(NAME, Reason.ABSENT, detail)
