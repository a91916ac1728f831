"""The measured side by its own view: the trial runs in the guest, or on a machine of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tuneagent.measure.seen import Figure, Seen, counted, known, largest, nothing, over, times, total, why
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.nic import Nic
from tuneagent.model.view import CpuRate, IrqRate, NicRate, View

STRAY = 0.01
"""Of the NIC's interrupts: a CPU that took fewer is not counted among the NIC's."""
MOST_CELLS = 4096
"""Queues times CPUs of which each is told, also those that took nothing."""
_NOT_FROM_INSIDE = "only its hypervisor sees {}: measure from there"
_NO_NIC = "no virtio NIC here"
_NO_CPU = "the CPUs' times are not known"
_SHARED = {QueueRole.SHARED_QUEUES: "virtqueues", QueueRole.DEVICE: "device"}


def seen(view: View, names: tuple[str, ...] = ()) -> Seen:
    """What a machine shows of these interfaces of it, by default its virtio NICs, and of its CPUs."""
    if view.rates_reason is not None:
        return nothing(view.rates_reason)
    nics = [_Interface(view, name) for name in names or (nic.name for nic in view.after.virtio_nics)]
    cpus = list(_cpus(view))
    return Seen(
        seconds=view.interval_s,
        packets_per_sec=total((nic.packets for nic in nics), _NO_NIC),
        exits_per_sec=_NOT_FROM_INSIDE.format("its exits"),
        interrupts_per_sec=total((nic.interrupts for nic in nics), _NO_NIC),
        interrupts_per_packet=_per_packet(nics),
        busy_cpus=times(total((_busy(view, one) for one in cpus), why(view, "cpu_times", _NO_CPU)), 1 / 100),
        nic_cpu_percent=_nic_cpus(view, nics, cpus),
        vhost_cpu_percent=_NOT_FROM_INSIDE.format("its vhost workers"),
        lock_waits_per_sec=_lock_waits(view),
        drops=total((nic.drops for nic in nics), _NO_NIC),
        retransmits=retransmits(view),
        softnet_squeezes_per_sec=total((_squeezed(view, one) for one in cpus), why(view, "softnet", _NO_CPU)),
        steal_percent=steal(view),
        run_queue_wait_percent=_NOT_FROM_INSIDE.format("for how long its vCPUs wait for a CPU"),
        bits_per_sec=times(total((nic.octets for nic in nics), _NO_NIC), 8),
        segments_per_sec=_segments(view),
        queue_interrupts=_by_queue(view, nics),
    )


class _Interface:
    """One interface over the interval."""

    def __init__(self, view: View, name: str) -> None:
        self.name = name
        self.nic: Nic | None = view.after.nic(name)
        self._rate: NicRate | None = view.nics.get(name)
        self._view = view

    @property
    def irqs(self) -> tuple[QueueIrq, ...]:
        return self.nic.data_irqs if self.nic is not None else ()

    @property
    def packets(self) -> Figure:
        return self._told(self._rate.packets_per_sec if self._rate else None, "its packets are not known")

    @property
    def octets(self) -> Figure:
        """Bytes a second, both ways."""
        rate = self._rate
        parts = (rate.rx_bytes_per_sec, rate.tx_bytes_per_sec) if rate is not None else (None,)
        return total((self._told(part, "its bytes are not known") for part in parts), "")

    @property
    def received(self) -> Figure:
        return self._told(self._rate.rx_packets_per_sec if self._rate else None, "its packets are not known")

    @property
    def interrupts(self) -> Figure:
        return self._sum(self.irqs)

    @property
    def receive_interrupts(self) -> Figure:
        """Those of receive queues; all where they share vectors with transmit queues."""
        own = self.nic.irqs_of(QueueRole.INPUT) if self.nic is not None else ()
        return self._sum(own or self.irqs)

    @property
    def drops(self) -> Figure:
        rate = self._rate
        if rate is None:
            return self._told(None, "its drops are not known")
        parts = (rate.rx_drops_per_sec, rate.tx_drops_per_sec, rate.rx_missed_per_sec)
        lost = total((self._told(part, "its drops are not known") for part in parts), "")
        return counted(lost, rate.seconds)

    def _told(self, value: float | None, otherwise: str) -> Figure:
        return known(value, why(self._view, f"nic.{self.name}", f"{self.name}: {otherwise}"))

    def _sum(self, irqs: Iterable[QueueIrq]) -> Figure:
        return total(map(self._fired, irqs), f"{self.name} has no interrupts of its own")

    def _fired(self, irq: QueueIrq) -> Figure:
        rate = self._view.rate_of(irq)
        otherwise = f"interrupt {irq.irq} of {self.name} came or went within the interval"
        return known(rate.per_sec if rate else None, why(self._view, (f"irq.{irq.irq}", "interrupts"), otherwise))


def _per_packet(nics: list[_Interface]) -> Figure:
    """A CPU that came or went does not matter here: both are counts of the machine itself."""
    interrupts = total((nic.receive_interrupts for nic in nics), _NO_NIC)
    received = total((nic.received for nic in nics), _NO_NIC)
    return over(interrupts, received, "no packet was received")


def _by_queue(view: View, nics: list[_Interface]) -> dict[str, dict[str, float]]:
    """Also what was 0, for the mean of several rounds; left out only where that would be thousands."""
    rates = {
        _queue_name(irq) if len(nics) == 1 else f"{nic.name} {_queue_name(irq)}": rate
        for nic in nics
        for irq in nic.irqs
        if (rate := view.rate_of(irq)) is not None
    }
    cpus = sorted({cpu for rate in rates.values() for cpu in rate.per_cpu})
    return {name: _by_cpu(rate, cpus if len(rates) * len(cpus) <= MOST_CELLS else ()) for name, rate in rates.items()}


def _by_cpu(rate: IrqRate, cpus: Iterable[int]) -> dict[str, float]:
    per_sec = dict.fromkeys(cpus, 0.0) | rate.per_cpu_per_sec
    return {str(cpu): per_sec[cpu] for cpu in sorted(per_sec)}


def _queue_name(irq: QueueIrq) -> str:
    return _SHARED.get(irq.role) or f"{irq.role.value}.{irq.queue}"


def _cpus(view: View) -> Iterator[CpuRate | int]:
    """The online CPUs; the number of one that nothing is known of."""
    online = view.after.cpus.online if view.after.cpus is not None else sorted(view.cpus)
    return (view.cpus.get(cpu, cpu) for cpu in online)


def _busy(view: View, one: CpuRate | int) -> Figure:
    """In percent; without what others took, for nobody here used it."""
    if isinstance(one, int):
        return _unknown_cpu(view, one)
    if one.idle_percent is None:
        return _unknown_cpu(view, one.cpu)
    return max(0.0, 100.0 - one.idle_percent - (one.steal_percent or 0.0))


def _squeezed(view: View, one: CpuRate | int) -> Figure:
    cpu = one if isinstance(one, int) else one.cpu
    value = None if isinstance(one, int) else one.softnet_squeezed_per_sec
    return known(value, why(view, (f"cpu{cpu}.softnet", "softnet"), f"CPU {cpu}: its softnet counters are not known"))


def _unknown_cpu(view: View, cpu: int) -> str:
    return why(view, (f"cpu{cpu}", "cpu_times"), f"CPU {cpu}: its times are not known")


def _nic_cpus(view: View, nics: list[_Interface], cpus: list[CpuRate | int]) -> Figure:
    """The mean busy share of the CPUs that took the interrupts; of all where an interface has none."""
    took: Counter[int] = Counter()
    for irq in (irq for nic in nics for irq in nic.irqs):
        rate = view.rate_of(irq)
        took.update(dict(rate.per_cpu) if rate is not None else {})
    least = STRAY * took.total()
    meant = [one for one in cpus if not took or took[one if isinstance(one, int) else one.cpu] > least]
    return times(total((_busy(view, one) for one in meant), why(view, "cpu_times", _NO_CPU)), 1 / max(1, len(meant)))


def steal(view: View) -> Figure:
    """In percent of the CPU that lost most to others; whole clock ticks, as the kernel counts it."""
    if view.rates_reason is not None:
        return view.rates_reason
    parts = (known(one.steal_percent, _unknown_cpu(view, one.cpu)) for one in view.cpus.values())
    return largest(parts, why(view, "cpu_times", _NO_CPU))


def _lock_waits(view: View) -> Figure:
    told = view.contention
    reason = (told.counted_reason if told else None) or why(view, "contention", "waits for locks were not counted")
    return known(told.per_sec if told else None, reason)


def _segments(view: View) -> Figure:
    """/proc/net/snmp's InSegs and OutSegs (net/ipv4): tcp_v4_rcv counts one for what GRO has merged, __tcp_transmit_skb
    each segment that TSO will cut, but none that is sent again.
    """
    told = view.protocols
    reason = why(view, "protocols", "the protocols' counters are not known")
    parts = (told.tcp_in_segments_per_sec, told.tcp_out_segments_per_sec) if told is not None else (None,)
    return total((known(part, reason) for part in parts), reason)


def retransmits(view: View) -> Figure:
    """TCP segments that this machine sent again within the interval."""
    rate = view.protocols.tcp_retransmits_per_sec if view.protocols is not None else None
    return counted(known(rate, why(view, "protocols", "the protocols' counters are not known")), view.interval_s)
