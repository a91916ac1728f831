"""The host's side of virtual machines: their processes, and what the siblings tell. None where nothing runs any."""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.model.domain import Domain
from tuneagent.model.errors import SourceError
from tuneagent.model.hypervisor import QEMU_NAMES, Hypervisor, QemuProcess, VirtioStatus
from tuneagent.model.missing import Reason
from tuneagent.observe import domains, host_parameters, kvm, taps, threads
from tuneagent.observe.gaps import Gaps
from tuneagent.observe.kvm import Counted, Debugfs
from tuneagent.observe.taps import Found
from tuneagent.parse import qemu_command, virtio_status

SOCKETS = frozenset({"libvirt-sock", "libvirt-sock-ro", "virtqemud-sock", "virtqemud-sock-ro"})
LIBVIRT = "/run/libvirt"
CAPTURED = "/captured"
"""Of a captured tree; the running machine has none."""
_MONITOR = "virtio-status"


@dataclass(frozen=True, slots=True)
class _Signs:
    """What shows that this machine runs virtual machines: each costs a directory or less."""

    processes: tuple[QemuProcess, ...] | None
    refused: SourceError | None
    """Why processes are not seen."""
    debugfs: Debugfs
    libvirt: bool
    """libvirt is here, or was captured: only then it is asked."""
    taps: tuple[Found, ...]

    @property
    def any(self) -> bool:
        """Whether there is one. That the kvm module is loaded is none: many a plain guest has it."""
        tapped = any(tap.is_of_a_monitor for tap in self.taps)
        return bool(self.processes or self.libvirt or self.debugfs.machines) or tapped


def observe(gaps: Gaps, previous: Hypervisor | None = None, detail: frozenset[str] = frozenset()) -> Hypervisor | None:
    """What this machine shows beside its virtual machines; None where nothing shows that it runs any.

    ``detail`` are names or UUIDs of domains of which every vCPU's thread and every counter is read, whatever it costs.
    ``previous`` only saves work.
    """
    signs = _signs(gaps)
    if not signs.any and not _counts_exits(gaps, signs.debugfs):
        return None
    if signs.refused is not None and signs.refused.reason is not Reason.NOT_CAPTURED:
        gaps.missing.append(signs.refused.missing("hypervisor.processes"))
    processes = signs.processes or ()
    known = domains.observe(gaps) if signs.libvirt or processes else None
    in_full = _pids(processes, known or (), detail)
    sized = frozenset(domain.uuid for domain in known or () if domain.vcpus is not None)
    counted = kvm.observe(gaps, signs.debugfs, processes, in_full, sized)
    served = threads.observe(gaps, _wanted(signs, counted, in_full), _unchanged(previous, known))
    return Hypervisor(
        domains=known,
        processes=signs.processes,
        kvm_source=counted.source,
        kvm=counted.counters,
        threads=served.threads,
        threads_left_out=served.left_out,
        taps=taps.observe(gaps, signs.taps),
        parameters=host_parameters.observe(gaps),
        memory=host_parameters.memory(gaps),
        virtio=_virtio(gaps) if known else (),
    )


def _signs(gaps: Gaps) -> _Signs:
    refused: SourceError | None = None
    processes: tuple[QemuProcess, ...] | None = None
    try:
        processes = tuple(_process(one.pid, one.command) for one in gaps.source.processes(QEMU_NAMES))
    except SourceError as error:
        refused = error
    libvirt = bool(SOCKETS.intersection(gaps.listed(LIBVIRT))) or "domains.json" in gaps.listed(CAPTURED)
    return _Signs(processes, refused, kvm.listing(gaps), libvirt, taps.find(gaps))


def _process(pid: int, command: tuple[str, ...]) -> QemuProcess:
    told = qemu_command.parse(command)
    return QemuProcess(pid, told.uuid, told.name)


def _counts_exits(gaps: Gaps, debugfs: Debugfs) -> bool:
    """Whether KVM alone shows that something runs; one note where it is closed to root as well.

    To a user without rights all of debugfs is closed, with a remedy, which says nothing of this machine.
    """
    error = debugfs.error
    try:
        if error is None:
            return kvm.together(gaps, debugfs)
    except SourceError as refused:
        error = refused
    if error.reason is Reason.PERMISSION and error.remedy is None:
        gaps.missing.append(error.missing("hypervisor.kvm"))
    return False


def _pids(processes: tuple[QemuProcess, ...], known: tuple[Domain, ...], detail: frozenset[str]) -> frozenset[int]:
    uuids = {domain.uuid for domain in known if not detail.isdisjoint((domain.name, domain.uuid))}
    return frozenset(
        one.pid for one in processes if one.uuid in uuids or not detail.isdisjoint((one.name or "", one.uuid or ""))
    )


def _wanted(signs: _Signs, counted: Counted, in_full: frozenset[int]) -> threads.Wanted:
    pids = {one.pid for one in signs.processes or ()} | {one.pid for one in counted.counters if one.pid is not None}
    return threads.Wanted(frozenset(pids), in_full, dict(signs.debugfs.machines))


def _unchanged(previous: Hypervisor | None, known: tuple[Domain, ...] | None) -> Hypervisor | None:
    """The earlier sample, if no virtual machine has got or lost a vCPU or an interface since."""
    if previous is None or len(previous.domains or ()) != len(known or ()):
        return None
    for old, new in zip(previous.domains or (), known or (), strict=True):
        if old is not new and (old.uuid, old.running, old.vcpus, old.interfaces) != (
            new.uuid,
            new.running,
            new.vcpus,
            new.interfaces,
        ):
            return None
    return previous


def _virtio(gaps: Gaps) -> tuple[VirtioStatus, ...]:
    """What the monitor says; that it was not asked, which taints a domain, is no gap."""
    before = len(gaps.missing)
    answer = gaps.captured("hypervisor.virtio", _MONITOR, virtio_status.parse)
    gaps.missing[before:] = [
        gap for gap in gaps.missing[before:] if gap.reason not in {Reason.ABSENT, Reason.NOT_CAPTURED}
    ]
    return answer[0] if answer else ()
