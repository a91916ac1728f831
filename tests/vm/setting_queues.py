"""Runs inside a guest: sets what its NIC has through the actuators, and tells as JSON what came of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from tests.apply import xdp_program
from tuneagent.apply.actuator import Actuator, Place, Refusal
from tuneagent.apply.lookup import Lookup
from tuneagent.apply.machine import Machine
from tuneagent.apply.registry import actuators
from tuneagent.machine.live import Live
from tuneagent.machine.writable import WritableRoot
from tuneagent.model.plan import Target, TunableKind

Known = Mapping[TunableKind, Actuator]


def main() -> None:
    source = Live(locks=False)
    machine = Machine(source, WritableRoot(), Lookup(source))
    known = actuators(machine)
    (nic,) = [nic for nic in machine.lookup.nics() if nic.name == "eth0"]
    assert nic.ifindex is not None
    target = Target(bus_address=nic.bus_address, virtio=nic.virtio, mac=nic.mac, interface="eth0")
    told = {
        "channels": channels(machine, known, target),
        "rings": setting(known[TunableKind.RINGS], replace(target, parameter="rx tx"), "rx=64 tx=128"),
        "usecs": setting(known[TunableKind.COALESCING], replace(target, parameter="rx-usecs"), "rx-usecs=50"),
        "frames": setting(known[TunableKind.COALESCING], replace(target, parameter="tx-frames"), "tx-frames=0"),
        "adaptive": setting(known[TunableKind.COALESCING], replace(target, parameter="adaptive-rx"), "adaptive-rx=on"),
        "xdp": beside_a_program(nic.ifindex, known[TunableKind.CHANNELS], target),
    }
    json.dump(told, sys.stdout)


def channels(machine: Machine, known: Known, target: Target) -> dict[str, Any]:
    """From the number there is to two, and back with everything that goes with it."""
    actuator = known[TunableKind.CHANNELS]
    place = actuator.locate(TunableKind.CHANNELS, target)
    old = actuator.read(place)
    kept = list(read_all(known, actuator.rewrites(place)))
    actuator.write(place, "2")
    fewer = asdict(actuator.effect(place, "2", None)) | {"read": actuator.read(place)}
    actuator.write(place, old)
    machine.lookup.forget()
    lost = [where for kind, target_, where, value in kept if now(known, kind, target_) != value]
    for kind, target_, _, value in kept:
        known[kind].write(known[kind].locate(kind, target_), value)
    back = asdict(actuator.effect(place, old, None)) | {"read": actuator.read(place)}
    return {"old": old, "fewer": fewer, "lost": lost, "back": back, "kept": [where for *_, where, _ in kept]}


def read_all(
    known: Known, rewritten: tuple[tuple[TunableKind, Target], ...]
) -> Iterator[tuple[TunableKind, Target, str, str]]:
    for kind, target in rewritten:
        place = known[kind].locate(kind, target)
        yield kind, target, place.where, known[kind].read(place)


def now(known: Known, kind: TunableKind, target: Target) -> str:
    return known[kind].read(known[kind].locate(kind, target))


def setting(actuator: Actuator, target: Target, value: str) -> dict[str, Any]:
    def there_and_back(place: Place) -> dict[str, Any]:
        old = actuator.read(place)
        actuator.write(place, value)
        told = {"old": old, "new": actuator.read(place), "by_hand": actuator.by_hand(place, old)}
        actuator.write(place, old)
        return told | {"back": actuator.read(place)}

    return refused(actuator, target, there_and_back)


def beside_a_program(index: int, actuator: Actuator, target: Target) -> dict[str, Any]:
    program = xdp_program.load()
    xdp_program.attach(index, program)
    os.close(program)
    told = setting(actuator, target, "1")
    left = actuator.read(actuator.locate(TunableKind.CHANNELS, target))
    xdp_program.attach(index, -1)
    return told | {"left": left}


def refused(actuator: Actuator, target: Target, act: Callable[[Place], dict[str, Any]]) -> dict[str, Any]:
    try:
        return act(actuator.locate(actuator.kinds[0], target))
    except Refusal as refusal:
        return {"why": refusal.why.value, "detail": refusal.detail}


if __name__ == "__main__":
    main()
