"""xps-mismatch: the choice of a transmit queue does not fit the CPUs and the interrupts."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.placement import landing
from tuneagent.diagnose.subjects import device_nics, no_topology, online, single_cpu
from tuneagent.diagnose.wording import counted, cpu_list, named
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.irq import QueueRole
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

NAME = "xps-mismatch"


def judge(view: View) -> tuple[Judgement, ...]:
    """At most one judgement an interface with a device and several transmit queues; nothing with one CPU."""
    if single_cpu(view):
        return ()
    return tuple(_nic(view, nic) for nic in device_nics(view) if len(nic.tx_queues) > 1)


def _nic(view: View, nic: Nic) -> Judgement:
    cpus = online(view)
    if cpus is None:
        return no_topology(NAME, nic.name)
    maps = {queue.index: queue.xps_cpus & cpus for queue in nic.tx_queues if queue.xps_cpus is not None}
    if len(maps) < len(nic.tx_queues):
        return Unjudged(NAME, nic.name, f"the XPS map of not every transmit queue of {nic.name} could be read")
    return _fault(view, nic, maps) or Clear(NAME, nic.name, _evidence(nic, maps))


def _fault(view: View, nic: Nic, maps: dict[int, CpuSet]) -> Finding | None:
    """The first fault in order of weight."""
    covered = CpuSet.of(cpu for each in maps.values() for cpu in each)
    used = [queue for queue, each in maps.items() if each]
    if len(used) == 1 and len(covered) > 1:
        return _one_queue(nic, maps, used[0], covered)
    # CPUs in no map are no fault: a hash of the flow chooses for them (netdev_pick_tx), and a map of only the CPU that
    # takes the interrupt was measured faster than a stripe over all CPUs.
    astray = _astray(view, nic, maps)
    # Other drivers may choose the queue themselves (ndo_select_queue), and then no map is none that is missed.
    if not covered and nic.virtio is None:
        return None
    told = _told(maps, covered, astray)
    return _info(nic, maps, *told, tuple(astray)) if told is not None else None


def _told(maps: dict[int, CpuSet], covered: CpuSet, astray: list[int]) -> tuple[str, str] | None:
    """What is worth knowing of the maps, and why; None where they fit."""
    if not covered:
        why = (
            "No CPU has a transmit queue of its own: a hash of the flow chooses, so any CPU may take any queue's lock."
        )
        return "has no XPS map", why
    if astray:
        queues = named(astray, "transmit queue")
        why = f"The interrupt of {queues} goes to a CPU outside the queue's XPS map, so sending and completing a packet"
        return f"maps {queues} to CPUs that do not take the interrupt", f"{why} are on different CPUs."
    # Maps that part the CPUs among fewer queues are the driver's own (virtnet_set_affinity) and no fault.
    shared = sum(map(len, maps.values())) - len(covered)
    if shared:
        why = (
            "The flows of a CPU that is in several queues' maps are hashed over them, so that those queues' locks are "
            "taken from several CPUs; a map for each queue of its own CPUs only keeps them apart."
        )
        return f"maps {counted(len(covered), 'CPU')} to several of {counted(len(maps), 'transmit queue')}", why
    return None


def _astray(view: View, nic: Nic, maps: dict[int, CpuSet]) -> list[int]:
    """Queues whose interrupt's one CPU is outside their map.

    Not those that only CPUs set apart send through: there no interrupt ought to go, and a queue of its own is of use.
    """
    topology = view.after.cpus
    serve = topology.housekeeping if topology is not None else CpuSet()
    astray: list[int] = []
    for queue, irqs in sorted(nic.pairs_in_use().items()):
        own = min(irqs, key=lambda irq: irq.role is not QueueRole.OUTPUT)
        home = landing(view, own).home
        if home is not None and maps.get(queue, CpuSet()) & serve and home not in maps[queue]:
            astray.append(queue)
    return astray


def _one_queue(nic: Nic, maps: dict[int, CpuSet], queue: int, covered: CpuSet) -> Finding:
    return Finding(
        NAME,
        nic.name,
        Severity.WARNING,
        f"{nic.name} sends from {cpu_list(covered)} through transmit queue {queue} alone",
        f"Only transmit queue {queue} of {len(maps)} has an XPS map, and {cpu_list(covered)} are in it: all of them "
        "take turns on its lock while the other queues lie idle.",
        _evidence(nic, maps),
        queues=(queue,),
        cpus=tuple(covered),
    )


def _info(nic: Nic, maps: dict[int, CpuSet], title: str, why: str, queues: tuple[int, ...] = ()) -> Finding:
    return Finding(NAME, nic.name, Severity.INFO, f"{nic.name} {title}", why, _evidence(nic, maps), queues=queues)


def _evidence(nic: Nic, maps: dict[int, CpuSet]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(f"tx{queue}_xps_cpus", str(each), "CPU list", sources.transmit_queue(nic.name, queue, "xps_cpus"))
        for queue, each in sorted(maps.items())
    )
