"""A machine with eth0 of ``make`` and whichever processes a test calls irqbalance, whose /proc is the real one."""

from __future__ import annotations

from collections.abc import Iterable

from tests import make
from tuneagent.apply.lookup import Lookup
from tuneagent.apply.machine import Machine
from tuneagent.machine.source import Process
from tuneagent.machine.sysroot import Sysroot
from tuneagent.machine.writable import WritableRoot
from tuneagent.model.errors import SourceError
from tuneagent.model.irq import IrqLine
from tuneagent.model.missing import Reason
from tuneagent.model.nic import Nic
from tuneagent.model.plan import Target

TARGET = Target(bus_address="0000:00:03.0", mac="52:54:00:12:34:56", interface="eth0")
QUEUE_IRQS = range(make.FIRST_QUEUE_IRQ, make.FIRST_QUEUE_IRQ + 8)


class Processes(Sysroot):
    """Files of ``root``; the processes are those that the test names."""

    def __init__(self, found: Iterable[Process] | None, root: str = "/") -> None:
        super().__init__(root)
        self.found = None if found is None else tuple(found)

    def processes(self, names: frozenset[str]) -> tuple[Process, ...]:
        if self.found is None:
            raise SourceError(
                "/proc", Reason.PERMISSION, "processes of other users are hidden (hidepid)", "run as root"
            )
        return tuple(process for process in self.found if process.name in names)


class Eth0(Lookup):
    """eth0 with four queue pairs on interrupts 31 to 38."""

    def nic(self, target: Target) -> Nic:
        assert target.bus_address == TARGET.bus_address
        return make.nic()

    def queue_irqs(self, nic: Nic) -> tuple[IrqLine, ...]:
        assert nic.name == "eth0"
        return tuple(make.irq_line(irq, f"virtio0-{irq}", 0) for irq in QUEUE_IRQS)


def process(pid: int, *options: str) -> Process:
    return Process(pid, "irqbalance", ("/usr/sbin/irqbalance", "--foreground", *options))


def machine(source: Processes, root: str = "/") -> Machine:
    return Machine(source, WritableRoot(root), Eth0(source))
