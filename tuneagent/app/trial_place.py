"""Where a load's processes run: the same CPUs in all rounds, and away from what is measured where that can be said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuneagent.app.trial_scope import Measured
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain_view import DomainView
from tuneagent.model.errors import ParseError
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.irq import IrqLine
from tuneagent.model.load import LoadKind, LoadSpec
from tuneagent.model.plan import Change, TunableKind
from tuneagent.model.snapshot import Snapshot
from tuneagent.parse import cpulist
from tuneagent.report.values import plural

ENOUGH_CPUS = 4
"""With fewer the load cannot keep away from what it measures."""
_ONE_A_CONNECTION = frozenset({LoadKind.SOCKPERF, LoadKind.NETPERF, LoadKind.IPERF3})
"""Programs of one connection each, or with a thread for each."""
_SERVE = frozenset({ThreadRole.VCPU, ThreadRole.VHOST, ThreadRole.EMULATOR})
_PLACES = (TunableKind.VHOST_AFFINITY, TunableKind.EMULATOR_PIN)


@dataclass(frozen=True, slots=True)
class Avoided:
    """CPUs that a load had better leave alone, and what is on them."""

    cpus: CpuSet
    what: str


def of(spec: LoadSpec, measured: Measured, changes: Sequence[Change]) -> tuple[LoadSpec, str]:
    """The load of a trial of ``changes`` with its processes on CPUs, and in words where they are."""
    seen, domain = measured.seen, measured.domain
    if domain is not None:
        return placed(spec, seen, serving(seen, domain, changes))
    return placed(spec, seen, interrupted(seen, measured.scope.nics, changes))


def placed(spec: LoadSpec, seen: Snapshot, avoided: Avoided) -> tuple[LoadSpec, str]:
    """The load with its processes on CPUs, the same in all rounds: unpinned ones make rounds bistable."""
    if spec.kind is LoadKind.PASSIVE:
        return spec, "no load is run"
    if spec.cpus:
        return spec, f"on CPUs {CpuSet.of(spec.cpus)}, as was asked for"
    online = _usable(seen)
    if not online:
        return spec, "not pinned, for which CPUs there are is not known: rounds may fall into two groups"
    free = online - avoided.cpus
    apart = len(online) >= ENOUGH_CPUS and bool(free)
    cpus = tuple(free if apart else online)[-workers(spec) :]
    told = f"away from {avoided.what}" if apart else f"where {avoided.what} may be too"
    few = "" if len(online) >= ENOUGH_CPUS else f", for it has {plural(len(online), 'CPU')}"
    return replace(spec, cpus=cpus), f"on CPUs {CpuSet.of(cpus)}, {told}{few}"


def workers(spec: LoadSpec) -> int:
    """How many processes or threads of a load want a CPU of their own."""
    if spec.kind in _ONE_A_CONNECTION:
        return max(spec.processes, spec.connections)
    return spec.processes


def interrupted(seen: Snapshot, names: Sequence[str], changes: Sequence[Change]) -> Avoided:
    """CPUs that take these interfaces' interrupts in either state, with their siblings."""
    nics = [one for one in seen.nics or () if one.name in names] if names else seen.virtio_nics
    taken = CpuSet()
    for nic in nics:
        for irq in nic.data_irqs_in_use:
            taken |= _places(seen.irq(irq.irq))
    return Avoided(_with_siblings(seen, taken | _named(changes, TunableKind.IRQ_AFFINITY)), "the measured interrupts")


def serving(seen: Snapshot, domain: DomainView, changes: Sequence[Change]) -> Avoided:
    """CPUs where a virtual machine's vCPUs, vhost workers and emulator may run in either state, with their siblings.

    All CPUs where one of them may run anywhere or was not told: nothing can then be called free.
    """
    threads = [one.thread for one in domain.threads if one.thread.role in _SERVE]
    taken = _named(changes, *_PLACES)
    for thread in threads:
        taken |= thread.affinity or _usable(seen)
    return Avoided(_with_siblings(seen, taken if threads else _usable(seen)), "the virtual machine's threads")


def _usable(seen: Snapshot) -> CpuSet:
    topology = seen.cpus
    return (topology.confined_to or topology.online) if topology is not None else CpuSet()


def _with_siblings(seen: Snapshot, taken: CpuSet) -> CpuSet:
    for core in seen.cpus.cores if seen.cpus is not None else ():
        taken |= core if core & taken else CpuSet()
    return taken


def _named(changes: Sequence[Change], *kinds: TunableKind) -> CpuSet:
    """By the new values of these changes."""
    found = CpuSet()
    for change in changes:
        if change.kind in kinds:
            found |= _parsed(change.new)
    return found


def _places(line: IrqLine | None) -> CpuSet:
    return line.served_by if line is not None else CpuSet()


def _parsed(text: str) -> CpuSet:
    try:
        return cpulist.parse(text)
    except ParseError:
        return CpuSet()
