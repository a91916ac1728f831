"""Which irqbalance runs here: there must be one, on the running machine, to be spoken to."""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.machine import Machine
from tuneagent.apply.refused import refusal
from tuneagent.machine.source import Process
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.parse import task_stat

NAME = "irqbalance"


@dataclass(frozen=True, slots=True)
class Running:
    """One process of irqbalance."""

    process: Process
    start_ticks: int | None
    """When it began: numbers of processes come again."""


def processes(machine: Machine) -> tuple[Process, ...]:
    """Every irqbalance that runs. Refusal where processes cannot be seen."""
    try:
        return machine.source.processes(frozenset({NAME}))
    except SourceError as error:
        raise refusal(error) from None


def the_one(machine: Machine) -> Running:
    """The only one. GONE where none runs, FACT in a tree of files, LATER where several run."""
    if not machine.live:
        raise Refusal(Why.FACT, "a tree of files has no irqbalance that runs")
    found = processes(machine)
    if not found:
        raise Refusal(Why.GONE, "irqbalance does not run")
    if len(found) > 1:
        pids = ", ".join(str(process.pid) for process in found)
        raise Refusal(
            Why.LATER,
            f"{len(found)} irqbalance run (pids {pids}), and each moves what the other was told to leave",
            "end all but one",
        )
    return Running(found[0], _start_ticks(machine, found[0].pid))


def _start_ticks(machine: Machine, pid: int) -> int | None:
    try:
        return task_stat.parse(machine.source.read(f"/proc/{pid}/stat").text).start_ticks
    except SourceError:
        raise Refusal(Why.GONE, "irqbalance ended just now") from None
    except ParseError as error:
        raise Refusal(Why.FAILED, f"/proc/{pid}/stat: {error}") from None
