"""The measured side as a hypervisor sees it: the virtual machine's part of the host, and its guest's own view beside.

Figures of the two are told side by side and not divided by each other, so that it does not matter that the guest was
looked at a little later.
"""

from __future__ import annotations

from collections.abc import Iterator

from tuneagent.measure import machine_side
from tuneagent.measure.scope import Scope
from tuneagent.measure.seen import Figure, Seen, counted, known, largest, nothing, times, total, why
from tuneagent.model.domain_view import DomainView, TapRate, ThreadRate
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import View

NOT_ASKED = "the guest is not asked, and only it tells this"
_NO_TAP = "no tap of the virtual machine's interfaces was seen"


def seen(view: View, scope: Scope) -> Seen:
    """What the host shows of a virtual machine, and its guest of itself where it is asked."""
    if view.rates_reason is not None:
        return nothing(view.rates_reason)
    domain = _domain(view, scope.domain)
    if domain is None:
        return nothing("the virtual machine does not run here")
    inside = _inside(domain, scope)
    taps = _taps(domain, scope)
    return Seen(
        seconds=view.interval_s,
        packets_per_sec=total((_packets(view, tap) for tap in taps), _NO_TAP),
        exits_per_sec=_exits(domain),
        interrupts_per_sec=inside.interrupts_per_sec,
        interrupts_per_packet=inside.interrupts_per_packet,
        busy_cpus=times(_used(domain), 1 / 100),
        nic_cpu_percent=inside.nic_cpu_percent if scope.guest else _vcpus_mean(domain),
        vhost_cpu_percent=_shares(domain, ThreadRole.VHOST),
        lock_waits_per_sec=inside.lock_waits_per_sec,
        drops=_drops(view, taps, inside, scope),
        retransmits=_retransmits(view, inside, scope),
        softnet_squeezes_per_sec=inside.softnet_squeezes_per_sec,
        steal_percent=_steal(view, domain),
        run_queue_wait_percent=_waited(domain),
        bits_per_sec=times(total((_octets(view, tap) for tap in taps), _NO_TAP), 8),
        segments_per_sec=inside.segments_per_sec,
        queue_interrupts=inside.queue_interrupts,
        exits_by_kind=dict(domain.kvm.exits_by_kind) if domain.kvm is not None else {},
    )


def _exits(domain: DomainView) -> Figure:
    return known(domain.kvm.exits_per_sec if domain.kvm else None, domain.kvm_reason or "KVM tells no count of exits")


def _domain(view: View, key: str | None) -> DomainView | None:
    every = view.hypervisor.domains if view.hypervisor is not None else ()
    return next((one for one in every if one.key == key), None)


def _inside(domain: DomainView, scope: Scope) -> Seen:
    guest = domain.guest
    if not scope.guest:
        return nothing(NOT_ASKED)
    if guest is None or guest.view is None:
        return nothing((guest.reason if guest is not None else None) or "the guest was not seen")
    meant = (one for one in guest.nics if not scope.macs or (one.interface.mac or "").lower() in scope.macs)
    names = tuple(one.nic.name for one in meant if one.interface.is_virtio)
    if not names:
        return nothing(guest.reason or "none of the guest's NICs was found among the domain's interfaces")
    return machine_side.seen(guest.view, names)


def _taps(domain: DomainView, scope: Scope) -> tuple[TapRate, ...]:
    if not scope.macs:
        return domain.taps
    return tuple(one for one in domain.taps if one.interface and (one.interface.mac or "").lower() in scope.macs)


def _packets(view: View, tap: TapRate) -> Figure:
    name = tap.tap.name
    return known(tap.packets_per_sec, why(view, f"tap.{name}", f"{name}: its packets are not known"))


def _octets(view: View, tap: TapRate) -> Figure:
    """Bytes a second, both ways."""
    reason = why(view, f"tap.{tap.tap.name}", f"{tap.tap.name}: its bytes are not known")
    return total((known(one, reason) for one in (tap.to_guest_bytes_per_sec, tap.from_guest_bytes_per_sec)), "")


def _drops(view: View, taps: tuple[TapRate, ...], inside: Seen, scope: Scope) -> Figure:
    """At the taps, and in the guest where it is asked."""
    lost = total((_dropped(view, tap, way) for tap in taps for way in ("to", "from")), _NO_TAP)
    host = counted(lost, view.interval_s)
    return total((host, inside.drops), "") if scope.guest else host


def _dropped(view: View, tap: TapRate, way: str) -> Figure:
    value = tap.to_guest_drops_per_sec if way == "to" else tap.from_guest_drops_per_sec
    name = tap.tap.name
    return known(value, why(view, f"tap.{name}", f"{name}: its drops are not known"))


def _retransmits(view: View, inside: Seen, scope: Scope) -> Figure:
    """Of the host, where the load's other side is, and of the guest where it is asked."""
    host = machine_side.retransmits(view)
    return total((host, inside.retransmits), "") if scope.guest else host


def _used(domain: DomainView) -> Figure:
    """Percent of a CPU of all threads that serve the virtual machine."""
    vcpus = domain.of_role(ThreadRole.VCPU)
    if not vcpus or (domain.vcpus is not None and len(vcpus) < domain.vcpus):
        return "not all threads of its vCPUs were seen"
    return total(map(_share, domain.threads), "")


def _shares(domain: DomainView, role: ThreadRole) -> Figure:
    return total(map(_share, domain.of_role(role)), _none(role))


def _vcpus_mean(domain: DomainView) -> Figure:
    return times(_shares(domain, ThreadRole.VCPU), 1 / max(1, len(domain.of_role(ThreadRole.VCPU))))


def _share(one: ThreadRate) -> Figure:
    return known(one.cpu_percent, f"thread {one.thread.tid}: its CPU time is not known")


def _waits(domain: DomainView, role: ThreadRole) -> Iterator[Figure]:
    for one in domain.of_role(role):
        yield known(one.wait_percent, f"thread {one.thread.tid}: for how long it waited is not known")


def _waited(domain: DomainView) -> Figure:
    vcpus = tuple(_waits(domain, ThreadRole.VCPU))
    return total((*vcpus, *_waits(domain, ThreadRole.VHOST)) if vcpus else (), _none(ThreadRole.VCPU))


def _steal(view: View, domain: DomainView) -> Figure:
    """What others took of a vCPU here, which the guest counts as its steal, or of a CPU of this machine."""
    parts = (largest(_waits(domain, ThreadRole.VCPU), _none(ThreadRole.VCPU)), machine_side.steal(view))
    return largest([one for one in parts if not isinstance(one, str)] or parts, "")


def _none(role: str) -> str:
    return "no vhost worker serves it" if role == ThreadRole.VHOST else "no thread of its vCPUs was seen"
