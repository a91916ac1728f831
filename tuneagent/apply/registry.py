"""Every actuator, by the kinds of tunable it changes. A module is loaded when the first of its kind is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import cast

from tuneagent.apply.actuator import Actuator
from tuneagent.apply.machine import Machine
from tuneagent.model.plan import TunableKind

_OF_KIND: tuple[tuple[TunableKind, str, str], ...] = (
    (TunableKind.IRQBALANCE_UNIT, "irqbalance_unit", "IrqbalanceUnit"),
    (TunableKind.IRQBALANCE_BAN, "irqbalance_ban_file", "IrqbalanceBanFile"),
    (TunableKind.CHANNELS, "channels", "ChannelCount"),
    (TunableKind.RINGS, "rings", "RingSizes"),
    (TunableKind.COALESCING, "coalescing", "Coalescing"),
    (TunableKind.IRQBALANCE_RUNTIME_BAN, "irqbalance_runtime_ban", "IrqbalanceRuntimeBan"),
    (TunableKind.IRQ_AFFINITY, "irq_affinity", "IrqAffinity"),
    (TunableKind.XPS_CPUS, "queue_maps", "QueueMap"),
    (TunableKind.RPS_CPUS, "queue_maps", "QueueMap"),
    (TunableKind.RPS_SOCK_FLOW_ENTRIES, "flow_entries", "FlowEntries"),
    (TunableKind.RPS_FLOW_COUNT, "queue_maps", "QueueFlowCount"),
    (TunableKind.NAPI_DEFER_HARD_IRQS, "nic_files", "NicFile"),
    (TunableKind.GRO_FLUSH_TIMEOUT, "nic_files", "NicFile"),
    (TunableKind.KVM_PARAMETER, "module_parameter", "ModuleParameter"),
    (TunableKind.EMULATOR_PIN, "emulator_pin", "EmulatorPin"),
    (TunableKind.VHOST_AFFINITY, "vhost_affinity", "VhostAffinity"),
    (TunableKind.DOMAIN_INTERFACE_DRIVER, "domain_interface", "StoredInterface"),
    (TunableKind.DOMAIN_INTERFACE_LIVE, "domain_interface_live", "LiveInterface"),
)
"""Kind, module of this package and class; a test holds the table against the classes that there are."""


def actuators(machine: Machine) -> Mapping[TunableKind, Actuator]:
    """One of each for a machine, by kind."""
    return _Actuators(machine)


def class_of(kind: TunableKind) -> Callable[[Machine], Actuator]:
    """What makes the actuator for a kind; KeyError where this version has none."""
    for known, module, name in _OF_KIND:
        if known is kind:
            return cast("Callable[[Machine], Actuator]", getattr(import_module(f"tuneagent.apply.{module}"), name))
    raise KeyError(kind)


class _Actuators(Mapping[TunableKind, Actuator]):
    """Made when they are asked for: all of them take 30 ms to load, and most transactions are of one kind."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._made: dict[Callable[[Machine], Actuator], Actuator] = {}

    def __getitem__(self, kind: TunableKind) -> Actuator:
        make = class_of(kind)
        if make not in self._made:
            self._made[make] = make(self._machine)
        return self._made[make]

    def __iter__(self) -> Iterator[TunableKind]:
        return (kind for kind, _, _ in _OF_KIND)

    def __len__(self) -> int:
        return len(_OF_KIND)
