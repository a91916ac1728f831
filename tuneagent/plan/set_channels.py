"""set-channels: as many queue pairs as there are CPUs to serve them, and no more than the device offers."""

from __future__ import annotations

import shlex

from tuneagent.model.nic import Nic
from tuneagent.model.plan import Change, Declined, TunableKind
from tuneagent.model.topology import CpuTopology
from tuneagent.plan.situation import Situation, Solution, nic_target

_LOOK_AGAIN = (
    "virtio_net rewrites affinity and XPS when the number of queues changes, and other interrupts come into use: "
    "look them up again before pinning"
)
_XDP = "the driver refuses while an XDP program is loaded; then nothing is changed"


def solve(situation: Situation) -> Solution | Declined:
    """``ethtool -L NIC combined N``, with N between the CPUs that may take interrupts and those that are online.

    The driver itself starts with a queue for each online CPU, also for those set apart: that is not taken away, but no
    queue is added for them, whose interrupts would go there.
    """
    nic, topology = situation.nic, situation.cpus
    if nic is None or topology is None or not topology.online:
        return situation.declined("which CPUs there are is not known")
    channels = nic.channels
    if channels is not None and channels.apart:
        return situation.declined(
            f"the device has receive and transmit queues apart (rx {_of(channels.rx, channels.rx_max)}, "
            f"tx {_of(channels.tx, channels.tx_max)}) and no combined ones, which virtio_net has; a hand can set them"
        )
    if channels is None or channels.combined is None or channels.combined_max is None:
        return situation.declined(
            "how many queues the device offers is not known (ethtool's channels could not be read)"
        )
    if channels.combined_max < 1:
        return situation.declined("the device reports no combined queues")
    least, most = (min(channels.combined_max, len(cpus)) for cpus in (topology.housekeeping, topology.online))
    wanted = min(max(channels.combined, least), most)
    if channels.combined != wanted:
        return Solution((_change(nic, channels.combined, wanted, channels.combined_max),), (_LOOK_AGAIN, _XDP))
    return situation.declined(_already(wanted, channels.combined_max, topology))


def _of(now: int | None, most: int | None) -> str:
    return f"{'?' if now is None else now} of {'?' if most is None else most}"


def _already(pairs: int, offered: int, topology: CpuTopology) -> str:
    cpus = len(topology.online)
    if pairs < min(offered, cpus):
        return f"already so: a queue more would interrupt CPUs {topology.online - topology.housekeeping}, set apart"
    if offered < cpus:
        return f"already so: all {offered} queue pairs that the device offers are in use; more must come from the host"
    spare = f"; the device offers {offered}, and the definition on the host could name fewer" if offered > cpus else ""
    return f"already so: {pairs} queue pairs for {cpus} CPUs{spare}"


def _change(nic: Nic, old: int, new: int, offered: int) -> Change:
    name = shlex.quote(nic.name)
    why = (
        "a queue without a CPU of its own costs memory and vectors" if new < old else "each CPU gets a queue of its own"
    )
    return Change(
        kind=TunableKind.CHANNELS,
        target=nic_target(nic),
        where=f"ethtool channels of {nic.name}: combined",
        old=str(old),
        new=str(new),
        why=f"{why}; the device offers {offered}",
        do=f"ethtool -L {name} combined {new}",
        undo=f"ethtool -L {name} combined {old}" if old > 0 else None,
    )
