"""receive-flow-steering: hand received packets to the CPU on which the program reads that waits for them (RFS)."""

from __future__ import annotations

from tuneagent.model.nic import Nic, RxQueue
from tuneagent.model.plan import Change, Declined, Target, TunableKind
from tuneagent.plan.situation import Situation, Solution, echo, nic_target, undo_echo

FLOWS = "flows"
ENTRIES = "net.core.rps_sock_flow_entries"
_PATH = "/proc/sys/net/core/rps_sock_flow_entries"
_NOT_READ = f"{ENTRIES} could not be read: a network namespace other than the first does not show it"


def solve(situation: Situation) -> Solution | Declined:
    """The table of all sockets' flows, and a share of it for each receive queue in use.

    Documentation/networking/scaling.rst, "RFS": the tables are powers of two, and with N queues each has about an Nth.
    """
    nic, topology = situation.nic, situation.cpus
    if nic is None or topology is None or not topology.online:
        return situation.declined("which CPUs there are is not known")
    if len(topology.online) == 1:
        return situation.declined("one CPU: every program runs where its packets arrive")
    used = set(nic.queues_in_use)
    queues = [queue for queue in nic.rx_queues if queue.index in used]
    if not any(queue.rps_cpus for queue in queues):
        return situation.declined("no receive queue hands packets to other CPUs (rps_cpus): rps-spread comes first")
    present = situation.view.after.rps_sock_flow_entries
    flows = present or _table(situation.policy.parameters[FLOWS])
    share = _table(-(-flows // len(queues)))
    counts = tuple(_count(nic, queue, share) for queue in queues if not queue.rps_flow_count)
    table = () if present else (_entries(flows, present),)
    if not table and not counts:
        return situation.declined(f"already so: {present} flows, and every queue in use has a table of its own")
    return Solution((*table, *counts), () if present is not None else (_NOT_READ,))


def _table(flows: int) -> int:
    """The power of two that the kernel would make of it."""
    return 1 << (flows - 1).bit_length()


def _entries(flows: int, old: int | None) -> Change:
    was = None if old is None else str(old)
    return Change(
        kind=TunableKind.RPS_SOCK_FLOW_ENTRIES,
        target=Target(parameter=ENTRIES),
        where=_PATH,
        old=was,
        new=str(flows),
        why=f"the CPU on which a program last read is remembered for {flows} flows, 4 bytes each",
        do=echo(str(flows), _PATH),
        undo=undo_echo(was, _PATH),
    )


def _count(nic: Nic, queue: RxQueue, share: int) -> Change:
    path = f"/sys/class/net/{nic.name}/queues/rx-{queue.index}/rps_flow_cnt"
    was = None if queue.rps_flow_count is None else str(queue.rps_flow_count)
    return Change(
        kind=TunableKind.RPS_FLOW_COUNT,
        target=nic_target(nic, queue.index, "rx"),
        where=path,
        old=was,
        new=str(share),
        why=f"queue {queue.index}: the CPU of {share} flows is remembered, so that no packet overtakes another",
        do=echo(str(share), path),
        undo=undo_echo(was, path),
    )
