"""emulator-pin: QEMU's own threads, and the vhost workers among them, keep off the CPUs of pinned vCPUs."""

from __future__ import annotations

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain import Domain
from tuneagent.model.domain_view import DomainView
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.plan import Change, Declined, Target, TunableKind
from tuneagent.plan.domain_interface import domain_uuid, uri_of, virsh
from tuneagent.plan.host_cpus import Room, room
from tuneagent.plan.situation import Situation, Solution

OF_WORKERS = frozenset({"vhost-worker-placement", "vhost-worker-starved"})
_TRANSIENT = "a transient domain has no stored definition: there, leave --config out"
_WORKERS_TOO = "its vhost workers are threads of QEMU and move with it"
_NOT_WORKERS = (
    "its vhost workers are kernel threads, which follow it by QEMU's control group alone: vhost-affinity places them "
    "surely"
)


def solve(situation: Situation) -> Solution | Declined:
    """``<emulatorpin>``, live and stored (https://libvirt.org/formatdomain.html#cpu-tuning)."""
    domain = situation.domain
    if domain is None:
        return situation.declined("which virtual machine it is about is not known here; run it on the hypervisor")
    uuid = domain_uuid(situation)
    if domain.definition is None or uuid is None:
        return situation.declined("libvirt tells of no such domain; taskset can place the threads of this QEMU")
    if _is_about_kernel_threads(situation, domain):
        return situation.declined(_NOT_WORKERS)
    found = room(situation, domain)
    if isinstance(found, str):
        return situation.declined(found)
    pin = domain.definition.emulator_pin
    if found.suits(pin):
        return situation.declined(f"already so: the emulator is pinned to CPUs {pin}, which no pinned vCPU has")
    return _solution(situation, domain, uuid, found)


def _is_about_kernel_threads(situation: Situation, domain: DomainView) -> bool:
    workers = domain.of_role(ThreadRole.VHOST)
    rules = {finding.rule for finding in situation.findings}
    return bool(rules) and rules <= OF_WORKERS and bool(workers) and all(one.thread.kernel_thread for one in workers)


def _solution(situation: Situation, domain: DomainView, uuid: str, found: Room) -> Solution:
    old = _present(situation, domain)
    change = Change(
        kind=TunableKind.EMULATOR_PIN,
        target=Target(domain_uuid=uuid, thread_role=str(ThreadRole.EMULATOR), uri=uri_of(situation)),
        where=f"libvirt domain {uuid}: <emulatorpin>",
        old=str(old) if old else None,
        new=str(found.cpus),
        why="what QEMU does besides running vCPUs takes its time on CPUs that no pinned vCPU waits for",
        do=_pin(situation, uuid, found.cpus),
        undo=_pin(situation, uuid, old) if old else None,
    )
    return Solution((change,), (*_about_workers(domain), *found.notes, *_about_undo(domain, uuid), _TRANSIENT))


def _pin(situation: Situation, uuid: str, cpus: CpuSet) -> str:
    return virsh(situation, "emulatorpin", uuid, str(cpus), "--live", "--config")


def _present(situation: Situation, domain: DomainView) -> CpuSet:
    """Where the emulator may run now: by its definition, else as it was seen, else the vCPUs' set, else everywhere."""
    definition = domain.definition
    online = situation.cpus.online if situation.cpus is not None else CpuSet()
    seen = tuple(rate.thread.affinity for rate in domain.of_role(ThreadRole.EMULATOR))
    written = _written(definition) if definition is not None else (None, None)
    known = (written[0], *seen, written[1])
    return next((one & online for one in known if one is not None and one & online), online)


def _written(definition: Domain) -> tuple[CpuSet | None, CpuSet | None]:
    return definition.emulator_pin, definition.vcpu_cpus


def _about_workers(domain: DomainView) -> tuple[str, ...]:
    workers = domain.of_role(ThreadRole.VHOST)
    if not workers:
        return ()
    kernel_threads = all(one.thread.kernel_thread for one in workers)
    return (_NOT_WORKERS if kernel_threads else _WORKERS_TOO,)


def _about_undo(domain: DomainView, uuid: str) -> tuple[str, ...]:
    if domain.definition is None or domain.definition.emulator_pin is not None:
        return ()
    return (
        f"there is no <emulatorpin> now; the undo line leaves one with all its CPUs, `virsh edit {uuid}` removes it",
    )
