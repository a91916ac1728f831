"""rps-off: leave each packet on the CPU that took its interrupt."""

from __future__ import annotations

from tuneagent.model.nic import Nic, RxQueue
from tuneagent.model.plan import Change, Declined, TunableKind
from tuneagent.plan.situation import Situation, Solution, echo, mask_of, nic_target, undo_echo

_OFF = "0"


def solve(situation: Situation) -> Solution | Declined:
    """rps_cpus → 0 for each receive queue that has a map (Documentation/networking/scaling.rst, "RPS")."""
    nic = situation.nic
    if nic is None:
        return situation.declined("which interface it is about is not known")
    unknown = tuple(
        f"rx-{queue.index}: its map could not be read and is left alone"
        for queue in nic.rx_queues
        if queue.rps_cpus is None
    )
    return Solution(tuple(_change(nic, queue) for queue in nic.rx_queues if queue.rps_cpus), unknown)


def _change(nic: Nic, queue: RxQueue) -> Change:
    path = f"/sys/class/net/{nic.name}/queues/rx-{queue.index}/rps_cpus"
    old = mask_of(queue.rps_cpus)
    return Change(
        kind=TunableKind.RPS_CPUS,
        target=nic_target(nic, queue.index, "rx"),
        where=path,
        old=old,
        new=_OFF,
        why=f"handing packets of queue {queue.index} to CPUs {queue.rps_cpus} costs inter-processor interrupts",
        do=echo(_OFF, path),
        undo=undo_echo(old, path),
    )
