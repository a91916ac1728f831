"""What only both sides together can tell. Each figure is None with its reason where one side lacks its half.

Injections: with APICv, AVIC or posted interrupts the processor delivers most interrupts itself, and KVM's
``irq_injections`` (arch/x86/kvm) does not count those: 0.02 injections an interrupt is then normal, and about 1 is
normal without. Kicks: one that an ioeventfd takes inside the kernel by way of MMIO is no ``mmio_exits``, which counts
those handed to QEMU only: many kicks an exit are normal, about 1 is normal where ioeventfd is off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tuneagent.join import interrupts
from tuneagent.join.known import Known, believed, over, told, total, unknown
from tuneagent.model.domain import Backend
from tuneagent.model.domain_view import DomainView, JoinedNic, JoinedRates, TapRate
from tuneagent.model.figure import figure
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import NicRate, View

MOST_APART = 0.05
"""Part by which the intervals of the two sides may differ."""
_ROUNDING = 1e-9
_NO_PACKETS = "no packets passed within the interval"
_NO_NICS = "none of the guest's virtio NICs was found among the domain's interfaces"
_NO_TAPS = "no tap of the domain's interfaces was seen"
_US_PER_PERCENT = 1e6 / 100


def joined(host: View, domain: DomainView, guest: View, nics: Sequence[JoinedNic], *, apart: str | None) -> JoinedRates:
    """The joined rates of one virtual machine; ``apart`` says why the two sides may not be divided by each other."""
    virtio = [one for one in nics if one.interface.is_virtio]
    both = _both_sides(domain, guest, virtio) if apart is None else {}
    vhost = over(_vhost_us(domain), _vhost_packets(domain), _NO_PACKETS)
    if host.rates_reason is not None:
        vhost = unknown(host.rates_reason)
    figures = {name: both.get(name) or unknown(apart or "") for name in _BOTH} | {"vhost_cpu_us_per_packet": vhost}
    return JoinedRates(
        **{name: known.value for name, known in figures.items()},
        reasons={name: known.reason for name, known in figures.items() if known.reason is not None},
    )


_BOTH = ("exits_per_packet", "guest_interrupts_per_delivered_packet", "injections_per_interrupt", "kicks_per_io_exit")


def _both_sides(domain: DomainView, guest: View, nics: Sequence[JoinedNic]) -> dict[str, Known]:
    delivered = [one for one in nics if one.tap is not None]
    return {
        "exits_per_packet": over(_kvm(domain, "exits"), _packets(nics), _NO_PACKETS),
        "guest_interrupts_per_delivered_packet": over(
            total(map(_receive_interrupts, delivered), _NO_TAPS), _delivered(delivered), _NO_PACKETS
        ),
        "injections_per_interrupt": over(
            _kvm(domain, "irq_injections"),
            _checked(interrupts.per_sec(guest), "interrupts"),
            "the guest took no interrupts within the interval",
        ),
        "kicks_per_io_exit": over(
            _kicks(nics), _io_exits(domain), "there were no io and mmio exits within the interval"
        ),
    }


def apart(host: View, guest: View, origin: str) -> str | None:
    """Why figures of the two sides may not be divided by each other; None where they may."""
    if host.interval_s is None:
        return host.rates_reason or "the host's samples have no interval"
    if guest.interval_s is None:
        return f"the guest: {guest.rates_reason or 'its samples have no interval'}"
    longer, shorter = max(host.interval_s, guest.interval_s), min(host.interval_s, guest.interval_s)
    if not longer - shorter <= MOST_APART * longer + _ROUNDING:
        return (
            f"the guest's interval of {figure(float(guest.interval_s))} s and the host's of "
            f"{figure(float(host.interval_s))} s differ by more than {MOST_APART:.0%}"
        )
    return _other_time(host, guest) if origin.startswith("snapshot") else None


def _other_time(host: View, guest: View) -> str | None:
    """A guest's file may be of another day. Its agent answers now, whatever its clock says."""
    ours, theirs = host.after.clock, guest.after.clock
    if ours is None or theirs is None or host.interval_s is None:
        return None
    seconds = abs(ours.realtime_ns - theirs.realtime_ns) / 1e9
    if seconds <= host.interval_s:
        return None
    return f"by their clocks the samples of the guest and of the host are {figure(seconds)} s apart"


def _kvm(domain: DomainView, name: str) -> Known:
    rate = domain.kvm.per_sec.get(name) if domain.kvm is not None else None
    return told(rate) if rate is not None else unknown(domain.kvm_reason or f"KVM tells no {name} here")


def _io_exits(domain: DomainView) -> Known:
    return total((_kvm(domain, "io_exits"), _kvm(domain, "mmio_exits")), "")


def _packets(nics: Iterable[JoinedNic]) -> Known:
    """Packets a second that the guest counted on its virtio NICs."""
    parts = (
        believed(value, f"{one.nic.name}'s packets")
        for one in nics
        for value in (_of(one.rate, "rx_packets_per_sec"), _of(one.rate, "tx_packets_per_sec"))
    )
    return _checked(total(parts, _NO_NICS), "packets")


def _of(rate: NicRate | None, name: str) -> float | None:
    value: float | None = getattr(rate, name, None)
    return value


def _receive_interrupts(nic: JoinedNic) -> Known:
    queues = nic.rate.queues if nic.rate is not None else ()
    rates = [queue.rx_interrupts_per_sec for queue in queues if queue.rx_irq is not None]
    name = nic.nic.name
    parts = (believed(rate, f"{name}'s receive interrupts") for rate in rates)
    return total(parts, f"{name} has no receive interrupt of its own in the guest")


def _delivered(nics: Iterable[JoinedNic]) -> Known:
    """Packets a second that the host handed to the guest; those dropped before are not among a tap's tx_packets."""
    return total((_tap(one.tap, "to_guest_packets_per_sec") for one in nics if one.tap is not None), _NO_TAPS)


def _tap(tap: TapRate, name: str) -> Known:
    value: float | None = getattr(tap, name)
    return told(value) if value is not None else unknown(f"the packets of {tap.tap.name} are not known")


def _kicks(nics: Iterable[JoinedNic]) -> Known:
    parts: list[Known] = []
    for one in nics:
        kicks = [
            kick
            for queue in (one.rate.queues if one.rate else ())
            for kick in (queue.rx_kicks_per_sec, queue.tx_kicks_per_sec)
        ]
        if not kicks or None in kicks:
            name = one.nic.name
            return unknown(f"{name}'s kicks are not told: ethtool's statistics have them, a guest agent does not")
        parts.extend(believed(kick, f"{one.nic.name}'s kicks") for kick in kicks)
    return total(parts, _NO_NICS)


def _vhost_us(domain: DomainView) -> Known:
    """CPU time of the vhost workers, in µs a second."""
    workers = domain.of_role(ThreadRole.VHOST)
    parts = (
        unknown(f"the CPU time of vhost worker {one.thread.tid} is not known")
        if one.cpu_percent is None
        else told(one.cpu_percent * _US_PER_PERCENT)
        for one in workers
    )
    return total(parts, "no vhost worker serves it")


def _vhost_packets(domain: DomainView) -> Known:
    """Packets a second through the taps that vhost serves."""
    taps = [one for one in domain.taps if one.interface is None or one.interface.backend is Backend.VHOST]
    ways = ("to_guest_packets_per_sec", "from_guest_packets_per_sec")
    return total((_tap(one, way) for one in taps for way in ways), _NO_TAPS)


def _checked(known: Known, what: str) -> Known:
    return known if known.value is None else believed(known.value, f"its {what}")
