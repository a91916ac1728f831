"""Every actuator, by the kinds of tunable it changes."""

from __future__ import annotations

from tuneagent.apply.actuator import Actuator
from tuneagent.apply.channels import ChannelCount
from tuneagent.apply.coalescing import Coalescing
from tuneagent.apply.domain_interface import StoredInterface
from tuneagent.apply.domain_interface_live import LiveInterface
from tuneagent.apply.emulator_pin import EmulatorPin
from tuneagent.apply.flow_entries import FlowEntries
from tuneagent.apply.irq_affinity import IrqAffinity
from tuneagent.apply.irqbalance_ban_file import IrqbalanceBanFile
from tuneagent.apply.irqbalance_runtime_ban import IrqbalanceRuntimeBan
from tuneagent.apply.irqbalance_unit import IrqbalanceUnit
from tuneagent.apply.machine import Machine
from tuneagent.apply.module_parameter import ModuleParameter
from tuneagent.apply.nic_files import NicFile
from tuneagent.apply.queue_maps import QueueFlowCount, QueueMap
from tuneagent.apply.rings import RingSizes
from tuneagent.apply.vhost_affinity import VhostAffinity
from tuneagent.model.plan import TunableKind

ACTUATORS = (
    IrqbalanceUnit,
    IrqbalanceBanFile,
    ChannelCount,
    RingSizes,
    Coalescing,
    IrqbalanceRuntimeBan,
    IrqAffinity,
    QueueMap,
    FlowEntries,
    QueueFlowCount,
    NicFile,
    ModuleParameter,
    EmulatorPin,
    VhostAffinity,
    StoredInterface,
    LiveInterface,
)


def actuators(machine: Machine) -> dict[TunableKind, Actuator]:
    """One of each for a machine, by kind."""
    made: list[Actuator] = [make(machine) for make in ACTUATORS]
    return {kind: one for one in made for kind in one.kinds}
