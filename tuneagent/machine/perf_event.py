"""Counters and samples of the kernel: perf_event_open(2), include/uapi/linux/perf_event.h.

What the kernel refuses is a SourceError that names who refused: the sysctl, a missing capability, a container's filter,
the kernel's lockdown, a limit of descriptors or of locked memory.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import functools
import os
import platform
import resource
import struct
from collections.abc import Callable
from dataclasses import dataclass

from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

SYSCALLS = {
    "x86_64": 298,
    "aarch64": 241,
    "riscv64": 241,
    "loongarch64": 241,
    "ppc64": 319,
    "ppc64le": 319,
    "s390x": 331,
}
"""Number of the call by architecture (syscall tables of the kernel)."""
PERF_TYPE_HARDWARE, PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT = 0, 1, 2
PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_SW_CPU_CLOCK = 0, 0
PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME = 1 << 0, 1 << 1, 1 << 2
PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_CPU = 1 << 5, 1 << 7
PERF_SAMPLE_RAW, PERF_SAMPLE_IDENTIFIER = 1 << 10, 1 << 16
PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING = 1 << 0, 1 << 1
PERF_FORMAT_ID, PERF_FORMAT_GROUP = 1 << 2, 1 << 3
PERF_FLAG_FD_CLOEXEC = 1 << 3
ATTRIBUTE_BYTES = 112
"""PERF_ATTR_SIZE_VER5: up to sample_max_stack (Linux 4.8). Newer kernels take the rest as zeros."""

PARANOID = "/proc/sys/kernel/perf_event_paranoid"
MLOCK_KB = "/proc/sys/kernel/perf_event_mlock_kb"
STATUS = "/proc/self/status"
UID_MAP = "/proc/self/uid_map"
LOCKDOWN = "/sys/kernel/security/lockdown"
CAP_SYS_ADMIN, CAP_PERFMON = 21, 38
NEEDS = "run as root (CAP_PERFMON), or set the sysctl kernel.perf_event_paranoid to -1"
_MOST_BYTES = 1 << 14
_WHOLE_USER_RANGE = ["0", "0", "4294967295"]
_NUMBER = struct.Struct("=Q")


class Attribute(ctypes.Structure):
    """struct perf_event_attr as far as ATTRIBUTE_BYTES; ctypes lays bit fields out as the machine's compiler does."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("sample_period_or_freq", ctypes.c_uint64),
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("disabled", ctypes.c_uint64, 1),
        ("inherit", ctypes.c_uint64, 1),
        ("pinned", ctypes.c_uint64, 1),
        ("exclusive", ctypes.c_uint64, 1),
        ("exclude_user", ctypes.c_uint64, 1),
        ("exclude_kernel", ctypes.c_uint64, 1),
        ("exclude_hv", ctypes.c_uint64, 1),
        ("exclude_idle", ctypes.c_uint64, 1),
        ("mmap", ctypes.c_uint64, 1),
        ("comm", ctypes.c_uint64, 1),
        ("freq", ctypes.c_uint64, 1),
        ("inherit_stat", ctypes.c_uint64, 1),
        ("enable_on_exec", ctypes.c_uint64, 1),
        ("task", ctypes.c_uint64, 1),
        ("watermark", ctypes.c_uint64, 1),
        ("precise_ip", ctypes.c_uint64, 2),
        ("mmap_data", ctypes.c_uint64, 1),
        ("sample_id_all", ctypes.c_uint64, 1),
        ("exclude_host", ctypes.c_uint64, 1),
        ("exclude_guest", ctypes.c_uint64, 1),
        ("exclude_callchain_kernel", ctypes.c_uint64, 1),
        ("exclude_callchain_user", ctypes.c_uint64, 1),
        ("mmap2", ctypes.c_uint64, 1),
        ("comm_exec", ctypes.c_uint64, 1),
        ("use_clockid", ctypes.c_uint64, 1),
        ("other_flags", ctypes.c_uint64, 38),
        ("wakeup_events_or_watermark", ctypes.c_uint32),
        ("bp_type", ctypes.c_uint32),
        ("config1", ctypes.c_uint64),
        ("config2", ctypes.c_uint64),
        ("branch_sample_type", ctypes.c_uint64),
        ("sample_regs_user", ctypes.c_uint64),
        ("sample_stack_user", ctypes.c_uint32),
        ("clockid", ctypes.c_int32),
        ("sample_regs_intr", ctypes.c_uint64),
        ("aux_watermark", ctypes.c_uint32),
        ("sample_max_stack", ctypes.c_uint16),
        ("reserved", ctypes.c_uint16),
    )


@dataclass(frozen=True, slots=True)
class Counted:
    """What a counter says: events, and ns for which it was enabled and for which it really counted."""

    events: int
    enabled_ns: int
    running_ns: int


def attribute(kind: int, config: int, **fields: int) -> Attribute:
    """An attribute of this size; the fields are those of struct perf_event_attr."""
    return Attribute(type=kind, size=ATTRIBUTE_BYTES, config=config, **fields)


def open_on_cpu(source: str, wanted: Attribute, cpu: int, leader: int = -1) -> int:
    """A descriptor, closed on exec, of an event of all tasks of one CPU; in the group of ``leader`` where there is one.

    SourceError under the name ``source``; ABSENT also for a CPU that is not online (OfflineError).
    """
    number = SYSCALLS.get(platform.machine())
    if number is None:
        raise SourceError(source, Reason.UNSUPPORTED, f"perf events are not known on {platform.machine()}")
    return _retried(source, lambda: _call(number, wanted, cpu, leader))


def count(file: int) -> Counted | None:
    """What a counter with COUNTED as its read_format says; None where the event is in error (perf_read() gives 0)."""
    data = os.read(file, 3 * _NUMBER.size)
    return Counted(*_TRIPLE.unpack(data)) if len(data) == _TRIPLE.size else None


COUNTED = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING
_TRIPLE = struct.Struct("=3Q")


def grouped(file: int, events: int) -> dict[int, int]:
    """Counts by event id, of a leader with PERF_FORMAT_GROUP | PERF_FORMAT_ID; empty where it is in error."""
    data = os.read(file, _NUMBER.size * (1 + 2 * events))
    numbers = [value for (value,) in _NUMBER.iter_unpack(data)]
    return dict(zip(numbers[2::2], numbers[1::2], strict=True)) if len(numbers) == 1 + 2 * events else {}


def enable(file: int) -> None:
    """Lets an event, and the group that it leads, count."""
    fcntl.ioctl(file, _request(0), 0)


def disable(file: int) -> None:
    """Stops it: it costs nothing then, and keeps its count."""
    fcntl.ioctl(file, _request(1), 0)


def reset(file: int) -> None:
    """Its count is 0 again (PERF_EVENT_IOC_RESET)."""
    fcntl.ioctl(file, _request(3), 0)


def output_to(file: int, ring: int) -> None:
    """Its records go to the ring of another event of the same CPU (PERF_EVENT_IOC_SET_OUTPUT)."""
    fcntl.ioctl(file, _request(5), ring)


def refused(source: str, error: OSError) -> SourceError:
    """Why the kernel gives no event, as far as this process can find out."""
    detail = error.strerror or type(error).__name__
    code = error.errno or 0
    if code in (errno.EACCES, errno.EPERM):
        return _not_permitted(source, detail)
    if code == errno.EMFILE:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return SourceError(source, Reason.FAILED, f"{detail}: at most {most} descriptors", "raise ulimit -n")
    if code == errno.ENOMEM:
        return locked_memory(source, detail)
    words = {
        errno.ENOENT: (Reason.ABSENT, "the kernel has no such event"),
        errno.ENODEV: (Reason.ABSENT, "the CPU is not online, or has no such counter"),
        errno.ENOSYS: (Reason.ABSENT, "the kernel has no perf events (CONFIG_PERF_EVENTS)"),
        errno.EOPNOTSUPP: (Reason.UNSUPPORTED, "the counter cannot take samples here"),
        errno.EINVAL: (Reason.UNSUPPORTED, "the kernel does not know an option of the event"),
        errno.E2BIG: (Reason.UNSUPPORTED, "the kernel does not know an option of the event"),
        errno.EBUSY: (Reason.FAILED, "somebody else holds the counter"),
    }
    reason, meaning = words.get(code, (Reason.FAILED, "perf_event_open failed"))
    return SourceError(source, reason, f"{meaning} ({detail})")


def locked_memory(source: str, detail: str) -> SourceError:
    """No memory for a ring: without CAP_IPC_LOCK it is bounded by user."""
    words = f"{detail}: perf_event_mlock_kb is {_first_line(MLOCK_KB)}"
    return SourceError(source, Reason.FAILED, words, "raise the sysctl kernel.perf_event_mlock_kb, or ulimit -l")


def _not_permitted(source: str, detail: str) -> SourceError:
    paranoid = _first_line(PARANOID)
    status = _status()
    if not _capable(status):
        words = f"{detail}: without CAP_PERFMON, and perf_event_paranoid is {paranoid}"
        return SourceError(source, Reason.PERMISSION, words, NEEDS)
    if _first_line(UID_MAP).split() != _WHOLE_USER_RANGE:
        words = f"{detail}: the capabilities of a user namespace do not count"
        return SourceError(source, Reason.PERMISSION, words, "run outside of the container")
    if "[confidentiality]" in _first_line(LOCKDOWN):
        words = f"{detail}: kernel lockdown (confidentiality) keeps perf events closed"
        return SourceError(source, Reason.PERMISSION, words, "boot without lockdown=confidentiality")
    if status.get("Seccomp") == "2":
        words = f"{detail}: a seccomp filter, as a container's, refuses perf_event_open"
        return SourceError(source, Reason.PERMISSION, words, "run outside of the container, or allow perf_event_open")
    words = f"{detail}: with CAP_PERFMON, so a security module refuses it"
    return SourceError(source, Reason.PERMISSION, words)


def _capable(status: dict[str, str]) -> bool:
    try:
        effective = int(status.get("CapEff", "0"), 16)
    except ValueError:
        return False
    return bool(effective >> CAP_SYS_ADMIN & 1 or effective >> CAP_PERFMON & 1)


def _status() -> dict[str, str]:
    pairs = (line.partition(":") for line in _text(STATUS).splitlines())
    return {key: value.strip() for key, _, value in pairs}


def _first_line(path: str) -> str:
    return _text(path).partition("\n")[0].strip() or "unknown"


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return ""


def _retried(source: str, ask: Callable[[], int]) -> int:
    try:
        return ask()
    except OSError as error:
        if error.errno != errno.EMFILE or not _more_descriptors():
            raise refused(source, error) from None
    try:
        return ask()
    except OSError as error:
        raise refused(source, error) from None


def _more_descriptors() -> bool:
    """Whether this process may have more of them now: a large machine takes some for each CPU."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard in (soft, resource.RLIM_INFINITY):
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return True


def _call(number: int, wanted: Attribute, cpu: int, leader: int) -> int:
    file: int = _libc().syscall(number, ctypes.byref(wanted), -1, cpu, leader, PERF_FLAG_FD_CLOEXEC)
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return file


@functools.cache
def _libc() -> ctypes.CDLL:
    # An interface of its own: the argument types of another user of syscall() would be changed otherwise.
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.argtypes = (
        ctypes.c_long,
        ctypes.POINTER(Attribute),
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_ulong,
    )
    libc.syscall.restype = ctypes.c_long
    return libc


def _request(number: int) -> int:
    """_IO('$', number) of asm/ioctl.h; on Power "no data" is a bit of its own."""
    return (1 << 29 if platform.machine().startswith("ppc") else 0) | ord("$") << 8 | number
