"""CPUs: online, possible, isolated, nohz_full, nodes and SMT siblings."""

from __future__ import annotations

import re
from functools import partial

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.topology import CpuTopology
from tuneagent.observe.gaps import Gaps, some_cpus
from tuneagent.parse import cmdline, cpulist, process_status

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
_NODE = re.compile(r"node([0-9]{1,5})")


def observe(gaps: Gaps) -> CpuTopology | None:
    """The topology; None when even the online CPUs are unknown."""
    cpus = online(gaps)
    if cpus is None:
        return None
    possible = gaps.parsed("cpus.possible", f"{CPU}/possible", some_cpus, optional=True)
    boot = _boot(gaps, possible)
    return CpuTopology(
        online=cpus,
        possible=possible,
        isolated=_set(gaps, "isolated", boot.isolcpus if boot else CpuSet()),
        nohz_full=_set(gaps, "nohz_full", boot.nohz_full if boot else CpuSet()),
        nodes=_nodes(gaps),
        cores=_cores(gaps, cpus),
        confined_to=_confined(gaps, cpus),
    )


def online(gaps: Gaps) -> CpuSet | None:
    """The online CPUs."""
    return gaps.parsed("cpus.online", f"{CPU}/online", some_cpus)


def _boot(gaps: Gaps, possible: CpuSet | None) -> cmdline.BootOptions | None:
    # "N" in a list of a boot option is nr_cpu_ids - 1, the last possible CPU.
    parse = partial(cmdline.parse, last_cpu=max(possible) if possible else None)
    boot = gaps.parsed("cpus.boot_options", "/proc/cmdline", parse, optional=True)
    for fault in boot.faults if boot else ():
        gaps.missing.append(fault.missing("cpus.boot_options", "/proc/cmdline"))
    return boot


def _set(gaps: Gaps, name: str, from_boot_options: CpuSet) -> CpuSet:
    text = gaps.text(f"cpus.{name}", f"{CPU}/{name}", optional=True)
    if text is None:
        return from_boot_options
    if text.text.strip() == "(null)":  # drivers/base/cpu.c prints a mask that was never allocated: no nohz_full=
        return CpuSet()
    parsed = gaps.understood(f"cpus.{name}", f"{CPU}/{name}", text.text, cpulist.parse)
    return from_boot_options if parsed is None else parsed


def _nodes(gaps: Gaps) -> dict[int, CpuSet]:
    nodes: dict[int, CpuSet] = {}
    for name in gaps.names("cpus.nodes", NODE, optional=True) or ():
        match = _NODE.fullmatch(name)
        if match is None:
            continue
        cpus = gaps.parsed(f"cpus.nodes.{match[1]}", f"{NODE}/{name}/cpulist", cpulist.parse)
        if cpus:  # a node may have memory only
            nodes[int(match[1])] = cpus
    return nodes


def _cores(gaps: Gaps, online: CpuSet) -> tuple[CpuSet, ...]:
    cores: dict[int, CpuSet] = {}
    for cpu in online:
        siblings = _siblings(gaps, cpu) & online
        if cpu not in siblings:
            siblings = CpuSet.of([cpu])
        cores.setdefault(next(iter(siblings)), siblings)
    return tuple(cores[first] for first in sorted(cores))


def _siblings(gaps: Gaps, cpu: int) -> CpuSet:
    # core_cpus_list replaced thread_siblings_list in 5.x; both stay.
    for name in ("core_cpus_list", "thread_siblings_list"):
        path = f"{CPU}/cpu{cpu}/topology/{name}"
        siblings = gaps.parsed(f"cpus.cores.{cpu}", path, some_cpus, optional=True)
        if siblings:
            return siblings
    return CpuSet.of([cpu])


def _confined(gaps: Gaps, online: CpuSet) -> CpuSet | None:
    allowed = gaps.parsed("cpus.confined_to", "/proc/self/status", process_status.parse, optional=True)
    if allowed is None or online <= allowed:
        return None
    return allowed & online
