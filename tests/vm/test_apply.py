"""Apply, status and rollback against a real virtio_net with four queues, by where its interrupts land.

The guest has two cores of two threads: the program puts queues on the first threads first, the driver queue N on CPU N,
so it is known who placed one. A second NIC, of one queue, is there to take the first one's name and interrupts.
"""

from __future__ import annotations

import compileall
import json
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.vm.balancing import balancing
from tests.vm.machine import GUEST_ADDRESS, HOST_ADDRESS, Machine, booted, quoted
from tests.vm.traffic import arriving, interrupts

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]
REPOSITORY = Path(__file__).parents[2]
PROGRAM = f"cd {quoted(REPOSITORY)} && exec " + quoted(sys.executable, "-m", "tuneagent")
CPU = "Nehalem,+rdrand"
"""One whose threads the emulation shows; without random numbers of its own a guest has none for minutes."""
CORES = ("-smp", "4,sockets=1,cores=2,threads=2")
MAC, OTHER_MAC = "52:54:00:12:34:56", "52:54:00:65:43:21"
OTHER_NIC = ("-netdev", "hubport,id=other,hubid=0", "-device", f"virtio-net-pci,netdev=other,mac={OTHER_MAC}")
DRIVER = "/sys/bus/virtio/drivers/virtio_net"
SECONDS = 120.0
"""For what takes a second or two: the machine that emulates has other work."""
HOME = {0: "0", 1: "2", 2: "1", 3: "3"}
AWAY = {0: "1", 1: "0", 2: "3", 3: "2"}
BY_DRIVER = {0: "0", 1: "1", 2: "2", 3: "3"}
PIN = "pin-queue-interrupts"
Told = dict[str, Any]
# One process on each CPU, whose packets go out by the queue of that CPU.
SEND = f"""
import os, socket, time
for cpu in range(4):
    if os.fork() == 0:
        os.sched_setaffinity(0, [cpu])
        out = socket.socket(type=socket.SOCK_DGRAM)
        while True:
            out.sendto(b"x", ("{HOST_ADDRESS}", 9))
            time.sleep(0.2)
"""
DUMP = """
ethtool -l eth0 | grep Combined
for irq in {irqs}; do grep -H . /proc/irq/$irq/smp_affinity; done
cd /sys/class/net/eth0/queues && grep -H . tx-*/xps_cpus rx-*/rps_cpus rx-*/rps_flow_cnt
"""
KILL = """
({program} apply {pin} >/dev/null 2>&1 </dev/null) &
agent=$!
until [ "$(cat {first})" != "{away}" ]; do sleep 0.02; kill -0 $agent || exit 9; done
kill -9 $agent && cat {first}
"""


@pytest.fixture(scope="module")
def machine(vm_tier: None) -> Iterator[Machine]:  # noqa: ARG001 - must come first
    """The guest, with the other NIC taken away from its driver, and the program loaded once."""
    compileall.compile_dir(REPOSITORY / "tuneagent", quiet=2)
    with booted(cpu=CPU, arguments=(*CORES, *OTHER_NIC)) as guest:
        guest.run(f"echo {device(guest, OTHER_MAC)} > {DRIVER}/unbind").checked()
        guest.run(f"{PROGRAM} doctor >/dev/null").checked()
        yield guest


def device(machine: Machine, mac: str) -> str:
    """The virtio device of the NIC with this address, ``virtio2``."""
    found = machine.run(f"grep -l {mac} /sys/bus/virtio/devices/*/net/*/address").checked()
    return found.split("/")[5]


def unbound(machine: Machine) -> str:
    """The virtio device without a driver: the other NIC."""
    find = "cd /sys/bus/virtio/devices && for one in *; do test -e $one/driver || echo $one; done"
    (found,) = machine.run(find).checked().split()
    return found


def numbers(machine: Machine, of: str = "") -> dict[str, int]:
    """IRQs of the queues by name, ``input.2``; with both NICs there, of this virtio device."""
    read = f'awk \'/{of}-(in|out)put[.]/ {{ sub(":", "", $1); print $1, $NF }}\' /proc/interrupts'
    rows = map(str.split, machine.run(read).checked().splitlines())
    return {name.partition("-")[2]: int(irq) for irq, name in rows}


def masks(machine: Machine) -> dict[str, str]:
    """Where each may go, as the shell reads it."""
    names = numbers(machine)
    read = machine.run("; ".join(f"cat /proc/irq/{irq}/smp_affinity_list" for irq in names.values())).checked()
    return dict(zip(names, read.split(), strict=True))


def by_queue(cpus: Mapping[int, str]) -> dict[str, str]:
    return {f"{way}.{queue}": cpu for queue, cpu in cpus.items() for way in ("input", "output")}


def put_away(machine: Machine) -> dict[str, str]:
    """Every interrupt where neither the program nor the driver would have it."""
    irqs = numbers(machine)
    lines = [f"echo {cpu} > /proc/irq/{irqs[name]}/smp_affinity_list" for name, cpu in by_queue(AWAY).items()]
    machine.run("set -e\n" + "\n".join(lines)).checked()
    assert masks(machine) == by_queue(AWAY)
    return masks(machine)


@contextmanager
def busy(machine: Machine) -> Iterator[None]:
    """Packets in and out on every queue."""
    command = quoted("python3", "-c", f"{SEND}time.sleep(1e6)")
    group = machine.run(f"setsid {command} >/dev/null 2>&1 </dev/null & echo $!").checked().strip()
    try:
        with arriving(machine, pause=0.02):
            yield
    finally:
        machine.run(f"kill -- -{group}")


def landing(machine: Machine, least: int = 3) -> dict[str, str]:
    """The CPUs at which interrupts come in, by queue: each has moved by then and comes a few times more."""
    counts = _after(machine, interrupts(machine), least)
    grown = _after(machine, counts, least)
    return {
        name: ",".join(str(cpu) for cpu, (now, then) in enumerate(zip(row, counts[irq][1], strict=True)) if now > then)
        for irq, (name, row) in grown.items()
    }


Counts = dict[int, tuple[str, tuple[int, ...]]]


def _after(machine: Machine, before: Counts, least: int) -> Counts:
    deadline = time.monotonic() + SECONDS
    while True:
        now = interrupts(machine)
        if all(sum(row) - sum(before[irq][1]) >= least for irq, (_, row) in now.items()):
            return now
        assert time.monotonic() < deadline, f"not {least} interrupts of each queue: {before} then {now}"
        machine.run("sleep 0.5")


def agent(machine: Machine, *words: str, code: int = 0) -> Told:
    """What a command says, which must end with this exit code."""
    done = machine.run(f"{PROGRAM} {quoted(*words)} --json", timeout=600)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    told: Told = json.loads(done.stdout)
    return told


def pinned(machine: Machine, *policies: str) -> Told:
    """The transaction of an apply, with every mask where the program puts it."""
    told = agent(machine, "apply", *policies, PIN, "--on", "eth0")
    assert masks(machine) == by_queue(HOME)
    return dict(told["transactions"][0]) | {"notes": told["notes"]}


def stands(machine: Machine, made: Told, *, code: int = 0) -> dict[str, Told]:
    """How the interrupts of a transaction stand, by queue."""
    entries = agent(machine, "status", str(made["id"]), code=code)["transactions"][0]["entries"]
    return {_name(one): one for one in entries if one["kind"] == "irq-affinity"}


def _name(entry: Told) -> str:
    return f"{entry['target']['queue_role']}.{entry['target']['queue']}"


def of_queues(*queues: int) -> set[str]:
    return set(by_queue(dict.fromkeys(queues, "")))


def standing(entries: Mapping[str, Told], *words: str) -> set[str]:
    return {name for name, one in entries.items() if one["standing"] in words}


def rolled_back(machine: Machine, left: Collection[str] = ()) -> None:
    """An undo gives every interrupt back but those ``left``, which are as they were before it."""
    before = masks(machine)
    entries = agent(machine, "rollback")["transactions"][0]["entries"]
    outcomes = {_name(one): one["outcome"] for one in entries if one["kind"] == "irq-affinity"}
    assert {name for name, outcome in outcomes.items() if outcome == "yielded"} == set(left)
    assert set(outcomes.values()) <= {"yielded", "given-back"}
    away = by_queue(AWAY)
    assert masks(machine) == {name: before[name] if name in left else away[name] for name in before}


def test_every_queue_s_interrupts_land_on_its_cpu_and_go_back(machine: Machine) -> None:
    put_away(machine)
    with busy(machine):
        assert landing(machine) == by_queue(AWAY)
        made = pinned(machine)
        assert {_name(one): one["effect"] for one in made["entries"]} == dict.fromkeys(by_queue(HOME), "verified")
        assert landing(machine) == by_queue(HOME)
        rolled_back(machine)
        assert landing(machine) == by_queue(AWAY)


def test_idle_queues_are_not_there_yet_until_traffic_comes(machine: Machine) -> None:
    put_away(machine)
    with busy(machine):
        assert landing(machine) == by_queue(AWAY)
    made = pinned(machine)
    assert {one["outcome"] for one in made["entries"]} == {"changed"}
    idle = {_name(one) for one in made["entries"] if one["effect"] == "not-yet"}
    assert len(idle) >= 6, "a stray packet may have moved one of them"
    assert len(standing(stands(machine, made), "not-yet")) >= 6
    with busy(machine):
        assert landing(machine) == by_queue(HOME)
    assert standing(stands(machine, made), "in-force") == set(by_queue(HOME))
    rolled_back(machine)


def test_an_irqbalance_that_was_told_leaves_the_pins(machine: Machine, irqbalance: Path) -> None:
    put_away(machine)
    with balancing(machine, irqbalance, interval=10):
        made = pinned(machine, "irqbalance-ban-now")
        assert made["entries"][0]["kind"] == "irqbalance-runtime-ban"
        assert not [note for note in made["notes"] if "will undo" in note]
        machine.run("sleep 25").checked()  # it looks twice
        assert masks(machine) == by_queue(HOME)
        with busy(machine):
            assert landing(machine) == by_queue(HOME)
        entries = stands(machine, made)  # of those that irqbalance had not put there by itself
        assert standing(entries, "in-force") == set(entries)
        agent(machine, "rollback")


def test_an_irqbalance_that_was_not_told_is_named(machine: Machine, irqbalance: Path) -> None:
    put_away(machine)
    made = pinned(machine)
    with balancing(machine, irqbalance, interval=10), busy(machine):
        deadline = time.monotonic() + SECONDS
        while len(set(masks(machine).items()) - set(by_queue(HOME).items())) < 3:
            assert time.monotonic() < deadline, "it moves nothing"
            machine.run("sleep 2")
        entries = stands(machine, made, code=6)
        moved = standing(entries, "drifted", "back")
        assert moved
        for name in moved:
            assert entries[name]["new"] == by_queue(HOME)[name] != entries[name]["now"]
            assert "irqbalance runs and was not told to leave it" in entries[name]["standing_detail"]
    left = {name for name, cpu in masks(machine).items() if cpu != by_queue(HOME)[name]}
    entries = {_name(one): one for one in agent(machine, "rollback")["transactions"][0]["entries"]}
    assert {name for name, one in entries.items() if one["outcome"] == "given-back"} >= set(entries) - left
    assert all(masks(machine)[name] == by_queue(AWAY)[name] for name in set(entries) - left)


def test_what_the_driver_sets_anew_is_told_and_left(machine: Machine) -> None:
    put_away(machine)
    made = pinned(machine)
    machine.run("ip link set eth0 down && ip link set eth0 up").checked()
    assert standing(stands(machine, made), "in-force", "not-yet") == set(by_queue(HOME))

    machine.run("ethtool -L eth0 combined 2 && ethtool -L eth0 combined 4").checked()
    assert masks(machine) == by_queue(BY_DRIVER)
    _set_by_driver(stands(machine, made, code=6), of_queues(1, 2), by_queue(BY_DRIVER))

    cpu = "/sys/devices/system/cpu/cpu2/online"
    machine.run(f"echo 0 > {cpu}").checked()
    try:
        without = masks(machine)
        moved = {name for name, cpus in without.items() if cpus != by_queue(HOME)[name]}
        assert moved >= of_queues(1), "it was at home there"
        _set_by_driver(stands(machine, made, code=6), moved, without)
    finally:
        machine.run(f"echo 1 > {cpu}").checked()
    _set_by_driver(stands(machine, made, code=6), of_queues(1, 2), by_queue(BY_DRIVER))
    rolled_back(machine, left=of_queues(1, 2))


def _set_by_driver(entries: Mapping[str, Told], moved: Collection[str], now: Mapping[str, str]) -> None:
    assert standing(entries, "drifted", "back") == set(moved)
    for name in moved:
        assert (entries[name]["new"], entries[name]["now"]) == (by_queue(HOME)[name], now[name])
        assert entries[name]["standing_detail"] == "the driver set it anew (its affinity hint)"


def test_a_device_with_another_name_and_other_numbers_is_found_again(machine: Machine) -> None:
    put_away(machine)
    made = pinned(machine)
    before, ours, other = numbers(machine), device(machine, MAC), unbound(machine)
    machine.run(f"echo {ours} > {DRIVER}/unbind").checked()
    try:
        assert standing(stands(machine, made, code=6), "gone") == set(before)
        machine.run(f"echo {other} > {DRIVER}/bind && echo {ours} > {DRIVER}/bind").checked()
        assert OTHER_MAC in machine.run("cat /sys/class/net/eth0/address").checked()
        _found_again(machine, made, before, ours)
    finally:
        machine.run(f"echo {ours} > {DRIVER}/unbind; echo {other} > {DRIVER}/unbind")
        machine.run(
            f"echo {ours} > {DRIVER}/bind && ip address add {GUEST_ADDRESS}/24 dev eth0 && ip link set eth0 up"
        ).checked()


def _found_again(machine: Machine, made: Told, before: Mapping[str, int], ours: str) -> None:
    now = numbers(machine, of=ours)
    assert set(now) == set(before)
    assert not any(now[name] == before[name] for name in before)
    read = "; ".join(f"echo {name} $(cat /proc/irq/{irq}/smp_affinity_list)" for name, irq in now.items())
    entries = stands(machine, made, code=6)
    assert {name: one["where_now"] for name, one in entries.items()} == {
        name: f"/proc/irq/{irq}/smp_affinity_list" for name, irq in now.items()
    }
    _set_by_driver(entries, of_queues(1, 2), by_queue(BY_DRIVER))
    agent(machine, "rollback")
    after = dict(map(str.split, machine.run(read).checked().splitlines()))
    assert after == by_queue(BY_DRIVER | {queue: AWAY[queue] for queue in (0, 3)})


def test_queues_and_their_pins_are_one_transaction(machine: Machine) -> None:
    put_away(machine)
    queues = "/sys/class/net/eth0/queues"
    machine.run("ethtool -L eth0 combined 1").checked()
    put_away(machine)
    by_hand = f"echo a > {queues}/tx-0/xps_cpus; echo c > {queues}/rx-0/rps_cpus; echo 128 > {queues}/rx-0/rps_flow_cnt"
    machine.run(f"set -e; {by_hand}").checked()
    dump = DUMP.format(irqs=" ".join(map(str, numbers(machine).values())))
    before = machine.run(dump).checked()
    assert (before.count("smp_affinity"), before.count("queues"), before.count("Combined")) == (8, 0, 2)
    made = pinned(machine, "queues-per-cpu")
    assert made["entries"][0]["kind"] == "channels"
    assert {_name(one) for one in made["entries"][1:]} == of_queues(1, 2), "the driver places the others so itself"
    assert len(machine.run(dump).checked().splitlines()) == len(before.splitlines()) + 9
    with busy(machine):
        assert landing(machine) == by_queue(HOME)
    agent(machine, "rollback")
    assert machine.run(dump).checked() == before
    machine.run("ethtool -L eth0 combined 4").checked()


def test_an_agent_that_is_killed_in_the_middle_leaves_nothing(machine: Machine) -> None:
    before = put_away(machine)
    first = f"/proc/irq/{numbers(machine)['input.0']}/smp_affinity_list"
    killed = machine.run(KILL.format(program=PROGRAM, pin=PIN, first=first, away=AWAY[0]))
    assert (killed.returncode, killed.stdout.strip()) == (0, HOME[0]), killed.stderr
    deadline = time.monotonic() + SECONDS
    while masks(machine) != before:
        assert time.monotonic() < deadline, f"not given back: {masks(machine)}"
        machine.run("sleep 0.5")
    status = agent(machine, "status")
    last = status["transactions"][-1]
    assert (last["state"], last["undone_why"], last["stands"]) == ("undone", "interrupted", False)
    assert {one["outcome"] for one in last["entries"]} == {"given-back"}
