"""The running machine: its files, and what it says by other ways than files."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from tuneagent.machine import (
    domain_statistics,
    ethtool,
    irqbalance_bans,
    kvm_stats_fd,
    libvirt_domains,
    links,
    monitor,
    processes,
    queue_statistics,
    units,
)
from tuneagent.machine.kvm_stats_fd import KvmStatistics
from tuneagent.machine.libvirt_connection import Connections, Patience
from tuneagent.machine.libvirt_domains import Domains
from tuneagent.machine.locks import COUNTS, RECORD, Locks
from tuneagent.machine.reasons import RUN_AS_ROOT
from tuneagent.machine.source import Captured, Process
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.errors import SourceError
from tuneagent.model.hypervisor import QEMU_NAMES
from tuneagent.model.missing import Reason

LISTING_KEPT_NS = 10**9
"""One look at the names of all processes serves every question of a sample."""


class Live(Sysroot):
    """The Source that the running machine is.

    ``connect`` are the URIs of libvirt to ask; without any the machine's own. ``allow_monitor`` lets QEMU's monitor be
    asked, which libvirt notes as a taint of the domain. Without ``locks`` no wait for a lock is counted.

    Remembers, from sample to sample, what costs much and changes little. Connections to libvirt, and the kernel's
    counters and records of waits for locks, end with close(), with the instance, or with the interpreter.
    """

    def __init__(self, connect: tuple[str, ...] = (), *, allow_monitor: bool = False, locks: bool = True) -> None:
        super().__init__("/")
        patience = Patience()
        self._libvirt = Connections(connect, patience=patience)
        self._monitors = Connections(connect, read_only=False, patience=patience)
        self._allow_monitor = allow_monitor
        self._locks = Locks(counted=locks)
        weakref.finalize(self, _close, self._libvirt, self._monitors, self._locks)
        self._domains = Domains(self._libvirt)
        self._kvm = KvmStatistics()
        self._listing: tuple[int, tuple[tuple[str, str], ...]] | None = None
        self.providers: Mapping[str, Callable[[], Any]] = {
            links.NAME: links.read,
            ethtool.NAME: ethtool.read,
            queue_statistics.NAME: queue_statistics.read,
            units.NAME: units.read,
            irqbalance_bans.NAME: self._irqbalance_bans,
            libvirt_domains.NAME: self._domains.read,
            kvm_stats_fd.NAME: self._kvm_statistics,
            domain_statistics.NAME: lambda: domain_statistics.read(self._libvirt),
            monitor.NAME: self._virtio_status,
            COUNTS: self._locks.counts,
            RECORD: self._locks.record,
        }
        """Every source that is no file. Each raises SourceError only, and ends within seconds."""

    def captured(self, name: str) -> Captured:
        """Asks now: one of ``providers``."""
        provider = self.providers.get(name)
        if provider is None:
            raise SourceError(name, Reason.ABSENT, "no such source")
        read_at_ns = time.monotonic_ns()
        return Captured(provider(), read_at_ns)

    def processes(self, names: frozenset[str]) -> tuple[Process, ...]:
        """The processes with one of these names, by pid; of a listing that is at most a second old."""
        now = time.monotonic_ns()
        if self._listing is None or now - self._listing[0] > LISTING_KEPT_NS:
            self._listing = None
            self._listing = now, processes.listing(self, None if os.geteuid() == 0 else RUN_AS_ROOT)
        return processes.chosen(self, self._listing[1], names)

    def record_locks(self, seconds: float) -> None:
        """Records the waits for locks of the next seconds, at most 60, for the next question for ``lock-record``.

        Returns at once and never raises: what went wrong is the answer to that question.
        """
        self._locks.start(seconds)

    def close(self) -> None:
        """Ends what is open; a later question opens it again."""
        for one in (self._libvirt, self._monitors, self._locks):
            one.close()

    def _irqbalance_bans(self) -> Any:
        try:
            found = self.processes(frozenset({"irqbalance"}))
        except SourceError as error:
            raise SourceError(irqbalance_bans.NAME, error.reason, error.detail, error.remedy) from None
        return irqbalance_bans.read(found)

    def _kvm_statistics(self) -> Any:
        try:
            machines = self.processes(QEMU_NAMES)
        except SourceError as error:
            raise SourceError(kvm_stats_fd.NAME, error.reason, error.detail, error.remedy) from None
        return self._kvm.read(process.pid for process in machines)

    def _virtio_status(self) -> Any:
        if not self._allow_monitor:
            raise SourceError(monitor.NAME, Reason.ABSENT, monitor.NOT_ASKED)
        return monitor.read(self._monitors)


def _close(*several: Connections | Locks) -> None:
    for one in several:
        with suppress(KeyboardInterrupt):  # raised here it would be printed and not be heard: the command is ending
            one.close()
