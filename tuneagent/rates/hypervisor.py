"""A host's virtual machines over the interval: definitions, exits, threads and taps put together by machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tuneagent.model.domain_view import TOGETHER, DomainView, HypervisorView, KvmRate, TapRate, ThreadRate
from tuneagent.model.hypervisor import Hypervisor, KvmSource, ThreadRole, VirtioStatus
from tuneagent.model.missing import Missing
from tuneagent.model.snapshot import Snapshot
from tuneagent.rates import kvm, taps, threads
from tuneagent.rates.comparison import Comparison
from tuneagent.rates.machines import Machine, machines

CAME = "it came within the interval"
ANEW = "it was started anew between the samples"
_SHORT_KEY = 8
"""Characters of a UUID that people read."""
Exits = tuple[KvmRate | None, str | None]


def alone(snapshot: Snapshot, reason: str) -> HypervisorView | None:
    """The virtual machines of one moment: definitions and placement, and ``reason`` for want of rates."""
    hypervisor = snapshot.hypervisor
    if hypervisor is None:
        return None
    found = machines(hypervisor)
    exits: dict[str, Exits] = {one.key: (None, _unseen(one, hypervisor, snapshot.missing) or reason) for one in found}
    owned, stray = taps.compare(None, (), hypervisor.taps, _owners(found))
    rates = _Rates(exits, threads.alone(hypervisor.threads), owned, hypervisor.threads_left_out == 0)
    return HypervisorView(_views(found, rates, hypervisor), (), (), stray)


def compare(both: Comparison) -> HypervisorView | None:
    """The virtual machines of the later sample with what happened since the earlier; None where it has none."""
    before, after = both.before.hypervisor, both.after.hypervisor
    if after is None or before is None:
        return alone(both.after, "the first sample has nothing of the hypervisor's side")
    old, new = machines(before), machines(after)
    pairs = _Pairs(old)
    exits = {one.key: _exits(both, one, pairs.earlier(one), before, after) for one in new}
    owned, stray = taps.compare(both, before.taps, after.taps, _owners(new))
    served = threads.compare(both, before.threads, after.threads)
    rates = _Rates(exits, served, owned, after.threads_left_out == 0)
    now = _Pairs(new)
    return HypervisorView(
        domains=_views(new, rates, after),
        gone=tuple(one.name for one in old if _only_here(one, now.earlier(one), before, after)),
        new=tuple(one.name for one in new if _only_here(one, pairs.earlier(one), after, before)),
        stray_taps=stray,
    )


class _Pairs:
    """Machines of a sample, to be found again from the other one."""

    def __init__(self, found: Iterable[Machine]) -> None:
        found = tuple(found)
        self._by_pid = {one.pid: one for one in found if one.pid is not None}
        self._by_key = {one.key: one for one in found}
        self._by_uuid = {one.uuid: one for one in found if one.uuid is not None}

    def earlier(self, machine: Machine) -> Machine | None:
        """The same machine: by its process where the UUIDs do not speak against it, else by key or UUID."""
        same = self._by_pid.get(machine.pid) if machine.pid is not None else None
        if same is not None and (same.uuid == machine.uuid or None in (same.uuid, machine.uuid)):
            return same
        if machine.uuid is None:
            return self._by_key.get(machine.key) if machine.pid is None else None
        # A key may be a process number, which another machine may have got meanwhile.
        known = self._by_key.get(machine.key)
        return known if known is not None and known.uuid == machine.uuid else self._by_uuid.get(machine.uuid)


def _only_here(machine: Machine, other: Machine | None, here: Hypervisor, there: Hypervisor) -> bool:
    """Whether a machine runs in one sample and not in the other, which would have shown it."""
    if not machine.runs or (other is not None and other.runs):
        return False
    return machine.would_be_seen(there, here)


def _exits(both: Comparison, new: Machine, old: Machine | None, before: Hypervisor, after: Hypervisor) -> Exits:
    """(KVM's rates, why there are none of exits)."""
    unseen = _unseen(new, after, both.after.missing)
    if unseen is not None or new.kvm is None:
        return None, unseen
    if old is None or not old.runs:
        return None, CAME
    if old.pid is not None and new.pid is not None and old.pid != new.pid:
        return None, ANEW
    if old.kvm is None:
        return None, "its counters were not to be seen at the first sample"
    if before.kvm_source is not after.kvm_source:
        return None, f"its counters came from {before.kvm_source} at the first sample and {after.kvm_source} now"
    return kvm.compare(both, f"domain.{new.name}", after.kvm_source, old.kvm, new.kvm)


def _unseen(machine: Machine, hypervisor: Hypervisor, missing: Sequence[Missing]) -> str | None:
    """Why one moment has no counters of a machine; None where it has."""
    if machine.kvm is not None:
        return None
    if not machine.runs:
        return "it does not run"
    if machine.definition is not None and machine.definition.type == "qemu":
        return "it is emulated in software: KVM has no part in it"
    if any(one.pid is None and one.uuid is None for one in hypervisor.kvm):
        return f"{hypervisor.kvm_source} tells of {TOGETHER} together only"
    if hypervisor.kvm_source is not KvmSource.NONE:
        return f"{hypervisor.kvm_source} tells nothing of it"
    why = next((one for one in missing if one.what.removeprefix("hypervisor.").startswith("kvm")), None)
    return "KVM's counters were not to be seen" + (f": {why.source}: {why.detail}" if why else "")


def _owners(found: Iterable[Machine]) -> dict[str, taps.Owner]:
    """Interfaces of running domains by the host's device; none where two claim one device."""
    claims = [
        (interface.target, (machine.key, interface))
        for machine in found
        if machine.definition is not None and machine.definition.running
        for interface in machine.definition.interfaces
        if interface.target is not None
    ]
    often = Counter(target for target, _ in claims)
    return {target: owner for target, owner in claims if often[target] == 1}


@dataclass(frozen=True, slots=True)
class _Rates:
    """What was worked out for all machines at once: by key, by process, by key."""

    exits: dict[str, Exits]
    threads: dict[int, list[ThreadRate]]
    taps: dict[str, list[TapRate]]
    every_thread: bool
    """Whether all threads of vCPUs were read."""

    def vcpu_threads(self, pid: int | None) -> int | None:
        """Threads of vCPUs that a process has; None where it names none, or not all were read."""
        if pid is None or not self.every_thread:
            return None
        return sum(one.thread.role is ThreadRole.VCPU for one in self.threads.get(pid, ())) or None


def _views(found: Iterable[Machine], rates: _Rates, hypervisor: Hypervisor) -> tuple[DomainView, ...]:
    status: dict[str, list[VirtioStatus]] = {}
    for one in hypervisor.virtio:
        status.setdefault(one.uuid, []).append(one)
    return _told_apart([_view(machine, rates, status) for machine in found])


def _view(machine: Machine, rates: _Rates, status: dict[str, list[VirtioStatus]]) -> DomainView:
    exits, reason = rates.exits[machine.key]
    return DomainView(
        key=machine.key,
        name=machine.name,
        pid=machine.pid,
        definition=machine.definition,
        kvm=exits,
        kvm_reason=reason,
        threads=tuple(rates.threads.get(machine.pid, ())) if machine.pid is not None else (),
        taps=tuple(rates.taps.get(machine.key, ())),
        virtio=tuple(status.get(machine.uuid, ())) if machine.uuid is not None and machine.runs else (),
        vcpus_seen=(machine.kvm.vcpu_count if machine.kvm is not None else None) or rates.vcpu_threads(machine.pid),
        counters=machine.kvm,
    )


def _told_apart(views: list[DomainView]) -> tuple[DomainView, ...]:
    """Each with a subject of its own: names repeat over connections, and one may be made of another and a device."""
    names = {view.name for view in views}
    if len(names) == len(views) and not any(" " in name for name in names):
        return tuple(views)
    often = Counter(subject for view in views for subject in _subjects(view))
    alike = [view for view in views if any(often[subject] > 1 for subject in _subjects(view))]
    if not alike:
        return tuple(views)
    starts = Counter((view.name, _start(view.key)) for view in alike)
    marks = {
        view.key: view.key if starts[view.name, _start(view.key)] > 1 else _start(view.key)
        for view in alike
        if view.name != view.key
    }
    return tuple(replace(view, apart=marks.get(view.key)) for view in views)


def _start(key: str) -> str:
    """What people read of a UUID; a process number whole."""
    return key if key.startswith("pid ") else key[:_SHORT_KEY]


def _subjects(view: DomainView) -> set[str]:
    interfaces = view.definition.interfaces if view.definition is not None else ()
    return {view.subject, *(view.subject_of(interface) for interface in interfaces)}
