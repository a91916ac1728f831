"""Two snapshots of one machine → what happened between them. Pure; counters that are not comparable give no rate.

A counter that fell gives None, not a number, except that a 32-bit counter near its top has wrapped. What cannot be
compared is listed with its reason. Each table's rate divides by the time between its own two reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from operator import ne

from tuneagent.model.clock import Clock
from tuneagent.model.counters import CpuTime, CpuTimes, InterruptRow, Interrupts, Protocols, Softirqs, Softnet
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.missing import Missing, Reason
from tuneagent.model.nic import Nic, QueueStatistics
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import CpuRate, IrqRate, NicRate, ProtocolRate, QueueRate, View

WRAP_32 = 1 << 32
"""The kernel's per-CPU interrupt, softirq and softnet counters are unsigned int."""
PLAUSIBLE_PER_SEC = 50_000_000
"""A 32-bit counter that fell has wrapped if that means at most so many events a second, else it was reset."""
SUSPEND_TOLERANCE_NS = 500_000_000
"""BOOTTIME may lead MONOTONIC by this much within an interval before we call it a suspend; readings are not atomic."""
SHORTEST_S = 0.05
"""Below this the kernel's tick (4 to 10 ms) and the reading itself are too large a part of the interval."""


def delta_32(before: int, after: int, seconds: float) -> int | None:
    """Growth of a 32-bit counter over ``seconds``; a plausible wrap is unwrapped, any other fall is None."""
    growth = after - before
    if growth >= 0:
        return growth
    if before >= WRAP_32:
        return None
    wrapped = growth + WRAP_32
    return wrapped if wrapped <= PLAUSIBLE_PER_SEC * seconds else None


def delta_64(before: int | None, after: int | None) -> int | None:
    """Growth of a 64-bit counter; None when either is unknown or it fell (device reset, statistics cleared)."""
    if before is None or after is None or after < before:
        return None
    return after - before


def _fell(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after < before


def alone(snapshot: Snapshot, reason: str = "one sample only: rates need two") -> View:
    """The view of a single moment: configuration and no rates."""
    return View(
        before=None,
        after=snapshot,
        interval_s=None,
        rates_reason=reason,
        irqs={},
        irqs_gone=(),
        irqs_new=(),
        nics={},
        cpus={},
        protocols=None,
        missing=(*snapshot.missing, Missing("rates", "clock", Reason.UNKNOWABLE, reason)),
    )


def view(before: Snapshot, after: Snapshot, interval_s: float | None = None, expected_s: float | None = None) -> View:
    """The view over two snapshots.

    ``interval_s`` (seconds) stands in for the clock where the samples have none. ``expected_s`` is the period that the
    sampler meant to keep: a gap of more than three times that is a suspend or a stall, and gives no rates.
    """
    seconds, reason = _interval(before, after, interval_s)
    if reason is None and seconds is not None and expected_s is not None and seconds > 3 * expected_s:
        reason = f"{seconds:.0f} s passed where {expected_s:g} s were meant: the machine stood still or was suspended"
    if seconds is None or reason is not None:
        single = alone(after, reason or "no clock in the samples and no interval given")
        return _with_both_ends(single, before)
    return _Comparison(before, after, seconds).view()


def _with_both_ends(single: View, before: Snapshot) -> View:
    # The configuration at both ends is still comparable when the rates are not.
    return View(
        before=before,
        after=single.after,
        interval_s=None,
        rates_reason=single.rates_reason,
        irqs={},
        irqs_gone=(),
        irqs_new=(),
        nics={},
        cpus={},
        protocols=None,
        missing=_each_once((*before.missing, *single.missing)),
    )


def _interval(before: Snapshot, after: Snapshot, given_s: float | None) -> tuple[float | None, str | None]:
    boots = [identity.boot_id for identity in (before.identity, after.identity) if identity is not None]
    if len(boots) == 2 and None not in boots and boots[0] != boots[1]:  # noqa: PLR2004 - the two samples
        return None, "the machine was rebooted between the samples"
    if before.clock is None or after.clock is None:
        return given_s, None if given_s is None or given_s >= SHORTEST_S else "the interval is too short for rates"
    return _clock_interval(before.clock, after.clock)


def _clock_interval(before: Clock, after: Clock) -> tuple[float | None, str | None]:
    monotonic_ns = after.monotonic_ns - before.monotonic_ns
    if monotonic_ns <= 0:
        return None, "the second sample is not later than the first"
    suspended_ns = (after.boottime_ns - before.boottime_ns) - monotonic_ns
    if suspended_ns > SUSPEND_TOLERANCE_NS:
        return None, f"the machine was suspended for {suspended_ns / 1e9:.1f} s within the interval"
    if monotonic_ns < SHORTEST_S * 1e9:
        return None, "the interval is too short for rates"
    return monotonic_ns / 1e9, None


def _per_sec(count: int | None, seconds: float) -> float | None:
    return None if count is None else count / seconds


def _ratio(numerator: float | None, denominator: float | None) -> float | None:
    if numerator is None or not denominator:
        return None
    return numerator / denominator


def _each_once(missing: Iterable[Missing]) -> tuple[Missing, ...]:
    return tuple(dict.fromkeys(missing))


class _Comparison:
    """The work of one :func:`view`; holds the two samples and collects what could not be compared."""

    def __init__(self, before: Snapshot, after: Snapshot, seconds: float) -> None:
        self.before = before
        self.after = after
        self.seconds = seconds
        self.missing: list[Missing] = []

    def view(self) -> View:
        irqs, gone, new = self._irqs()
        return View(
            before=self.before,
            after=self.after,
            interval_s=self.seconds,
            rates_reason=None,
            irqs=irqs,
            irqs_gone=gone,
            irqs_new=new,
            nics={nic.name: self._nic(old, nic, irqs) for old, nic in self._nics()},
            cpus=self._cpus(),
            protocols=self._protocols(),
            missing=_each_once((*self.before.missing, *self.after.missing, *self.missing)),
        )

    def _unknown(self, what: str, source: str, detail: str) -> None:
        self.missing.append(Missing(what, source, Reason.UNKNOWABLE, detail))

    def _reset(self, what: str, source: str) -> None:
        self._unknown(what, source, "the counter fell: it was reset")

    def _between(self, before_ns: int | None, after_ns: int | None) -> float:
        if before_ns is None or after_ns is None or after_ns <= before_ns:
            return self.seconds
        return (after_ns - before_ns) / 1e9

    # Interrupts

    def _irqs(self) -> tuple[dict[int, IrqRate], tuple[int, ...], tuple[int, ...]]:
        before, after = self.before.interrupts, self.after.interrupts
        if before is None or after is None:
            return {}, (), ()
        seconds = self._between(before.read_at_ns, after.read_at_ns)
        old = {row.irq: row for row in before.rows if row.irq is not None}
        columns = _Columns(before, after)
        for cpu in sorted(set(before.cpus) ^ set(after.cpus)):
            self._unknown(f"interrupts.cpu{cpu}", "/proc/interrupts", "the CPU came or went within the interval")
        rates: dict[int, IrqRate] = {}
        new: list[int] = []
        for row in after.rows:
            if row.irq is None:
                continue
            earlier = old.pop(row.irq, None)
            if earlier is None or _identity(earlier) != _identity(row):
                new.append(row.irq)
                if earlier is not None:
                    old[row.irq] = earlier
                continue
            rate = self._irq(earlier, row, columns, seconds)
            if rate is not None:
                rates[row.irq] = rate
        return rates, tuple(sorted(old)), tuple(sorted(new))

    def _irq(self, old: InterruptRow, new: InterruptRow, columns: _Columns, seconds: float) -> IrqRate | None:
        assert new.irq is not None  # noqa: S101 - the caller passes numbered rows only
        if columns.same and old.counts == new.counts:
            return IrqRate(new.irq, 0, {}, 0.0, seconds)
        grown = columns.grown(old.counts, new.counts)
        per_cpu: dict[int, int] = {}
        for cpu, before, after in grown:
            growth = after - before if after >= before else delta_32(before, after, seconds)
            if growth is None:
                self._unknown(f"irq.{new.irq}", "/proc/interrupts", f"the count on CPU {cpu} fell: it was reset")
                return None
            per_cpu[cpu] = growth
        count = sum(per_cpu.values())
        return IrqRate(new.irq, count, per_cpu, count / seconds, seconds)

    # Interfaces

    def _nics(self) -> Iterator[tuple[Nic, Nic]]:
        for nic in self.after.nics or ():
            old = self.before.nic(nic.name)
            if old is None:
                self._unknown(f"nic.{nic.name}", "/sys/class/net", "the interface came within the interval")
            elif (old.mac, old.bus_address, old.ifindex) != (nic.mac, nic.bus_address, nic.ifindex):
                self._unknown(f"nic.{nic.name}", "/sys/class/net", "another device has this name now")
            else:
                yield old, nic
        for old in self.before.nics or ():
            if self.after.nics is not None and self.after.nic(old.name) is None:
                self._unknown(f"nic.{old.name}", "/sys/class/net", "the interface went within the interval")

    def _nic(self, old: Nic, nic: Nic, irqs: Mapping[int, IrqRate]) -> NicRate:
        rates, seconds = self._link_rates(old, nic)
        queues = self._queues(old, nic, irqs)
        rx_irqs = _sum_rates(irqs, nic.irqs_of(QueueRole.INPUT))
        tx_irqs = _sum_rates(irqs, nic.irqs_of(QueueRole.OUTPUT))
        data = nic.irqs_of(QueueRole.INPUT, QueueRole.OUTPUT, QueueRole.SHARED_QUEUES, QueueRole.DEVICE)
        every = _sum_rates(irqs, data)
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
            rx_interrupts_per_packet=_ratio(rx_irqs, rx),
            tx_interrupts_per_packet=_ratio(tx_irqs, tx),
            interrupts_per_packet=_ratio(every, None if rx is None or tx is None else rx + tx),
            rx_kicks_per_packet=_ratio(_sum_known(queue.rx_kicks_per_sec for queue in queues), rx),
            tx_kicks_per_packet=_ratio(_sum_known(queue.tx_kicks_per_sec for queue in queues), tx),
            tx_timeouts=_timeouts(old, nic),
        )

    def _link_rates(self, old: Nic, nic: Nic) -> tuple[dict[str, float | None], float]:
        before, after = old.statistics, nic.statistics
        if before is None or after is None:
            return dict.fromkeys(_LINK_COUNTERS), self.seconds
        seconds = self._between(before.read_at_ns, after.read_at_ns)
        rates: dict[str, float | None] = {}
        for name in _LINK_COUNTERS:
            first, last = getattr(before, name), getattr(after, name)
            rates[name] = _per_sec(delta_64(first, last), seconds)
            if _fell(first, last):
                self._reset(f"nic.{nic.name}.{name}", _statistics(nic, name))
        return rates, seconds

    def _queues(self, old: Nic, nic: Nic, irqs: Mapping[int, IrqRate]) -> tuple[QueueRate, ...]:
        seconds = self._between(old.queue_statistics_read_at_ns, nic.queue_statistics_read_at_ns)
        before = {queue.index: queue for queue in old.queue_statistics or ()}
        after = {queue.index: queue for queue in nic.queue_statistics or ()}
        for index in sorted(before.keys() & after.keys()):
            for name in _QUEUE_COUNTERS:
                if _fell(getattr(before[index], name), getattr(after[index], name)):
                    self._reset(f"nic.{nic.name}.queue{index}.{name}", "queue-statistics")
        pairs = nic.pairs()
        indices = sorted({*after, *pairs})
        return tuple(
            _queue(index, pairs.get(index, ()), irqs, before.get(index), after.get(index), seconds) for index in indices
        )

    # CPUs

    def _cpus(self) -> dict[int, CpuRate]:
        shares = self._cpu_shares(self.before.cpu_times, self.after.cpu_times)
        softnet = self._softnet(self.before.softnet, self.after.softnet)
        softirqs = self._softirqs(self.before.softirqs, self.after.softirqs)
        nothing: dict[str, float | None] = {}
        online = self.after.cpus.online if self.after.cpus else ()
        cpus = sorted({*shares, *softnet, *(cpu for cpu in softirqs if not online or cpu in online)})
        return {
            cpu: _cpu_rate(cpu, shares.get(cpu, nothing), softnet.get(cpu, nothing), softirqs.get(cpu, nothing))
            for cpu in cpus
        }

    def _cpu_shares(self, before: CpuTimes | None, after: CpuTimes | None) -> dict[int, dict[str, float | None]]:
        if before is None or after is None:
            return {}
        old = {row.cpu: row for row in before.rows}
        shares = {row.cpu: _shares(old[row.cpu], row) for row in after.rows if row.cpu in old}
        for cpu in sorted(set(old) ^ {row.cpu for row in after.rows}):
            self._unknown(f"cpu{cpu}", "/proc/stat", "the CPU came or went within the interval")
        for cpu, share in shares.items():
            if share is None:
                self._unknown(f"cpu{cpu}", "/proc/stat", "its time fell or stood still: offline and back, or too short")
        return {cpu: share for cpu, share in shares.items() if share is not None}

    def _softnet(self, before: Softnet | None, after: Softnet | None) -> dict[int, dict[str, float | None]]:
        if before is None or after is None:
            return {}
        seconds = self._between(before.read_at_ns, after.read_at_ns)
        old = {row.cpu: row for row in before.rows if row.cpu is not None}
        rates: dict[int, dict[str, float | None]] = {}
        for row in after.rows:
            first = old.get(row.cpu) if row.cpu is not None else None
            if first is None or row.cpu is None:
                continue
            counters = {name: (getattr(first, name), getattr(row, name)) for name in _SOFTNET_COUNTERS}
            rates[row.cpu] = {name: _rate_32(pair, seconds) for name, pair in counters.items()}
            for name, rate in rates[row.cpu].items():
                if rate is None and None not in counters[name]:
                    self._reset(f"cpu{row.cpu}.softnet.{name}", "/proc/net/softnet_stat")
        return rates

    def _softirqs(self, before: Softirqs | None, after: Softirqs | None) -> dict[int, dict[str, float | None]]:
        if before is None or after is None:
            return {}
        seconds = self._between(before.read_at_ns, after.read_at_ns)
        rates: dict[int, dict[str, float | None]] = {}
        for name in ("NET_RX", "NET_TX"):
            old = dict(zip(before.cpus, before.counts.get(name, ()), strict=False))
            for cpu, count in zip(after.cpus, after.counts.get(name, ()), strict=False):
                if cpu in old:
                    growth = delta_32(old[cpu], count, seconds)
                    rates.setdefault(cpu, {})[name] = _per_sec(growth, seconds)
                    if growth is None:
                        self._reset(f"cpu{cpu}.softirqs.{name}", "/proc/softirqs")
        return rates

    # Protocols

    def _protocols(self) -> ProtocolRate | None:
        before, after = self.before.protocols, self.after.protocols
        if before is None or after is None:
            return None
        seconds = self._between(before.read_at_ns, after.read_at_ns)

        def rate(protocol: str, name: str) -> float | None:
            first, last = _counter(before, protocol, name), _counter(after, protocol, name)
            if _fell(first, last):
                self._reset(f"protocols.{protocol}.{name}", "/proc/net/snmp")
            return _per_sec(delta_64(first, last), seconds)

        return ProtocolRate(
            tcp_in_segments_per_sec=rate("Tcp", "InSegs"),
            tcp_out_segments_per_sec=rate("Tcp", "OutSegs"),
            tcp_retransmits_per_sec=rate("Tcp", "RetransSegs"),
            udp_in_datagrams_per_sec=rate("Udp", "InDatagrams"),
            udp_out_datagrams_per_sec=rate("Udp", "OutDatagrams"),
            udp_receive_errors_per_sec=rate("Udp", "InErrors"),
        )


class _Columns:
    """The CPUs that both tables have, as positions in each."""

    def __init__(self, before: Interrupts, after: Interrupts) -> None:
        self.same = before.cpus == after.cpus
        self.cpus = after.cpus
        old = {cpu: position for position, cpu in enumerate(before.cpus)}
        new = {cpu: position for position, cpu in enumerate(after.cpus)}
        self.pairs = tuple((cpu, old[cpu], new[cpu]) for cpu in after.cpus if cpu in old)

    def grown(self, old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[int, int, int]]:
        """(CPU, before, after) where they differ. The common case, no CPU came or went, runs at C speed."""
        if self.same:
            return list(compress(zip(self.cpus, old, new, strict=False), map(ne, old, new)))
        return [
            (cpu, old[first], new[last])
            for cpu, first, last in self.pairs
            if first < len(old) and last < len(new) and old[first] != new[last]
        ]


def _identity(row: InterruptRow) -> tuple[object, ...]:
    # A number given to another device between two reads is another interrupt.
    return row.chip, row.hwirq, row.actions


def _sum_rates(irqs: Mapping[int, IrqRate], wanted: Iterable[QueueIrq]) -> float | None:
    found = [irqs.get(irq.irq) for irq in wanted]
    if not found or None in found:
        return None
    return sum(rate.per_sec for rate in found if rate is not None)


def _sum_known(values: Iterable[float | None]) -> float | None:
    known = list(values)
    if not known or None in known:
        return None
    return sum(value for value in known if value is not None)


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
    before: QueueStatistics | None,
    after: QueueStatistics | None,
    seconds: float,
) -> QueueRate:
    by_role = {irq.role: irq.irq for irq in pair}
    rx_irq, tx_irq = by_role.get(QueueRole.INPUT), by_role.get(QueueRole.OUTPUT)

    def rate(name: str) -> float | None:
        if before is None or after is None:
            return None
        return _per_sec(delta_64(getattr(before, name), getattr(after, name)), seconds)

    return QueueRate(
        index=index,
        rx_irq=rx_irq,
        tx_irq=tx_irq,
        rx_interrupts_per_sec=_irq_per_sec(irqs, rx_irq),
        tx_interrupts_per_sec=_irq_per_sec(irqs, tx_irq),
        rx_packets_per_sec=rate("rx_packets"),
        tx_packets_per_sec=rate("tx_packets"),
        rx_kicks_per_sec=rate("rx_kicks"),
        tx_kicks_per_sec=rate("tx_kicks"),
        rx_drops_per_sec=rate("rx_drops"),
        tx_drops_per_sec=rate("tx_drops"),
    )


def _irq_per_sec(irqs: Mapping[int, IrqRate], number: int | None) -> float | None:
    rate = irqs.get(number) if number is not None else None
    return None if rate is None else rate.per_sec


def _rate_32(counts: tuple[int | None, int | None], seconds: float) -> float | None:
    before, after = counts
    if before is None or after is None:
        return None
    return _per_sec(delta_32(before, after, seconds), seconds)


def _shares(old: CpuTime, new: CpuTime) -> dict[str, float | None] | None:
    # guest and guest_nice are already within user and nice (kernel/sched/cputime.c account_guest_time).
    growth = {name: delta_64(getattr(old, name), getattr(new, name)) for name in _TIME_FIELDS}
    # idle and iowait may step back by a tick on tickless CPUs (fs/proc/stat.c get_idle_time); that is not a reset.
    for name in ("idle", "iowait"):
        if growth[name] is None and _stepped_back(getattr(old, name), getattr(new, name)):
            growth[name] = 0
    known = {name: ticks for name, ticks in growth.items() if getattr(new, name) is not None}
    if None in known.values():
        return None
    ticks = sum(ticks for ticks in known.values() if ticks is not None)
    if ticks <= 0:
        return None
    shares: dict[str, float | None] = {
        name: None if count is None else 100.0 * count / ticks for name, count in growth.items()
    }
    shares["ticks"] = ticks
    return shares


def _stepped_back(old: int | None, new: int | None) -> bool:
    return old is not None and new is not None and 0 < old - new <= _IDLE_STEP_TICKS


def _cpu_rate(
    cpu: int,
    shares: Mapping[str, float | None],
    softnet: Mapping[str, float | None],
    softirqs: Mapping[str, float | None],
) -> CpuRate:
    idle, iowait, ticks = shares.get("idle"), shares.get("iowait"), shares.get("ticks")
    return CpuRate(
        cpu=cpu,
        softirq_percent=shares.get("softirq"),
        irq_percent=shares.get("irq"),
        steal_percent=shares.get("steal"),
        idle_percent=None if idle is None else idle + (iowait or 0.0),
        ticks=None if ticks is None else int(ticks),
        softnet_processed_per_sec=softnet.get("processed"),
        softnet_dropped_per_sec=softnet.get("dropped"),
        softnet_squeezed_per_sec=softnet.get("time_squeeze"),
        softnet_rps_per_sec=softnet.get("received_rps"),
        net_rx_softirqs_per_sec=softirqs.get("NET_RX"),
        net_tx_softirqs_per_sec=softirqs.get("NET_TX"),
    )


def _counter(protocols: Protocols | None, protocol: str, name: str) -> int | None:
    return None if protocols is None else protocols.counters.get(protocol, {}).get(name)


_IDLE_STEP_TICKS = 2
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
_SOFTNET_COUNTERS = ("processed", "dropped", "time_squeeze", "received_rps")
_TIME_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
