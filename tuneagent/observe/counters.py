"""The machine-wide counter files, each with the time of its own read."""

from __future__ import annotations

from dataclasses import replace

from tuneagent.model.counters import CpuTimes, Interrupts, Protocols, Softirqs, Softnet
from tuneagent.model.missing import Reason
from tuneagent.model.topology import CpuTopology
from tuneagent.observe.gaps import Gaps
from tuneagent.parse import interrupts as parse_interrupts
from tuneagent.parse import snmp, softirqs, softnet_stat, stat


def observe_interrupts(gaps: Gaps, previous: Interrupts | None = None) -> Interrupts | None:
    """/proc/interrupts; rows that did not change since ``previous`` are taken from it."""
    read = gaps.timed("interrupts", "/proc/interrupts", lambda text: parse_interrupts.parse(text, previous))
    return replace(read[0], read_at_ns=read[1]) if read else None


def observe_softnet(gaps: Gaps, cpus: CpuTopology | None) -> Softnet | None:
    """/proc/net/softnet_stat with every row's CPU id: printed, or by the order of the online CPUs."""
    path = "/proc/net/softnet_stat"
    read = gaps.timed("softnet", path, softnet_stat.parse)
    if read is None:
        return None
    softnet = replace(read[0], read_at_ns=read[1])
    if cpus is not None:
        softnet = softnet_stat.assign(softnet, cpus.online)
    if softnet.warning:
        gaps.note("softnet.cpu", path, Reason.MALFORMED, softnet.warning)
    return softnet


def observe_softirqs(gaps: Gaps) -> Softirqs | None:
    """/proc/softirqs."""
    read = gaps.timed("softirqs", "/proc/softirqs", softirqs.parse)
    return replace(read[0], read_at_ns=read[1]) if read else None


def observe_cpu_times(gaps: Gaps) -> CpuTimes | None:
    """/proc/stat."""
    read = gaps.timed("cpu_times", "/proc/stat", stat.parse)
    return replace(read[0], read_at_ns=read[1]) if read else None


def observe_protocols(gaps: Gaps) -> Protocols | None:
    """/proc/net/snmp and /proc/net/netstat together; None when neither could be read."""
    counters: dict[str, dict[str, int]] = {}
    read_at_ns: int | None = None
    for path in ("/proc/net/snmp", "/proc/net/netstat"):
        read = gaps.timed("protocols", path, snmp.parse)
        if read is not None:
            counters |= read[0].counters
            read_at_ns = read_at_ns or read[1]
    return Protocols(counters, read_at_ns) if counters else None
