"""Views for rules: a machine of :mod:`tests.make` with some interrupts, and how to read what a rule said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests import make
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Clear, Finding, Judgement, Unjudged
from tuneagent.model.irq import IrqLine
from tuneagent.model.irqbalance import Irqbalance, IrqbalanceConfig
from tuneagent.model.nic import Nic
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.parse.irqbalance_arguments import irqbalance_command

Judge = Callable[[View], tuple[Judgement, ...]]


def with_irqs(snapshot: Snapshot, change: Callable[[IrqLine], IrqLine]) -> Snapshot:
    """The same machine with each interrupt changed."""
    return replace(snapshot, irqs=tuple(change(line) for line in snapshot.irqs or ()))


def at(places: dict[int, int]) -> Callable[[IrqLine], IrqLine]:
    """Interrupts that go to these CPUs; others stay."""

    def change(line: IrqLine) -> IrqLine:
        if line.irq not in places:
            return line
        only = CpuSet.of([places[line.irq]])
        return replace(line, effective_affinity=only, affinity=only)

    return change


def with_nic(snapshot: Snapshot, **changes: Any) -> Snapshot:
    """The same machine with its NIC changed."""
    return replace(snapshot, nics=tuple(replace(nic, **changes) for nic in snapshot.nics or ()))


def plain_nic(name: str = "lo", **changes: Any) -> Nic:
    """An interface with neither a device nor interrupts."""
    base = {"name": name, "virtio": None, "bus_address": None, "queue_irqs": (), "channels": None}
    return make.nic(1, **(base | changes))


def rates(per_cpu: dict[int, dict[int, int]], after: Snapshot | None = None, **changes: Any) -> View:
    """A view whose interrupts fell as given: ``{irq: {cpu: interrupts}}``."""
    return make.view(after, irqs={irq: make.irq_rate(irq, counts) for irq, counts in per_cpu.items()}, **changes)


def single(after: Snapshot | None = None) -> View:
    """One sample only."""
    return replace(make.view(after), before=None, interval_s=None, rates_reason="one sample", irqs={}, nics={}, cpus={})


def balanced(snapshot: Snapshot, *command: str, running: bool | None = True, **config: Any) -> Snapshot:
    """The same machine with irqbalance running."""
    base = IrqbalanceConfig("/etc/default/irqbalance", "IRQBALANCE_ARGS", (), frozenset(), (), None, None, None, ())
    told = irqbalance_command(("irqbalance", *command))
    irqbalance = Irqbalance(
        running=running,
        pid=612,
        command=("irqbalance", *command),
        unit_state="active",
        socket=None,
        config=replace(base, **config) if config else None,
        banned_irqs=told.banned_irqs,
        banned_modules=told.banned_modules,
    )
    return replace(snapshot, irqbalance=irqbalance)


def finding(judge: Judge, view: View) -> Finding:
    """The only judgement, a finding."""
    (only,) = judge(view)
    assert isinstance(only, Finding), only
    return only


def clear(judge: Judge, view: View) -> Clear:
    """The only judgement, that all is well; with numbers."""
    (only,) = judge(view)
    assert isinstance(only, Clear), only
    assert only.evidence
    return only


def unjudged(judge: Judge, view: View) -> Unjudged:
    """The only judgement, that it cannot be judged."""
    (only,) = judge(view)
    assert isinstance(only, Unjudged), only
    return only


def value(said: Finding | Clear, metric: str) -> object:
    """The value of one metric in the evidence."""
    return {item.metric: item.value for item in said.evidence}[metric]
