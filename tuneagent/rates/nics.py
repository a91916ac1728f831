"""Interfaces against themselves: packets, drops, and what a packet cost in interrupts and notifications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.nic import Nic
from tuneagent.model.view import IrqRate, NicRate, QueueRate
from tuneagent.rates.comparison import Comparison
from tuneagent.rates.counters import delta_64, ratio, sum_known

_LINK_COUNTERS = (
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_dropped",
    "tx_dropped",
    "rx_errors",
    "tx_errors",
    "rx_missed_errors",
)
_QUEUE_COUNTERS = ("rx_packets", "tx_packets", "rx_kicks", "tx_kicks", "rx_drops", "tx_drops")


def compare(both: Comparison, irqs: Mapping[int, IrqRate]) -> dict[str, NicRate]:
    """Rates by interface name, of those that are the same device in both samples."""
    return {nic.name: _nic(both, old, nic, irqs) for old, nic in _nics(both)}


def _nics(both: Comparison) -> Iterator[tuple[Nic, Nic]]:
    for nic in both.after.nics or ():
        old = both.before.nic(nic.name)
        if old is None:
            both.unknown(f"nic.{nic.name}", "/sys/class/net", "the interface came within the interval")
        elif (old.mac, old.bus_address, old.ifindex) != (nic.mac, nic.bus_address, nic.ifindex):
            both.unknown(f"nic.{nic.name}", "/sys/class/net", "another device has this name now")
        else:
            yield old, nic
    for old in both.before.nics or ():
        if both.after.nics is not None and both.after.nic(old.name) is None:
            both.unknown(f"nic.{old.name}", "/sys/class/net", "the interface went within the interval")


def _nic(both: Comparison, old: Nic, nic: Nic, irqs: Mapping[int, IrqRate]) -> NicRate:
    rates, seconds = _link_rates(both, old, nic)
    queues = _queues(both, old, nic, irqs)
    rx_irqs = _sum_rates(irqs, nic.irqs_of(QueueRole.INPUT))
    tx_irqs = _sum_rates(irqs, nic.irqs_of(QueueRole.OUTPUT))
    every = _sum_rates(irqs, nic.data_irqs)
    rx, tx = rates["rx_packets"], rates["tx_packets"]
    return NicRate(
        name=nic.name,
        seconds=seconds,
        rx_packets_per_sec=rx,
        tx_packets_per_sec=tx,
        rx_bytes_per_sec=rates["rx_bytes"],
        tx_bytes_per_sec=rates["tx_bytes"],
        rx_drops_per_sec=rates["rx_dropped"],
        tx_drops_per_sec=rates["tx_dropped"],
        rx_errors_per_sec=rates["rx_errors"],
        tx_errors_per_sec=rates["tx_errors"],
        rx_missed_per_sec=rates["rx_missed_errors"],
        queues=queues,
        interrupts_per_sec=every,
        rx_interrupts_per_packet=ratio(rx_irqs, rx),
        tx_interrupts_per_packet=ratio(tx_irqs, tx),
        interrupts_per_packet=ratio(every, None if rx is None or tx is None else rx + tx),
        rx_kicks_per_packet=ratio(sum_known(queue.rx_kicks_per_sec for queue in queues), rx),
        tx_kicks_per_packet=ratio(sum_known(queue.tx_kicks_per_sec for queue in queues), tx),
        tx_timeouts=_timeouts(old, nic),
    )


def _link_rates(both: Comparison, old: Nic, nic: Nic) -> tuple[dict[str, float | None], float]:
    before, after = old.statistics, nic.statistics
    if before is None or after is None:
        return dict.fromkeys(_LINK_COUNTERS), both.seconds
    seconds = both.between(before.read_at_ns, after.read_at_ns)
    rates: dict[str, float | None] = {}
    for name in _LINK_COUNTERS:
        counts = getattr(before, name), getattr(after, name)
        rates[name] = both.rate(f"nic.{nic.name}.{name}", _statistics(nic, name), counts, seconds)
    return rates, seconds


def _queues(both: Comparison, old: Nic, nic: Nic, irqs: Mapping[int, IrqRate]) -> tuple[QueueRate, ...]:
    seconds = both.between(old.queue_statistics_read_at_ns, nic.queue_statistics_read_at_ns)
    before = {queue.index: queue for queue in old.queue_statistics or ()}
    after = {queue.index: queue for queue in nic.queue_statistics or ()}
    grown = {
        index: {
            name: both.rate(
                f"nic.{nic.name}.queue{index}.{name}",
                "queue-statistics",
                (getattr(before[index], name), getattr(after[index], name)),
                seconds,
            )
            for name in _QUEUE_COUNTERS
        }
        for index in sorted(before.keys() & after.keys())
    }
    pairs = nic.pairs()
    return tuple(_queue(index, pairs.get(index, ()), irqs, grown.get(index, {})) for index in sorted({*after, *pairs}))


def _sum_rates(irqs: Mapping[int, IrqRate], wanted: Iterable[QueueIrq]) -> float | None:
    found = [irqs.get(irq.irq) for irq in wanted]
    if not found or None in found:
        return None
    return sum(rate.per_sec for rate in found if rate is not None)


def _statistics(nic: Nic, name: str) -> str:
    return f"/sys/class/net/{nic.name}/statistics/{name}"


def _timeouts(old: Nic, nic: Nic) -> int | None:
    before = {queue.index: queue.timeouts for queue in old.tx_queues}
    growth = [delta_64(before.get(queue.index), queue.timeouts) for queue in nic.tx_queues]
    if not growth or None in growth:
        return None
    return sum(count for count in growth if count is not None)


def _queue(
    index: int,
    pair: tuple[QueueIrq, ...],
    irqs: Mapping[int, IrqRate],
    grown: Mapping[str, float | None],
) -> QueueRate:
    by_role = {irq.role: irq.irq for irq in pair}
    rx_irq, tx_irq = by_role.get(QueueRole.INPUT), by_role.get(QueueRole.OUTPUT)

    return QueueRate(
        index=index,
        rx_irq=rx_irq,
        tx_irq=tx_irq,
        rx_interrupts_per_sec=_irq_per_sec(irqs, rx_irq),
        tx_interrupts_per_sec=_irq_per_sec(irqs, tx_irq),
        rx_packets_per_sec=grown.get("rx_packets"),
        tx_packets_per_sec=grown.get("tx_packets"),
        rx_kicks_per_sec=grown.get("rx_kicks"),
        tx_kicks_per_sec=grown.get("tx_kicks"),
        rx_drops_per_sec=grown.get("rx_drops"),
        tx_drops_per_sec=grown.get("tx_drops"),
    )


def _irq_per_sec(irqs: Mapping[int, IrqRate], number: int | None) -> float | None:
    rate = irqs.get(number) if number is not None else None
    return None if rate is None else rate.per_sec
