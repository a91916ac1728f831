"""Waits for an interrupt's descriptor lock, provoked on purpose in a guest, and told with the interrupt.

The guest does not know that it is one, for then its kernel would wait for spinlocks in virt_spin_lock(), which tells
nobody. Of natively queued spinlocks a wait shows from the third CPU on, so there are loops enough for that. Times under
emulation say nothing: what must be there is looked for, and not how often.
"""

from __future__ import annotations

import compileall
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.vm.machine import Machine, booted, quoted
from tests.vm.traffic import arriving, interrupts

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]
REPOSITORY = Path(__file__).parents[2]
PROGRAM = f"cd {quoted(REPOSITORY)} && " + quoted(sys.executable, "-c", "from tuneagent.app.entry import main; main()")
GROUP = "interrupt-descriptor"
TRIES = 3
SECONDS = 10
HANDLERS = {"handle_edge_irq", "handle_irq_event"}
Report = dict[str, Any]


@pytest.fixture(scope="module")
def machine(vm_tier: None) -> Iterator[Machine]:  # noqa: ARG001 - must come first
    """A guest with four vCPUs and four queue pairs that takes itself for a machine."""
    compileall.compile_dir(REPOSITORY / "tuneagent", quiet=2)
    with booted(cpu="EPYC,-rdseed,-hypervisor") as guest:
        guest.run(f"{PROGRAM} doctor >/dev/null").checked()
        yield guest


def told(machine: Machine, *words: str) -> Report:
    report: Report = json.loads(machine.run(f"{PROGRAM} {quoted(*words)}").checked())
    return report


def descriptor_waits(report: Report) -> list[Report]:
    return [row for row in report["contention"]["rows"] if row["group"] == GROUP]


@contextmanager
def fighting(machine: Machine) -> Iterator[None]:
    """The receive interrupts go round the CPUs in a loop, and two read the list of interrupts, while packets flow."""
    old = [f"echo $(cat /proc/irq/{irq}/smp_affinity_list) > /run/affinity.{irq}" for irq in interrupts(machine)]
    receiving = [irq for irq, (name, _) in interrupts(machine).items() if name.startswith("input")]
    writes = "; ".join(f"echo $cpu > /proc/irq/{irq}/smp_affinity_list" for irq in receiving)
    flip = f"while :; do for cpu in 0 1 2 3; do {writes}; done; done"
    read = "while :; do cat /proc/interrupts; done"
    machine.run("; ".join(old)).checked()
    started = "; ".join(f"({loop}) >/dev/null 2>&1 & echo $!" for loop in (flip, read, read))
    pids = machine.run(started).checked().split()
    try:
        with arriving(machine):
            yield
    finally:
        back = [f"cat /run/affinity.{irq} > /proc/irq/{irq}/smp_affinity_list" for irq in interrupts(machine)]
        machine.run("; ".join([f"kill {' '.join(pids)}", *back]))


@pytest.fixture(scope="module")
def quiet(machine: Machine) -> Report:
    """A report on a guest that nobody disturbs."""
    return told(machine, "advise", "--json", "--interval", "15", "--contention", "always")


@pytest.fixture(scope="module")
def fought(machine: Machine, quiet: Report) -> Report:  # noqa: ARG001 - looked at before it is disturbed
    """The waits of ten seconds of fighting; again, at most twice, where none of them was at a descriptor's lock."""
    with fighting(machine):
        reports = [closely(machine)]
        while len(reports) < TRIES and not any(row["caller"] in HANDLERS for row in descriptor_waits(reports[-1])):
            reports.append(closely(machine))
    return reports[-1]


def closely(machine: Machine) -> Report:
    return told(machine, "contention", "--json", "--seconds", str(SECONDS))


def test_a_quiet_guest_has_none(quiet: Report) -> None:
    assert quiet["contention"]["seconds"] > 0
    assert descriptor_waits(quiet) == []
    assert not [one for one in quiet["findings"] if one["rule"] == "irq-descriptor-contention"]


def test_few_waits_of_natively_queued_spinlocks_are_not_called_well(quiet: Report) -> None:
    assert quiet["contention"]["spin"] == "from-third"
    (said,) = [one for one in quiet["unjudged"] if one["rule"] == "irq-descriptor-contention"]
    assert said["reason"].startswith("cannot see")


def test_those_who_fight_for_a_descriptor_are_seen(fought: Report) -> None:
    rows = descriptor_waits(fought)
    assert sum(row["waits"] for row in rows) >= 1
    assert all(row["kind"] == "spinlock" for row in rows)
    callers = {row["caller"] for row in rows} | {name for row in rows for name in row["callers"][:2]}
    assert callers & {*HANDLERS, "irq_set_affinity", "irq_do_set_affinity", "show_interrupts"}


def test_the_handler_s_waits_are_of_an_interrupt_of_the_nic(machine: Machine, fought: Report) -> None:
    handled = [row for row in descriptor_waits(fought) if row["caller"] in HANDLERS and row["irq"] is not None]
    known = {irq: f"-{name}" for irq, (name, _) in interrupts(machine).items()}
    assert handled, descriptor_waits(fought)
    for row in handled:
        if row["irq"] in known:
            assert known[row["irq"]] in row["subject"]
    assert any(row["irq"] in known for row in handled)


def test_waits_are_counted_as_well(fought: Report) -> None:
    waits = fought["contention"]
    assert waits["per_sec"] is None or waits["per_sec"] > 0
