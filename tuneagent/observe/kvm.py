"""KVM's counters of each virtual machine: from QEMU's own descriptors, from debugfs, or from libvirt.

debugfs: virt/kvm/kvm_main.c, kvm_create_vm_debugfs(): ``/sys/kernel/debug/kvm/PID-FD/NAME`` is the total over the
machine's vCPUs; beside such files lie histograms, and directories of vCPUs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.hypervisor import EXIT_FAMILY, KVM_COUNTERS, SUM_EXITS, KvmCounters, KvmSource, QemuProcess
from tuneagent.model.missing import Reason
from tuneagent.observe.gaps import Gaps, integer
from tuneagent.parse import domain_statistics, kvm_statistics, process_status
from tuneagent.parse.kvm_counters import has_family_only, with_exits

DEBUGFS = "/sys/kernel/debug/kvm"
MOST_COUNTER_FILES = 6144
"""Read of debugfs in one sample; a host of a thousand virtual machines gets those of :data:`FIRST` only."""
FIRST = ("exits", SUM_EXITS, "io_exits", "mmio_exits", "halt_exits", "wfi_exit_stat", "halt_poll_fail_ns", "irq_exits")
"""What is read first where not all can be."""

_DIRECTORY = re.compile(r"([1-9][0-9]{0,9})-[0-9]{1,10}")
_VCPU_DIRECTORY = re.compile(r"vcpu[0-9]{1,5}")
_MOST_MACHINES = 16_384
_MOST_NAMES = 128
_MOST_LISTED = 16
"""Directories whose names are listed: one kernel gives all its virtual machines the same counters."""
_ORDER = (*FIRST, *(name for name in KVM_COUNTERS if name not in FIRST))


@dataclass(frozen=True, slots=True)
class Debugfs:
    """What lies in KVM's directory of debugfs, or why it cannot be seen."""

    names: tuple[str, ...]
    error: SourceError | None

    @property
    def machines(self) -> tuple[tuple[int, str], ...]:
        """(thread that made it, path) of each virtual machine that has a directory."""
        found = ((match, name) for name in self.names if (match := _DIRECTORY.fullmatch(name)))
        return tuple((int(match[1]), f"{DEBUGFS}/{name}") for match, name in islice(found, _MOST_MACHINES))


@dataclass(frozen=True, slots=True)
class Counted:
    """Counters of all virtual machines, and where they come from."""

    source: KvmSource
    counters: tuple[KvmCounters, ...]


def listing(gaps: Gaps) -> Debugfs:
    """KVM's directory of debugfs. That it is closed or not there is no gap yet: other sources may do."""
    try:
        return Debugfs(gaps.source.names(DEBUGFS), None)
    except SourceError as error:
        return Debugfs((), error)


def together(gaps: Gaps, debugfs: Debugfs) -> bool:
    """Whether KVM counts exits though no virtual machine has a directory, as kernels do that could not make one.

    A machine that has KVM loaded and runs nothing counts none. SourceError where lockdown keeps the counters closed.
    """
    return not debugfs.machines and bool(debugfs.names) and bool(_Reading(gaps, debugfs).counters(()))


def observe(
    gaps: Gaps,
    debugfs: Debugfs,
    processes: tuple[QemuProcess, ...],
    wanted: frozenset[int] = frozenset(),
    sized: frozenset[str] = frozenset(),
) -> Counted:
    """The counters by the first source that has any; of the processes ``wanted`` all that the source tells.

    How many vCPUs a virtual machine has is not looked for where its UUID is one of ``sized``. One note where none has:
    debugfs's reason, for that is the source that every kernel with KVM has.
    """
    own = _captured(gaps, "kvm-statistics", kvm_statistics.parse)
    if own:
        uuids = {process.pid: process.uuid for process in processes}
        named = (replace(one, uuid=uuids.get(one.pid)) if one.pid is not None else one for one in own)
        return Counted(KvmSource.STATS_FD, tuple(named))
    try:
        counters = _Reading(gaps, debugfs, wanted, sized).counters(processes)
    except SourceError as error:
        debugfs = Debugfs(debugfs.names, error)
        counters = ()
    if counters:
        return Counted(KvmSource.DEBUGFS, counters)
    told = _captured(gaps, "domain-statistics", domain_statistics.parse)
    if told:
        return Counted(KvmSource.DOMSTATS, told)
    _note(gaps, debugfs)
    return Counted(KvmSource.NONE, ())


def _captured(gaps: Gaps, name: str, parse: Callable[[Any], tuple[KvmCounters, ...]]) -> tuple[KvmCounters, ...]:
    answer = gaps.captured("hypervisor.kvm", name, parse, optional=True)
    if answer is None:
        return ()
    counters, read_at_ns = answer
    return tuple(replace(one, read_at_ns=read_at_ns) for one in counters if one.totals)


def _note(gaps: Gaps, debugfs: Debugfs) -> None:
    error = debugfs.error
    if error is None:
        gaps.note("hypervisor.kvm", DEBUGFS, Reason.ABSENT, "no virtual machine's counters in it")
    elif error.reason is Reason.ABSENT:
        gaps.note(
            "hypervisor.kvm",
            DEBUGFS,
            error.reason,
            "debugfs is not mounted, or KVM is not loaded",
            "mount -t debugfs none /sys/kernel/debug",
        )
    else:
        # EPERM is kernel lockdown and EACCES a lack of rights; the error says so. One of them stands for all files.
        gaps.note("hypervisor.kvm", DEBUGFS, error.reason, error.detail, error.remedy)


class _Reading:
    """One pass over debugfs. What refuses one file refuses all: PERMISSION ends the pass with SourceError."""

    def __init__(
        self,
        gaps: Gaps,
        debugfs: Debugfs,
        wanted: frozenset[int] = frozenset(),
        sized: frozenset[str] = frozenset(),
    ) -> None:
        self._source = gaps.source
        self._debugfs = debugfs
        self._machines = debugfs.machines
        self._wanted = wanted
        self._sized = sized
        self._listings: dict[str, tuple[str, ...]] = {}
        self._names = self._told()
        most = MOST_COUNTER_FILES // max(1, len(self._machines))
        few = max(most, sum(name in FIRST for name in self._names))
        self._few = tuple(name for at, name in enumerate(self._names) if at < few or name.startswith(EXIT_FAMILY))

    def counters(self, processes: tuple[QemuProcess, ...]) -> tuple[KvmCounters, ...]:
        """Each virtual machine's, by process; where none has a directory, those of all together."""
        if not self._machines:
            return self._together(processes)
        uuids = {process.pid: process.uuid for process in processes}
        found: dict[int, KvmCounters] = {}
        for thread, path in self._machines:
            pid = thread if thread in uuids else self._process(thread)
            one = self._read(path, pid, uuids.get(pid), self._names if pid in self._wanted else self._few)
            if one is not None:
                one = replace(one, directories=self._vcpus(path, one.uuid))
                found[pid] = _sum(found[pid], one) if pid in found else one
        return tuple(found.values())

    def _told(self) -> tuple[str, ...]:
        names = set(self._debugfs.names)
        for _, path in self._machines[:_MOST_LISTED]:
            names.update(self._listed(path))
        family = sorted(name for name in names if name.startswith(EXIT_FAMILY) and len(name) <= _MOST_NAMES)
        return (*(name for name in _ORDER if name in names), *family[:_MOST_NAMES])

    def _vcpus(self, path: str, uuid: str | None) -> int | None:
        """How many vCPUs have a directory; None where another tells it, and on kernels that make none."""
        if uuid in self._sized:
            return None
        return sum(_VCPU_DIRECTORY.fullmatch(name) is not None for name in self._listed(path)) or None

    def _listed(self, path: str) -> tuple[str, ...]:
        try:
            if path not in self._listings:
                self._listings[path] = self._source.names(path)
            return self._listings[path]
        except SourceError as error:
            if error.reason is Reason.PERMISSION:
                raise
            return ()  # it ended, or never was a directory

    def _process(self, thread: int) -> int:
        """The process of the thread that made a virtual machine; itself where that is not known."""
        try:
            return process_status.thread_group(self._source.read(f"/proc/{thread}/status").text)
        except (SourceError, ParseError):
            return thread

    def _together(self, processes: tuple[QemuProcess, ...]) -> tuple[KvmCounters, ...]:
        """Totals over all virtual machines, where the kernel could give none a directory: one's, if it is alone."""
        only = processes[0] if len(processes) == 1 else None
        one = self._read(DEBUGFS, only.pid if only else None, only.uuid if only else None, self._names)
        return (one,) if one is not None and any(one.totals.values()) else ()

    def _read(self, path: str, pid: int | None, uuid: str | None, names: Iterable[str]) -> KvmCounters | None:
        totals: dict[str, int] = {}
        read_at_ns: int | None = None
        read = self._source.read
        for name in names:
            try:
                text = read(f"{path}/{name}")
                totals[name] = integer(text.text)
            except SourceError as error:
                if error.reason is Reason.PERMISSION:
                    raise
                continue  # it ended between, or has no such counter
            except ParseError:
                continue  # a histogram, or another thing that is no counter
            read_at_ns = read_at_ns or text.read_at_ns
        return _summed(KvmCounters(pid, uuid, totals, {}, read_at_ns)) if totals else None


def _summed(one: KvmCounters) -> KvmCounters:
    return replace(one, totals=with_exits(one.totals), exits_are_a_sum=has_family_only(one.totals))


def _sum(one: KvmCounters, more: KvmCounters) -> KvmCounters:
    """Two virtual machines of one process as one: only what both tell."""
    totals = {name: count + more.totals[name] for name, count in one.totals.items() if name in more.totals}
    directories = one.directories + more.directories if one.directories and more.directories else None
    return replace(one, totals=totals, directories=directories)
