"""domain-queues: an interface offers as many queue pairs as the virtual machine has vCPUs, within reason."""

from __future__ import annotations

from tuneagent.model.domain import TAP_TYPES, Backend, Domain, DomainInterface
from tuneagent.model.plan import Declined
from tuneagent.plan import domain_interface
from tuneagent.plan.domain_interface import Attribute
from tuneagent.plan.situation import Situation, Solution

MOST_QUEUES = "most_queues"
_GUEST = (
    "the guest's virtio_net takes the smaller of queue pairs and online CPUs by itself (Linux since 2016, commit "
    "449000102901); where it does not: `ethtool -L NIC combined N` inside"
)
_TAP = "a tap made beforehand (type='ethernet' with managed='no') must be multi-queue too"
_WORKER = "each queue pair has a vhost worker of its own, which wants CPU time of the host"
_OTHER_END = "the other end of the vhost-user socket must have as many queues"


def solve(situation: Situation) -> Solution | Declined:
    """``queues`` of the interface's ``<driver>``: at least min(vCPUs, most_queues), and no more than vCPUs.

    Where somebody chose more than most_queues and not more than vCPUs, that stands.
    """
    found = domain_interface.definition_of(situation)
    if isinstance(found, str):
        return situation.declined(found)
    domain, interface = found
    vcpus, now = domain.vcpus, interface.queue_pairs or 1
    if not vcpus or vcpus < 0:
        return situation.declined("how many vCPUs it has is not known")
    reason = _not_by_queues(interface)
    if reason:
        return situation.declined(reason)
    most = situation.policy.parameters[MOST_QUEUES]
    wanted = min(max(now, min(vcpus, most)), vcpus)
    if wanted == now:
        return situation.declined(_already(now, vcpus, most))
    return domain_interface.change(
        situation, Attribute("queues", str(wanted), _written), _why(domain, wanted, now), *_notes(interface)
    )


def _not_by_queues(interface: DomainInterface) -> str:
    if interface.backend is Backend.VDPA:
        return "the vDPA device behind it says how many queue pairs there are"
    if interface.type not in TAP_TYPES | {"vhostuser"}:
        return f"an interface of type {interface.type} has one queue pair, whatever is written"
    return ""


def _already(now: int, vcpus: int, most: int) -> str:
    limit = f"; more than {most} are not asked for" if now < vcpus else ""
    return f"already so: {now} queue pair{'s' if now > 1 else ''} for {vcpus} vCPU{'s' if vcpus > 1 else ''}{limit}"


def _why(domain: Domain, wanted: int, now: int) -> str:
    if wanted < now:
        return f"a queue pair without a vCPU of its own ({domain.vcpus} vCPUs) costs memory and an idle worker"
    return f"all packets of a queue pair are worked on by one of {domain.vcpus} vCPUs at a time"


def _notes(interface: DomainInterface) -> tuple[str, ...]:
    if interface.backend is Backend.VHOST_USER:
        return (_GUEST, _OTHER_END)
    return (_GUEST, *((_WORKER,) if interface.backend is Backend.VHOST else ()), _TAP)


def _written(interface: DomainInterface) -> str:
    return str(interface.queue_pairs or 1)
