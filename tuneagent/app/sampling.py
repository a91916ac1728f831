"""One or two looks at this machine, at captured trees or at snapshot files, and the view over them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tuneagent import rates
from tuneagent.app.inputs import InputError, files_as_sources, trees_as_sources
from tuneagent.machine import own_cost
from tuneagent.machine.source import Source
from tuneagent.model.contention import ContentionCounts
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.observe import contention
from tuneagent.observe import snapshot as observe
from tuneagent.observe.gaps import Gaps

if TYPE_CHECKING:
    from tuneagent.app.asked import Asked
    from tuneagent.app.domains import Guests
    from tuneagent.machine.live import Live

Wait = Callable[[float], None]
THIS_MACHINE = "this machine"
RECORDED_S = 2.0
"""How long each wait for a lock is recorded with its stack, at most: it costs more than to count them."""
RECORDED_PART = 2 / 3
"""Of a shorter interval: in the rest of it the functions are named, so that this adds no time to the report."""
COUNTED_S = 0.25
"""Waits are counted for this long before it is decided."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A view, where it came from, and what the sampling cost this process and the commands that it ran."""

    view: View
    origin: str
    sampling_cpu_s: float | None
    waited_s: float


def sample(asked: Asked, wait: Wait, meanwhile: Callable[[], object] = lambda: None) -> Sampled:
    """The view over what the options name; the live machine when they name nothing.

    ``meanwhile`` is done while the live machine is left alone between its two samples: loading what comes next costs
    no time beyond the interval then, and its CPU time disturbs neither sample.
    """
    if asked.live:
        return _live(asked, wait, meanwhile)
    if asked.files:
        sources, kind, places = files_as_sources(asked.files), "snapshot", asked.files
    else:
        sources, kind, places = trees_as_sources(asked.trees), "tree", asked.trees
    return _recorded(sources, f"{kind} {' '.join(map(str, places))}", asked)


def _live(asked: Asked, wait: Wait, meanwhile: Callable[[], object]) -> Sampled:
    from tuneagent.machine.live import Live  # netlink, libvirt and ctypes: a megabyte that a captured tree needs not

    source = Live(connect=asked.connect, allow_monitor=asked.allow_monitor, locks=asked.contention != "never")
    started = own_cost.cpu_seconds()
    guests, earlier = _guests(source, asked) if asked.domains else (None, None)
    before = observe(source, earlier, asked.detail)
    looking = time.monotonic()
    if guests is not None:
        guests.sample()
    # A guest's look through its agent lies within the interval, and on a slow machine it takes seconds.
    meant_s = asked.interval_s + time.monotonic() - looking
    cost = own_cost.cpu_seconds() - started
    if asked.once:
        return Sampled(_joined(rates.alone(before), guests), THIS_MACHINE, cost, 0.0)
    waiting = time.monotonic()
    meanwhile()
    _record_locks(source, before, asked, time.monotonic() - waiting)
    wait(max(0.0, asked.interval_s - (time.monotonic() - waiting)))
    waited = time.monotonic() - waiting
    started = own_cost.cpu_seconds()
    after = observe(source, before, asked.detail)
    if guests is not None:
        guests.sample()
    cost += own_cost.cpu_seconds() - started
    view = rates.view(before, after, expected_s=meant_s)
    return Sampled(_joined(view, guests, meant_s), THIS_MACHINE, cost, waited)


def _record_locks(source: Live, before: Snapshot, asked: Asked, passed_s: float) -> None:
    """Begins a record where one was asked for, or where so many waits are counted that it is worth its cost."""
    left_s = asked.interval_s - passed_s
    if before.contention is None or left_s <= 0:  # what cannot be counted cannot be recorded, for the same reason
        return
    if asked.contention == "auto":
        time.sleep(min(max(0.0, COUNTED_S - passed_s), left_s))
        now = contention.counts(Gaps(source))
        if now is None or not _worth_a_record(before.contention, now):
            return
    source.record_locks(min(RECORDED_S, RECORDED_PART * left_s))


def _worth_a_record(old: ContentionCounts, new: ContentionCounts) -> bool:
    from tuneagent.diagnose.thresholds import LOCK_WAITS_PER_SEC  # loaded within the interval, not before it

    seconds = ((new.read_at_ns or 0) - (old.read_at_ns or 0)) / 1e9
    waits = sum(new.per_cpu.values()) - sum(old.per_cpu.values())
    # With fewer waits at all locks together no rule finds too many at one.
    return seconds > 0 and waits >= LOCK_WAITS_PER_SEC * seconds


def _guests(source: Source, asked: Asked) -> tuple[Guests, Snapshot]:
    """The named guests, ready to be sampled. It takes a look to know them, whose answers the first sample uses."""
    from tuneagent.app.domains import Guests

    seen = observe(source, None, asked.detail)
    guests = Guests(rates.alone(seen), asked)
    guests.prepare()
    return guests, seen


def _recorded(sources: Sequence[Source], origin: str, asked: Asked) -> Sampled:
    if len(sources) > 2:  # noqa: PLR2004 - before and after
        raise InputError(f"{origin}: {len(sources)} samples; one moment or two can be looked at")
    snapshots: list[Snapshot] = []
    for source in sources:
        snapshots.append(observe(source, snapshots[-1] if snapshots else None, asked.detail))
    return Sampled(_with_guests(_view(snapshots, asked), asked), origin, None, 0.0)


def _view(snapshots: Sequence[Snapshot], asked: Asked) -> View:
    if len(snapshots) == 1:
        return rates.alone(snapshots[0])
    before, after = snapshots
    view = rates.view(before, after, asked.interval_s, asked.interval_s if asked.stated else None)
    timed = before.clock is not None and after.clock is not None
    return replace(view, interval_assumed=not (timed or asked.stated))


def _with_guests(view: View, asked: Asked) -> View:
    if not asked.domains:
        return view
    from tuneagent.app.domains import Guests

    return _joined(view, Guests(view, asked))


def _joined(view: View, guests: Guests | None, expected_s: float | None = None) -> View:
    if guests is None:
        return view
    from tuneagent.join import join

    return join(view, guests.seen(expected_s))
