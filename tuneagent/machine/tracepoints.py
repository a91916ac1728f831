"""Tracepoints of the running kernel: their ids and formats, from tracefs.

Where tracefs is not mounted it is mounted in a mount namespace of a child process, which ends with the child: nothing
of it is to be seen on the machine.
"""

from __future__ import annotations

import errno
import functools
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from tuneagent.machine.perf_event import LOCKDOWN
from tuneagent.machine.reasons import reason_of
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.missing import Reason
from tuneagent.parse import tracepoint_format
from tuneagent.parse.tracepoint_format import MAX_TEXT, Format

TRACEFS = "/sys/kernel/tracing"
MOUNTS = "/proc/self/mounts"
TIMEOUT_S = 5.0
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}
MOUNTING = 'mount -t tracefs -o ro nodev "$0" && for file; do echo "file $file"; cat "$file"; echo "end $?"; done'
"""Run by sh in a mount namespace of its own, with the mount point and the files as its arguments."""
NEEDS = "run as root (CAP_PERFMON to count and sample, CAP_SYS_ADMIN to mount tracefs, CAP_DAC_READ_SEARCH to read it)"
_MOST_MOUNTS_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Wanted:
    """A tracepoint, ``lock:contention_begin``, and the fields that are read of it with the sizes they may have."""

    system: str
    name: str
    fields: Mapping[str, tuple[int, ...]]
    since: str
    """What brought it, for people who have an older kernel."""

    @property
    def path(self) -> str:
        """Its file below tracefs."""
        return f"events/{self.system}/{self.name}/format"


CONTENTION_BEGIN = Wanted("lock", "contention_begin", {"lock_addr": (4, 8), "flags": (4,)}, "Linux 5.19")
CONTENTION_END = Wanted("lock", "contention_end", {"lock_addr": (4, 8), "ret": (4,)}, "Linux 5.19")
IRQ_ENTRY = Wanted("irq", "irq_handler_entry", {"irq": (4,)}, "CONFIG_TRACEPOINTS")
IRQ_EXIT = Wanted("irq", "irq_handler_exit", {"irq": (4,)}, "CONFIG_TRACEPOINTS")
TRANSMIT = Wanted("net", "net_dev_start_xmit", {"name": (0,)}, "Linux 3.14")
ALL = (CONTENTION_BEGIN, CONTENTION_END, IRQ_ENTRY, IRQ_EXIT, TRANSMIT)


@functools.cache
def formats() -> Mapping[str, Format | SourceError]:
    """Each of ALL by name, or why it is not there. SourceError where none can be looked at.

    A success is kept: ids are the same for as long as the kernel runs.
    """
    mounted = _mounted()
    texts = _in_namespace() if mounted is None else {wanted.name: _read(mounted, wanted) for wanted in ALL}
    return {wanted.name: _format(wanted, texts.get(wanted.name)) for wanted in ALL}


def needed(wanted: Wanted) -> Format:
    """The format of one of ALL; SourceError where there is none."""
    found = formats()[wanted.name]
    if isinstance(found, SourceError):
        raise SourceError(found.source, found.reason, found.detail, found.remedy)
    return found


def _format(wanted: Wanted, text: str | SourceError | None) -> Format | SourceError:
    source = f"{TRACEFS}/{wanted.path}"
    if isinstance(text, SourceError):
        return text
    if text is None:
        detail = f"the kernel has no tracepoint {wanted.system}:{wanted.name} ({wanted.since})"
        return SourceError(source, Reason.ABSENT, detail)
    try:
        found = tracepoint_format.parse(text)
        tracepoint_format.require(found, wanted.fields)
    except ParseError as error:
        return SourceError(source, Reason.MALFORMED, str(error))
    return found


def _mounted() -> str | None:
    """Where tracefs is mounted; None where it is not."""
    try:
        with open(MOUNTS, encoding="utf-8", errors="replace") as file:
            rows = [line.split() for line in file.read(_MOST_MOUNTS_BYTES).splitlines()]
    except OSError:
        return None
    points = [row[1] for row in rows if len(row) > 2 and row[2] == "tracefs"]  # noqa: PLR2004 - the type is third
    return TRACEFS if TRACEFS in points else next((point for point in points if "\\" not in point), None)


def _read(mounted: str, wanted: Wanted) -> str | SourceError | None:
    path = f"{mounted}/{wanted.path}"
    try:
        with open(path, encoding="ascii", errors="backslashreplace") as file:
            return file.read(MAX_TEXT + 1)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None if os.path.isdir(f"{mounted}/events") else _closed(path, error)
        return _closed(path, error)


def _closed(path: str, error: OSError) -> SourceError:
    detail = error.strerror or type(error).__name__
    if error.errno == errno.EPERM:
        # security/lockdown: LOCKDOWN_TRACEFS answers EPERM where file modes would answer EACCES.
        return SourceError(path, Reason.PERMISSION, f"{detail}: kernel lockdown (confidentiality) keeps tracefs closed")
    reason = reason_of(error.errno)
    return SourceError(path, reason, detail, NEEDS if reason is Reason.PERMISSION else None)


def _in_namespace() -> dict[str, str]:
    """The texts of those of ALL that there are."""
    if not os.path.isdir(TRACEFS):
        raise SourceError(TRACEFS, Reason.ABSENT, "the kernel has no tracefs (CONFIG_FTRACE)")
    if os.geteuid() != 0:
        raise SourceError(TRACEFS, Reason.PERMISSION, "tracefs is not mounted", NEEDS)
    paths = {f"{TRACEFS}/{wanted.path}": wanted.name for wanted in ALL}
    return {paths[path]: text for path, text in _sections(_run(*paths)).items() if path in paths}


def _run(*files: str) -> str:
    command = ("unshare", "--mount", "sh", "-c", MOUNTING, TRACEFS, *files)
    try:
        process = subprocess.Popen(  # noqa: S603 - a fixed script; its arguments are our own paths
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=ENVIRONMENT,
            cwd="/",
        )
    except OSError as error:
        remedy = "raise ulimit -n" if error.errno == errno.EMFILE else "mount tracefs"
        raise SourceError(TRACEFS, Reason.FAILED, f"unshare: {error.strerror}", remedy) from None
    with process:
        said, complaint = _ended(process)
    if not said:
        raise _not_mounted(complaint[:200].decode("utf-8", "backslashreplace").strip())
    return said[: len(files) * 2 * MAX_TEXT].decode("ascii", "backslashreplace")


def _ended(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    try:
        return process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        # All of the shell's children: one that is left would hold the pipe, and us, for as long as it hangs.
        os.killpg(process.pid, signal.SIGKILL)
        raise SourceError(TRACEFS, Reason.FAILED, f"mounting tracefs did not end within {TIMEOUT_S:g} s") from None


def _not_mounted(said: str) -> SourceError:
    words = f"tracefs is not mounted, and cannot be in a namespace of our own: {' '.join(said.split())}"
    remedy = f"mount -t tracefs nodev {TRACEFS}"
    try:
        with open(LOCKDOWN, encoding="ascii") as file:
            if "[confidentiality]" in file.read(200):
                remedy = "boot without lockdown=confidentiality"
    except OSError:
        pass  # securityfs need not be mounted
    return SourceError(TRACEFS, Reason.PERMISSION, words, remedy)


def _sections(text: str) -> dict[str, str]:
    """The files that could be read, of what MOUNTING prints."""
    found: dict[str, str] = {}
    for part in text.split("file ")[1:]:
        path, _, rest = part.partition("\n")
        content, end, code = rest.rpartition("end ")
        if end and code.strip() == "0":
            found[path] = content
    return found
