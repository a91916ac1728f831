"""Two snapshots of one machine → what happened between them. Pure; counters that are not comparable give no rate.

A counter that fell gives None, not a number, except that a 32-bit counter near its top has wrapped. What cannot be
compared is listed with its reason. Each table's rate divides by the time between its own two reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tuneagent.model.missing import Missing, Reason
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.rates import contention, cpus, hypervisor, interrupts, nics, protocols
from tuneagent.rates.comparison import Comparison
from tuneagent.rates.interval import interval


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
        hypervisor=hypervisor.alone(snapshot, reason),
        contention=contention.alone(snapshot, reason),
        lock_stat=snapshot.lock_stat,
    )


def view(before: Snapshot, after: Snapshot, interval_s: float | None = None, expected_s: float | None = None) -> View:
    """The view over two snapshots.

    ``interval_s`` (seconds) stands in for the clock where the samples have none. ``expected_s`` is the period that the
    sampler meant to keep: a gap of more than three times that is a suspend or a stall, and gives no rates.
    """
    seconds, reason = interval(before, after, interval_s, expected_s)
    if seconds is None or reason is not None:
        single = alone(after, reason or "no clock in the samples and no interval given")
        # The configuration at both ends is still comparable when the rates are not.
        return replace(single, before=before, missing=_each_once((*before.missing, *single.missing)))
    return _compared(Comparison(before, after, seconds))


def _compared(both: Comparison) -> View:
    irqs, gone, new = interrupts.compare(both)
    interfaces = nics.compare(both, irqs)
    processors, counters = cpus.compare(both), protocols.compare(both)
    machines = hypervisor.compare(both)
    waits = contention.compare(both)
    return View(
        before=both.before,
        after=both.after,
        interval_s=both.seconds,
        rates_reason=None,
        irqs=irqs,
        irqs_gone=gone,
        irqs_new=new,
        nics=interfaces,
        cpus=processors,
        protocols=counters,
        missing=_each_once((*both.before.missing, *both.after.missing, *both.missing)),
        hypervisor=machines,
        contention=waits,
        lock_stat=both.after.lock_stat,
    )


def _each_once(missing: Iterable[Missing]) -> tuple[Missing, ...]:
    return tuple(dict.fromkeys(missing))
