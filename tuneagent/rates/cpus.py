"""CPUs against themselves: time, softnet_stat and network softirqs."""

from __future__ import annotations

from collections.abc import Mapping

from tuneagent.model.counters import CpuTime, CpuTimes, Softirqs, Softnet
from tuneagent.model.view import CpuRate
from tuneagent.rates.comparison import Comparison
from tuneagent.rates.counters import delta_32, delta_64, per_sec

_IDLE_STEP_TICKS = 2
_SOFTNET_COUNTERS = ("processed", "dropped", "time_squeeze", "received_rps")
_TIME_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def compare(both: Comparison) -> dict[int, CpuRate]:
    """By CPU id: time shares, softnet and network softirqs of the CPUs in both samples."""
    shares = _cpu_shares(both, both.before.cpu_times, both.after.cpu_times)
    softnet = _softnet(both, both.before.softnet, both.after.softnet)
    softirqs = _softirqs(both, both.before.softirqs, both.after.softirqs)
    nothing: dict[str, float | None] = {}
    online = both.after.cpus.online if both.after.cpus else ()
    cpus = sorted({*shares, *softnet, *(cpu for cpu in softirqs if not online or cpu in online)})
    return {
        cpu: _cpu_rate(cpu, shares.get(cpu, nothing), softnet.get(cpu, nothing), softirqs.get(cpu, nothing))
        for cpu in cpus
    }


def _cpu_shares(
    both: Comparison, before: CpuTimes | None, after: CpuTimes | None
) -> dict[int, dict[str, float | None]]:
    if before is None or after is None:
        return {}
    old = {row.cpu: row for row in before.rows}
    shares = {row.cpu: _shares(old[row.cpu], row) for row in after.rows if row.cpu in old}
    for cpu in sorted(set(old) ^ {row.cpu for row in after.rows}):
        both.unknown(f"cpu{cpu}", "/proc/stat", "the CPU came or went within the interval")
    for cpu, share in shares.items():
        if share is None:
            both.unknown(f"cpu{cpu}", "/proc/stat", "its time fell or stood still: offline and back, or too short")
    return {cpu: share for cpu, share in shares.items() if share is not None}


def _softnet(both: Comparison, before: Softnet | None, after: Softnet | None) -> dict[int, dict[str, float | None]]:
    if before is None or after is None:
        return {}
    seconds = both.between(before.read_at_ns, after.read_at_ns)
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
                both.reset(f"cpu{row.cpu}.softnet.{name}", "/proc/net/softnet_stat")
    return rates


def _softirqs(both: Comparison, before: Softirqs | None, after: Softirqs | None) -> dict[int, dict[str, float | None]]:
    if before is None or after is None:
        return {}
    seconds = both.between(before.read_at_ns, after.read_at_ns)
    rates: dict[int, dict[str, float | None]] = {}
    for name in ("NET_RX", "NET_TX"):
        old = dict(zip(before.cpus, before.counts.get(name, ()), strict=False))
        for cpu, count in zip(after.cpus, after.counts.get(name, ()), strict=False):
            if cpu in old:
                growth = delta_32(old[cpu], count, seconds)
                rates.setdefault(cpu, {})[name] = per_sec(growth, seconds)
                if growth is None:
                    both.reset(f"cpu{cpu}.softirqs.{name}", "/proc/softirqs")
    return rates


def _rate_32(counts: tuple[int | None, int | None], seconds: float) -> float | None:
    before, after = counts
    if before is None or after is None:
        return None
    return per_sec(delta_32(before, after, seconds), seconds)


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
