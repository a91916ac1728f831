"""What no policy is worked out on: another machine's settings, no virtio NIC, nothing that is there now."""

from __future__ import annotations

from tuneagent.plan.conflicts import MACHINE
from tuneagent.plan.questions import CPU, OTHER_INTERRUPT, is_of_domains, is_of_the_machine
from tuneagent.plan.registry import OF_ANY_NIC
from tuneagent.plan.situation import Situation

_NAME_MAX = 15
"""IFNAMSIZ - 1 (include/uapi/linux/if.h)."""


def not_ours(situation: Situation) -> str | None:
    """Why not; None where it may be worked out."""
    identity, nic = situation.view.after.identity, situation.nic
    if identity is not None and identity.container is not None:
        return f"this is a container ({identity.container}): interrupts and CPUs are its host's"
    if situation.domain is not None:
        return None
    if nic is None:
        return _without_nic(situation)
    if not nic.name.isprintable() or len(nic.name) > _NAME_MAX or "/" in nic.name or nic.name in {"", ".", ".."}:
        return "its name is not one that the kernel would give an interface"
    if nic.virtio is None and not OF_ANY_NIC.issuperset(situation.policy.actions):
        return "not a virtio NIC"
    return None


def _without_nic(situation: Situation) -> str | None:
    if is_of_the_machine(situation.policy):
        return None
    if is_of_domains(situation.policy):
        return "no running virtual machine is seen here that it could be about"
    if situation.subject == MACHINE:
        return "no virtio NIC here"
    if OTHER_INTERRUPT.fullmatch(situation.subject):
        return "no interrupt of a virtio NIC's queue, as far as the events tell"
    on_cpu = CPU.fullmatch(situation.subject)
    return "no virtio NIC has its queue interrupts on this CPU" if on_cpu else "no such interface now"
