"""Which CPUs transmit on a queue (XPS), which work on what a queue receives (RPS), and flows remembered of it (RFS).

Documentation/networking/scaling.rst; net/core/net-sysfs.c.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from functools import partial
from typing import Any

from tuneagent.apply import values
from tuneagent.apply.actuator import Place, Refusal, Seen, Why
from tuneagent.apply.flow_entries import PATH as FLOW_ENTRIES
from tuneagent.apply.flow_entries import same_tables
from tuneagent.apply.kernel_file import Answer, KernelFile, fault_of, number_in
from tuneagent.apply.machine import Machine
from tuneagent.model.errors import ParseError
from tuneagent.model.nic import Nic
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect

_NET = "/sys/class/net"
_FILES = {
    TunableKind.XPS_CPUS: ("tx", "xps_cpus"),
    TunableKind.RPS_CPUS: ("rx", "rps_cpus"),
    TunableKind.RPS_FLOW_COUNT: ("rx", "rps_flow_cnt"),
}
MOST_FLOWS = 1 << 32
"""rps_dev_flow_table's mask has 32 bits (store_rps_dev_flow_table_cnt())."""
MOST_FLOWS_ASKED = 1 << 20
"""Entries of one queue that a plan may ask for; each takes up to 16 bytes, and scaling.rst speaks of thousands."""


class QueueMap(KernelFile):
    """``xps_cpus`` of a transmit queue, ``rps_cpus`` of a receive queue: a mask of CPUs, 0 for none."""

    kinds = (TunableKind.XPS_CPUS, TunableKind.RPS_CPUS)
    answers: Mapping[int, Answer] = {
        # net/core/net-sysfs.c rps_cpumask_housekeeping()
        errno.EINVAL: (Why.FAILED, "the kernel does not take it: are all of these CPUs isolated?", None),
    }

    def locate(self, kind: TunableKind, target: Target) -> Place:
        """The queue's file; GONE where the interface or the queue is not there now."""
        return _located(self._machine, kind, target)

    def fault(self, value: str) -> str | None:
        """Whatever is no mask."""
        return fault_of(values.cpu_mask, value)

    def check(self, place: Place, value: str) -> str | None:  # noqa: ARG002 - the protocol has the place
        """Also a mask of which no CPU is online: the kernel would make none of it."""
        wrong = self.fault(value)
        if wrong:
            return wrong
        cpus, online = values.cpu_mask(value), self._machine.lookup.online()
        if cpus and online and not cpus & online:
            return f"CPUs {cpus} are not online"
        return None

    def same(self, one: str, other: str) -> bool:
        """The same CPUs among those online: of the others the kernel keeps none in either map."""
        try:
            ours, theirs = values.cpu_mask(one.strip()), values.cpu_mask(other.strip())
        except ParseError:
            return one.strip() == other.strip()
        online = self._machine.lookup.online()
        return ours == theirs or bool(online and ours & online == theirs & online)


class QueueFlowCount(KernelFile):
    """``rps_flow_cnt`` of a receive queue: how many flows are remembered with their CPU, 0 for none."""

    kinds = (TunableKind.RPS_FLOW_COUNT,)

    def locate(self, kind: TunableKind, target: Target) -> Place:
        """The queue's file; GONE where the interface or the queue is not there now."""
        return _located(self._machine, kind, target)

    def fault(self, value: str) -> str | None:
        """Whatever is no number that the kernel can take."""
        return fault_of(partial(values.number, most=MOST_FLOWS), value)

    def check(self, place: Place, value: str) -> str | None:  # noqa: ARG002 - the protocol has the place
        """Also so many that they only take memory."""
        return fault_of(partial(values.number, most=MOST_FLOWS_ASKED), value)

    def same(self, one: str, other: str) -> bool:
        """The kernel rounds up to a power of two."""
        return same_tables(one, other)

    def effect(self, place: Place, value: str, mark: Any) -> Seen:
        """Flows are followed only where the table of all sockets has entries too."""
        seen = super().effect(place, value, mark)
        if seen.effect is Effect.VERIFIED and not same_tables(value, "0") and not self._sockets():
            return Seen(Effect.NOT_YET, f"{seen.detail}, and counts for nothing while {FLOW_ENTRIES} is 0")
        return seen

    def _sockets(self) -> bool:
        # Not to be seen in a network namespace, where the machine's own table counts: then nothing contradicts.
        return number_in(self._machine.source, FLOW_ENTRIES) != 0


def _located(machine: Machine, kind: TunableKind, target: Target) -> Place:
    nic = machine.lookup.nic(target)
    direction, file = _FILES[kind]
    if target.queue not in _queues(nic, direction):
        raise Refusal(Why.GONE, f"{nic.name} has no queue {direction}-{target.queue} now")
    path = f"{_NET}/{nic.name}/queues/{direction}-{target.queue}/{file}"
    return Place(path, machine.lookup.known(target))


def _queues(nic: Nic, direction: str) -> frozenset[int]:
    return frozenset(queue.index for queue in (nic.rx_queues if direction == "rx" else nic.tx_queues))
