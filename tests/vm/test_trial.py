"""Tune against a real virtio_net: two policies help, one harms, and a load that prints what it finds switched on.

One of those that help does so only beside the other, which is tried after it.

What they do to the traffic of an emulated machine would be noise; that each is switched, judged, kept or given back,
and that what won is confirmed together, is the same.
"""

from __future__ import annotations

import compileall
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vm.machine import Machine, booted, quoted
from tests.vm.traffic import interrupts

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1800)]
REPOSITORY = Path(__file__).parents[2]
PROGRAM = f"cd {quoted(REPOSITORY)} && exec " + quoted(sys.executable, "-m", "tuneagent")
SECONDS = 1200.0
LOAD = """#!/bin/sh
n=100
pinned=-20
[ "$(cat /sys/class/net/eth0/queues/tx-1/xps_cpus)" = 0 ] || n=$((n + 20)) pinned=50
[ "$(cat /proc/irq/{irq}/smp_affinity_list)" = {away} ] || n=$((n + pinned))
[ "$(cat /sys/class/net/eth0/napi_defer_hard_irqs)" = 0 ] || n=$((n - 30))
sleep $TUNEAGENT_SECONDS
echo $((n * 1000 + $(od -An -N1 -tu1 /dev/urandom)))
"""
PIN, XPS, DEFER = "pin-queue-interrupts", "xps-by-queue", "defer-interrupts"


@pytest.fixture(scope="module")
def machine(vm_tier: None) -> Iterator[Machine]:  # noqa: ARG001 - must come first
    compileall.compile_dir(REPOSITORY / "tuneagent", quiet=2)
    with booted() as guest:
        guest.run(f"{PROGRAM} doctor >/dev/null").checked()
        yield guest


def settings(machine: Machine) -> str:
    """All that is switched."""
    return machine.run(
        "for irq in /proc/irq/[0-9]*; do cat $irq/smp_affinity_list; done; cd /sys/class/net/eth0; "
        "grep -H . queues/*/xps_cpus queues/*/rps_cpus napi_defer_hard_irqs gro_flush_timeout"
    ).checked()


def spoilt(machine: Machine) -> None:
    """Every queue's interrupts on CPU 3, no XPS, and the load that sees it."""
    irqs = list(interrupts(machine))
    lines = [f"echo 3 > /proc/irq/{irq}/smp_affinity_list" for irq in irqs]
    lines += ["for map in /sys/class/net/eth0/queues/tx-*/xps_cpus; do echo 0 > $map; done"]
    machine.run("\n".join(lines)).checked()
    text = LOAD.format(irq=irqs[0], away=3)
    machine.run(f"cat > /tmp/load <<'END'\n{text}END\nchmod 755 /tmp/load").checked()


def test_each_fault_is_mended_or_told_why_and_what_harms_is_taken_back(machine: Machine) -> None:
    spoilt(machine)
    before = settings(machine)
    words = f"tune {PIN} {XPS} {DEFER} --on eth0 --round 3 --settle 0 --pairs-max 6 --budget 60 --json"
    done = machine.run(f"{PROGRAM} {words} --load command -- /tmp/load", SECONDS)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    became = [(one["policy"], one["became"]) for one in told["attempts"] if one["trial"] is not None]
    after = settings(machine)

    tried = [(PIN, "taken-back"), (XPS, "kept"), (DEFER, "taken-back"), (PIN, "kept")]
    assert became == tried, done.stdout
    assert told["together"]["decision"] == "keep"
    assert told["together"]["id"] == 5
    assert len(told["transactions"]) == 1
    assert "napi_defer_hard_irqs:0" in after
    assert after != before

    machine.run(f"{PROGRAM} rollback").checked()
    assert settings(machine) == before
