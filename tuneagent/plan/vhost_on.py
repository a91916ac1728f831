"""vhost-on: the kernel's vhost-net moves an interface's packets, and QEMU's own threads do not."""

from __future__ import annotations

from tuneagent.model.domain import TAP_TYPES, Backend, DomainInterface
from tuneagent.model.plan import Declined
from tuneagent.plan import domain_interface
from tuneagent.plan.domain_interface import Attribute
from tuneagent.plan.situation import Situation, Solution

_NO_MODULE = (
    "vhost_net is not loaded: `modprobe vhost_net` before the next start, or libvirt refuses to start the domain "
    "(vhost-net was requested for an interface, but is unavailable)"
)
_ELSEWHERE = {
    Backend.VHOST_USER: "its packets are moved by another process over vhost-user, where vhost-net has no part",
    Backend.VDPA: "the vDPA device behind it speaks virtio itself: nothing needs to move its packets",
}


def solve(situation: Situation) -> Solution | Declined:
    """``name='vhost'`` of the interface's ``<driver>`` (https://libvirt.org/formatdomain.html#network-interfaces)."""
    found = domain_interface.definition_of(situation)
    if isinstance(found, str):
        return situation.declined(found)
    domain, interface = found
    host = situation.view.after.hypervisor
    absent = host is not None and not host.vhost_net
    reason = _nothing_to_do(interface, absent=absent) or (
        f"the domain is of type {domain.type}: no KVM, and there vhost-net is not what it waits for"
        if domain.type != "kvm"
        else ""
    )
    if reason:
        return situation.declined(reason)
    return domain_interface.change(
        situation,
        Attribute("name", "vhost", _written),
        "every packet passes through QEMU's own threads, which copy it through user space",
        *((_NO_MODULE,) if absent else ()),
    )


def _nothing_to_do(interface: DomainInterface, *, absent: bool) -> str:
    if interface.backend in _ELSEWHERE:
        return _ELSEWHERE[interface.backend]
    if interface.type not in TAP_TYPES:
        return f"an interface of type {interface.type} has no tap of the host, which vhost-net needs"
    if interface.backend is not Backend.VHOST:
        return ""
    if not absent:
        return "already so: the definition asks for vhost, or leaves the choice to libvirt, which takes it"
    return "the definition allows vhost, and vhost_net is not loaded: `modprobe vhost_net`, then a cold start"


def _written(interface: DomainInterface) -> str:
    return "vhost" if interface.driver_name is None else interface.driver_name
