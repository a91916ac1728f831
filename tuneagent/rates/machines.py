"""The virtual machines of one sample, put together from what libvirt, the processes and KVM each tell of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tuneagent.model.domain import Domain
from tuneagent.model.domain_view import TOGETHER
from tuneagent.model.hypervisor import Hypervisor, KvmCounters, QemuProcess


@dataclass(frozen=True, slots=True)
class Machine:
    """One virtual machine at one moment, by whatever told of it."""

    key: str
    """The domain's UUID, or ``pid N``."""
    name: str
    uuid: str | None
    pid: int | None
    definition: Domain | None
    kvm: KvmCounters | None
    listed: bool
    """Whether its process was found among the processes, not only named by a counter or a thread."""

    @property
    def runs(self) -> bool:
        """Whether anything shows it running."""
        return self.pid is not None or self.kvm is not None or (self.definition is not None and self.definition.running)

    def would_be_seen(self, other: Hypervisor, here: Hypervisor) -> bool:
        """Whether another sample would have shown it, had it been there: what was not looked at tells nothing."""
        return (
            (self.definition is not None and other.domains is not None)
            or (self.listed and other.processes is not None)
            or (self.kvm is not None and self.key != TOGETHER and other.kvm_source is here.kvm_source)
        )


def machines(hypervisor: Hypervisor) -> tuple[Machine, ...]:
    """Every virtual machine of a sample, each once, in the order of names."""
    domains = _each_once(hypervisor.domains or ())
    processes = _processes(hypervisor)
    counters = _Counters(hypervisor.kvm)
    listed = {process.pid for process in hypervisor.processes or ()}
    pids = _pids(domains, processes.values())
    found = [_defined(key, domain, pids.get(key), counters, listed) for key, domain in domains.items()]
    undefined = processes.keys() - set(pids.values())
    found.extend(_undefined(processes[pid], counters, listed) for pid in sorted(undefined))
    known = {machine.uuid for machine in found}
    found.extend(
        Machine(uuid, uuid, uuid, None, None, kvm, listed=False)
        for uuid, kvm in counters.by_uuid.items()
        if uuid not in known
    )
    if counters.together is not None:
        found.append(Machine(TOGETHER, TOGETHER, None, None, None, counters.together, listed=False))
    return tuple(sorted(found, key=lambda one: (one.name, one.key)))


class _Counters:
    """KVM's counters by process, and those that libvirt told by domain."""

    def __init__(self, counters: Iterable[KvmCounters]) -> None:
        self.by_pid: dict[int, KvmCounters] = {}
        self.by_uuid: dict[str, KvmCounters] = {}
        self.together: KvmCounters | None = None
        for one in counters:
            if one.pid is not None:
                self.by_pid.setdefault(one.pid, one)
            elif one.uuid is not None:
                self.by_uuid.setdefault(one.uuid, one)
            else:
                self.together = one

    def of(self, pid: int | None, uuid: str | None) -> KvmCounters | None:
        found = self.by_pid.get(pid) if pid is not None else None
        return found or (self.by_uuid.get(uuid) if uuid is not None else None)


def _each_once(domains: Sequence[Domain]) -> dict[str, Domain]:
    """Domains by key. Two connections may tell of one domain, and a UUID may stand for another on another one."""
    domains = sorted(domains, key=lambda one: not one.running)
    once = {(domain.uuid, domain.name): domain for domain in reversed(domains)}
    found: dict[str, Domain] = {}
    for domain in domains:
        if once[domain.uuid, domain.name] is domain:
            key = domain.uuid if domain.uuid not in found else f"{domain.uuid} {domain.name}"
            found[key] = domain
    return found


def _processes(hypervisor: Hypervisor) -> dict[int, QemuProcess]:
    """Processes that run a virtual machine: QEMU's, and those that only KVM or a vhost worker names."""
    found = {process.pid: process for process in hypervisor.processes or ()}
    for counters in hypervisor.kvm:
        if counters.pid is not None:
            found.setdefault(counters.pid, QemuProcess(counters.pid, counters.uuid, None))
    for thread in hypervisor.threads:
        if thread.pid not in found:
            found[thread.pid] = QemuProcess(thread.pid, None, None)
    return found


def _pids(domains: Mapping[str, Domain], processes: Iterable[QemuProcess]) -> dict[str, int]:
    """The process of each running domain, by key; where several domains or processes have its UUID, by name as well."""
    by_uuid: dict[str, list[QemuProcess]] = defaultdict(list)
    for process in processes:
        if process.uuid is not None:
            by_uuid[process.uuid].append(process)
    running = Counter(domain.uuid for domain in domains.values() if domain.running)
    pids: dict[str, int] = {}
    for key, domain in domains.items():
        candidates = by_uuid.get(domain.uuid, []) if domain.running else []
        if len(candidates) > 1 or running[domain.uuid] > 1:
            candidates = [one for one in candidates if one.name == domain.name]
        if len(candidates) == 1:
            pids[key] = candidates[0].pid
    return pids


def _defined(key: str, domain: Domain, pid: int | None, counters: _Counters, listed: set[int]) -> Machine:
    kvm = counters.of(pid, domain.uuid if key == domain.uuid else None) if domain.running else None
    return Machine(key, domain.name, domain.uuid, pid, domain, kvm, pid in listed)


def _undefined(process: QemuProcess, counters: _Counters, listed: set[int]) -> Machine:
    pid, key = process.pid, f"pid {process.pid}"
    kvm = counters.of(pid, process.uuid)
    return Machine(key, process.name or key, process.uuid, pid, None, kvm, pid in listed)
