"""A look at what the metrics of a round need and at nothing else: its cost falls into the seconds that are measured.

What moves little (which interrupt serves which queue, where libvirt's domains are) is of a whole look before the round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tuneagent.machine.source import Source
from tuneagent.model.hypervisor import Hypervisor, KvmCounters, QemuProcess
from tuneagent.model.nic import Nic
from tuneagent.model.snapshot import Snapshot
from tuneagent.observe import contention, counters, identity, kvm, nics, taps, threads, topology
from tuneagent.observe.gaps import Gaps
from tuneagent.observe.kvm import Debugfs


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is counted anew."""

    nics: frozenset[str]
    process: QemuProcess | None = None
    """The virtual machine that is meant; None where it is the machine itself, whose own interrupts are wanted then."""
    taps: frozenset[str] = frozenset()


def look(source: Source, known: Snapshot, wanted: Wanted) -> Snapshot:
    """``known`` with its counters as they are now. Never raises for what the machine says, as a whole look."""
    gaps = Gaps(source)
    clock = gaps.clock()
    machine = known
    if wanted.process is None:
        # Rows that did not change since are not parsed again.
        interrupts = counters.observe_interrupts(gaps, known.interrupts)
        machine = replace(known, interrupts=interrupts, nics=_nics(gaps, known, wanted), hypervisor=None)
    elif known.hypervisor is not None:
        host = _hypervisor(gaps, known.hypervisor, wanted.process, wanted.taps)
        machine = replace(known, interrupts=None, nics=(), hypervisor=host)
    cpus = topology.online(gaps)
    topo = replace(known.cpus, online=cpus) if known.cpus is not None and cpus is not None else None
    boot_id = identity.boot_id(gaps)
    return replace(
        machine,
        clock=clock,
        identity=replace(known.identity, boot_id=boot_id) if known.identity is not None else None,
        cpus=topo,
        softnet=counters.observe_softnet(gaps, topo),
        softirqs=None,
        cpu_times=counters.observe_cpu_times(gaps),
        protocols=counters.observe_protocols(gaps),
        contention=contention.counts(gaps) if wanted.process is None else None,
        lock_record=None,
        lock_stat=None,
        missing=tuple(gaps.missing),
    )


def same_structure(one: Snapshot, other: Snapshot, nic_names: frozenset[str]) -> bool:
    """Whether what ``look`` took over from a whole look still holds: CPUs, interfaces, and who has which interrupt."""
    return _structure(one, nic_names) == _structure(other, nic_names)


def _structure(snapshot: Snapshot, nic_names: frozenset[str]) -> tuple[object, ...]:
    rows = snapshot.interrupts.rows if snapshot.interrupts is not None else ()
    interrupts = tuple((row.irq, row.actions) for row in rows if any(one.startswith("virtio") for one in row.actions))
    interfaces = tuple((one.name, one.ifindex, one.mac) for one in snapshot.nics or () if one.name in nic_names)
    return interrupts, interfaces, snapshot.cpus.online if snapshot.cpus is not None else None


def _nics(gaps: Gaps, known: Snapshot, wanted: Wanted) -> tuple[Nic, ...]:
    return tuple(nics.again(gaps, nic) for nic in known.nics or () if nic.name in wanted.nics)


def _hypervisor(gaps: Gaps, known: Hypervisor, process: QemuProcess, tap_names: frozenset[str]) -> Hypervisor:
    """One virtual machine's part: on a host of a thousand the others are not looked at."""
    counted = kvm.observe(gaps, _debugfs(gaps, process.pid), (process,), frozenset({process.pid}), _sized(process))
    return replace(
        known,
        domains=tuple(one for one in known.domains or () if one.uuid == process.uuid),
        processes=(process,),
        kvm_source=counted.source,
        kvm=tuple(one for one in counted.counters if _is_of(one, process)),
        threads=threads.again(gaps, (one for one in known.threads if one.pid == process.pid)),
        threads_left_out=0,
        taps=tuple(taps.again(gaps, one) for one in known.taps if one.name in tap_names),
        virtio=(),
    )


def _debugfs(gaps: Gaps, pid: int) -> Debugfs:
    """KVM names a directory by the thread that made the virtual machine, nearly always the process's first."""
    listing = kvm.listing(gaps)
    own = tuple(name for name in listing.names if name.startswith(f"{pid}-"))
    return Debugfs(own, listing.error) if own else listing


def _sized(process: QemuProcess) -> frozenset[str]:
    return frozenset({process.uuid}) if process.uuid is not None else frozenset()


def _is_of(one: KvmCounters, process: QemuProcess) -> bool:
    return one.pid == process.pid if one.pid is not None else one.uuid == process.uuid
