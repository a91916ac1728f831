"""Trials on a real hypervisor and in its guest: measured, kept by their verdict or taken back, and killed.

What is measured is so on Linux 6.12, whose scheduler lets packets gather before it switches to their reader; on 6.1
each is an exit and an interrupt of its own whatever the event index says, for load, vhost and guest share one CPU.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from tests.lab.conftest import DomainFactory
from tests.lab.domain import Domain, Guest
from tests.lab.driving import driven, serving
from tests.lab.recipe import BRIDGES
from tests.lab.traffic import queue_irqs

pytestmark = [pytest.mark.lab, pytest.mark.timeout(5400)]
KERNEL = "6.12"
TRIAL_SECONDS, TUNE_SECONDS = 2400, 3600
HERE = BRIDGES["br0"].partition("/")[0]
PIN, RPS, XPS = "pin-queue-interrupts", "rps-off", "xps-by-queue"
QUEUES = "/sys/class/net/eth0/queues"
HARM = "wait-for-more"
HARMFUL = """\
name: wait-for-more
title: Leave a queue's interrupt off for a hundred empty polls, 10 ms apart
when: []
role: guest
changes:
  - action: defer-interrupts
    napi_defer_hard_irqs: 100
    gro_flush_timeout_ns: 10000000
why: It sounds well, and makes each packet wait.
source: A policy that a test offers.
requires: [root]
disruption: none
expects: []
guards: []
avoid_when: Always.
undo: Both values are written back.
"""


def reported(place: Domain | Guest, words: str, seconds: float = TRIAL_SECONDS) -> dict[str, Any]:
    """What a trial or a tuning said; the seconds are those that it may take in the lab."""
    told: dict[str, Any] = json.loads(place.run(words, seconds).checked())
    for one in (told, *told.get("attempts", ())):
        print(told_in_short(one))  # pytest -rP shows what was measured  # noqa: T201
    return told


def told_in_short(one: dict[str, Any]) -> str:
    """The line that a person would note of a report or of one attempt of a tuning."""
    return " ".join(str(one[key]) for key in ("policy", "became", "headline", "why") if one.get(key))


def tried(place: Domain | Guest, words: str) -> dict[str, Any]:
    """The trial of a report, which came to an end."""
    trial: dict[str, Any] = reported(place, words)["trial"]
    assert trial["state"] == "done", trial["why"]
    return trial


def decided(trial: dict[str, Any]) -> str:
    return str(trial["verdict"]["decision"])


def primary(trial: dict[str, Any]) -> tuple[float, float]:
    """The interval of the metric that decides, in per cent."""
    effect = trial["verdict"]["primary"]
    return effect["low_percent"], effect["high_percent"]


def settings(guest: Guest) -> str:
    """All that these policies change in a guest."""
    return guest.run(
        "for irq in /proc/irq/[0-9]*; do echo $irq $(cat $irq/smp_affinity_list); done; cat /etc/default/irqbalance; "
        f"grep -H . {QUEUES}/*/[rx]ps_cpus {QUEUES}/rx-*/rps_flow_cnt; "
        "grep . /sys/class/net/eth0/napi_defer_hard_irqs /sys/class/net/eth0/gro_flush_timeout"
    ).checked()


def crowded(guest: Guest) -> None:
    """All interrupts of the NIC's queues on the first CPU, and nobody moves them."""
    writes = [f"echo 0 > /proc/irq/{irq}/smp_affinity_list" for irq in queue_irqs(guest).values()]
    guest.run("; ".join(("systemctl stop irqbalance", *writes))).checked()


def steered_wrongly(guest: Guest) -> None:
    """Packets go to the other CPU although each has a queue, and transmit queues to CPUs that do not clean them."""
    writes = (f"echo 2 > {QUEUES}/rx-0/rps_cpus; echo 2 > {QUEUES}/rx-1/rps_cpus", f"echo 2 > {QUEUES}/tx-0/xps_cpus")
    guest.run("; ".join((*writes, f"echo 1 > {QUEUES}/tx-1/xps_cpus"))).checked()


def test_the_event_index_is_tried_on_the_running_device_and_kept(domain: DomainFactory, program: str) -> None:
    one = domain(event_idx=False, kernel=KERNEL)
    one.guest.run("systemctl stop irqbalance").checked()
    before = one.virsh("dumpxml", "--inactive", "--security-info")
    with serving(one, "--cpus", "1") as server:
        rounds = "--connections 8 --round 6 --settle 2 --pairs-max 24 --json"
        trial = tried(one, f"{program} trial event-index-on --domain {one.name} --load tcp-rr {server} {rounds}")
    low, high = primary(trial)
    assert trial["question"]["primary"] == "exits_per_transaction"
    assert (decided(trial), trial["kept"]) == ("keep", True)
    assert low < high < 0
    assert "event_idx='on'" in one.virsh("dumpxml")
    one.run(f"{program} rollback {trial['transaction']}").checked()
    assert one.virsh("dumpxml", "--inactive", "--security-info") == before


def test_interrupts_on_one_cpu_are_found_spread_and_kept(domain: DomainFactory, program: str) -> None:
    guest = domain(kernel=KERNEL).guest
    crowded(guest)
    before = settings(guest)
    with driven(guest.domain, HERE, connections=16) as load:
        asked = f"TUNEAGENT_SECONDS=12 {shlex.quote(load.split()[-1])} >/dev/null & sleep 1; "
        seen = reported(guest, f"{asked}{program} advise --interval 6 --json; wait")
        trial = tried(guest, f"{program} trial {PIN} --on eth0 --round 10 --pairs-min 8 --pairs-max 24 --json {load}")
    low, high = primary(trial)
    assert PIN in {advice["policy"] for advice in seen["advice"]}
    assert (decided(trial), trial["kept"]) == ("keep", True)
    assert 0 < low < high
    assert settings(guest) != before
    guest.run(f"{program} rollback {trial['transaction']}").checked()
    assert settings(guest) == before


def test_irqbalance_against_pins(domain: DomainFactory, program: str) -> None:
    """Whichever is better here: the verdict is carried out."""
    guest = domain(kernel=KERNEL).guest
    crowded(guest)
    guest.run("systemctl start irqbalance").checked()
    with driven(guest.domain, HERE, connections=16) as load:
        trial = tried(guest, f"{program} trial {PIN} --on eth0 --round 6 --settle 1 --pairs-max 10 --json {load}")
    banned = "--banirq=" in guest.run("cat /etc/default/irqbalance").checked()
    assert trial["kept"] == banned == (decided(trial) == "keep")


def test_a_change_that_changes_nothing_is_not_kept(domain: DomainFactory, program: str) -> None:
    """Polls before an interrupt is switched on again, and no time between them: the kernel heeds both or neither."""
    guest = domain(kernel=KERNEL).guest
    guest.run("systemctl stop irqbalance").checked()
    before = settings(guest)
    plan = reported(guest, f"{program} apply defer-interrupts --on eth0 --check --json")
    polls = [change for change in plan["changes"] if change["where"].endswith("napi_defer_hard_irqs")]
    assert len(polls) == 1
    guest.run(f"umask 077; echo {shlex.quote(json.dumps({'changes': polls}))} > /run/plan").checked()
    with driven(guest.domain, HERE, connections=1) as load:
        trial = tried(
            guest, f"{program} trial --plan /run/plan --round 4 --settle 0 --pairs-max 12 --threshold 5 --json {load}"
        )
    assert decided(trial) != "keep"
    assert not trial["kept"]
    assert settings(guest) == before


def test_tune_mends_what_is_wrong_and_takes_back_what_harms(domain: DomainFactory, program: str) -> None:
    guest = domain(kernel=KERNEL).guest
    crowded(guest)
    steered_wrongly(guest)
    before = settings(guest)
    guest.run(f"umask 077; mkdir /run/more; printf %s {shlex.quote(HARMFUL)} > /run/more/{HARM}.yaml").checked()
    with driven(guest.domain, HERE, connections=1) as load:
        words = f"--policies /run/more --on eth0 --round 4 --settle 0.5 --pairs-max 8 --budget 50 --json {load}"
        told = reported(guest, f"{program} tune {HARM} {words}", TUNE_SECONDS)
    harmed = [one for one in told["attempts"] if one["policy"] == HARM]
    others = [one for one in told["attempts"] if one["policy"] != HARM]
    assert {(one["became"], one["trial"]["decision"]) for one in harmed} == {("taken-back", "revert")}, harmed
    assert {PIN, RPS, XPS} <= {one["policy"] for one in others if one["trial"] is not None}
    assert all(one["why"] and one["became"] != "failed" for one in others)
    assert "kept" in {one["became"] for one in others}
    assert "napi_defer_hard_irqs:0" in settings(guest)
    guest.run(f"{program} rollback --all").checked()
    assert settings(guest) == before


def test_a_trial_that_is_killed_gives_the_guest_back(domain: DomainFactory, program: str) -> None:
    guest = domain().guest
    crowded(guest)
    before = settings(guest)
    with driven(guest.domain, HERE, connections=1) as load:
        words = f"{program} trial {PIN} --on eth0 --round 20 --settle 1 --seed 1 --json {load}"
        unit = "--unit=trial --property=KillMode=process"
        guest.run(f"systemd-run --quiet --collect {unit} {words}").checked()
        irq = queue_irqs(guest)["input.1"]
        changed = f'test "$(cat /proc/irq/{irq}/smp_affinity_list)" = 1'
        guest.run(f"timeout 120 sh -c 'until {changed}; do sleep 0.2; done'", 150).checked()
        guest.run("sleep 4; kill -KILL $(systemctl show --value --property MainPID trial)").checked()
        back = f'test "$(cat /proc/irq/{irq}/smp_affinity_list)" = 0'
        guest.run(f"timeout 60 sh -c 'until {back}; do sleep 0.2; done'", 90).checked()
    assert settings(guest) == before
    assert " interrupted" in guest.run(f"{program} history").checked()
