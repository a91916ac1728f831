"""Small machines built in memory, for tests of pure code. Every value differs from its neighbours on purpose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tuneagent.model.clock import Clock
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.identity import Identity, Role
from tuneagent.model.irq import IrqLine, QueueIrq, QueueRole
from tuneagent.model.irqbalance import Irqbalance
from tuneagent.model.nic import Channels, Nic, RxQueue, TxQueue
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.topology import CpuTopology
from tuneagent.model.view import CpuRate, IrqRate, NicRate, QueueRate, View
from tuneagent.model.virtio import Transport, VirtioDevice

SECONDS = 2.0
FEATURES = frozenset({0, 1, 5, 15, 17, 22, 28, 29, 32})
FIRST_QUEUE_IRQ = 31


def topology(cpus: int = 4, **changes: Any) -> CpuTopology:
    """A machine of ``cpus`` cores, one thread each, one node, nothing isolated."""
    every = CpuSet.of(range(cpus))
    cores = tuple(CpuSet.of([cpu]) for cpu in range(cpus))
    base = CpuTopology(every, every, CpuSet(), CpuSet(), {0: every}, cores)
    return replace(base, **changes)


def irq_line(number: int, action: str, effective: int, **changes: Any) -> IrqLine:
    """A movable MSI-X interrupt that may and does go to CPU ``effective``."""
    only = CpuSet.of([effective])
    base = IrqLine(
        number,
        (action,),
        "PCI-MSIX-0000:00:03.0",
        str(number - 30),
        "edge",
        "0000:00:03.0",
        only,
        only,
        None,
        None,
        True,
    )
    return replace(base, **changes)


def queue_irqs(queues: int) -> tuple[QueueIrq, ...]:
    """input.q on IRQ 31+2q, output.q on IRQ 32+2q."""
    irqs: list[QueueIrq] = []
    for queue in range(queues):
        irqs.append(QueueIrq(FIRST_QUEUE_IRQ + 2 * queue, QueueRole.INPUT, queue))
        irqs.append(QueueIrq(FIRST_QUEUE_IRQ + 2 * queue + 1, QueueRole.OUTPUT, queue))
    return (*irqs, QueueIrq(30, QueueRole.CONFIG, None))


def nic(queues: int = 4, queues_max: int | None = None, **changes: Any) -> Nic:
    """eth0, a virtio NIC with ``queues`` queue pairs in use, XPS queue n on CPU n, RPS off."""
    base = Nic(
        name="eth0",
        ifindex=2,
        mac="52:54:00:12:34:56",
        operstate="up",
        mtu=1500,
        driver="virtio_net",
        virtio="virtio0",
        bus_address="0000:00:03.0",
        node=None,
        local_cpus=None,
        rx_queues=tuple(RxQueue(index, CpuSet(), 0) for index in range(queues)),
        tx_queues=tuple(TxQueue(index, CpuSet.of([index]) if queues > 1 else None, 0) for index in range(queues)),
        queue_irqs=queue_irqs(queues),
        lower=(),
        upper=(),
        link=None,
        channels=Channels(combined=queues, combined_max=queues_max or queues),
        rings=None,
        coalesce=None,
        offloads=None,
        statistics=None,
        queue_statistics=None,
    )
    return replace(base, **changes)


def snapshot(cpus: int = 4, queues: int = 4, **changes: Any) -> Snapshot:
    """A KVM guest with one virtio NIC whose queue pair n is on CPU n, event index on, irqbalance not running."""
    lines = [irq_line(30, "virtio0-config", 0)]
    for queue in range(queues):
        lines.append(irq_line(FIRST_QUEUE_IRQ + 2 * queue, f"virtio0-input.{queue}", queue % cpus))
        lines.append(irq_line(FIRST_QUEUE_IRQ + 2 * queue + 1, f"virtio0-output.{queue}", queue % cpus))
    base = Snapshot(
        clock=Clock(10**9, 10**9, 10**18),
        identity=Identity("11111111-2222-3333-4444-555555555555", "b", "6.12.0", "x86_64", "kvm", None, Role.GUEST),
        cpus=topology(cpus),
        interrupts=None,
        irqs=tuple(lines),
        virtio=(VirtioDevice("virtio0", 0, 1, FEATURES, Transport.PCI, "0000:00:03.0", "virtio_net"),),
        nics=(nic(queues),),
        softnet=None,
        softirqs=None,
        cpu_times=None,
        protocols=None,
        irqbalance=Irqbalance(False, None, (), None, None, None),
        missing=(),
    )
    return replace(base, **changes)


def irq_rate(irq: int, per_cpu: dict[int, int], seconds: float = SECONDS) -> IrqRate:
    """An interrupt that fired so often on these CPUs within the interval."""
    count = sum(per_cpu.values())
    return IrqRate(irq, count, {cpu: n for cpu, n in per_cpu.items() if n}, count / seconds, seconds)


def cpu_rate(cpu: int, **changes: Any) -> CpuRate:
    """A CPU that is mostly idle."""
    base = CpuRate(cpu, 2.5, 0.5, 0.25, 90.0, 200, 1000.0, 0.0, 0.0, 0.0, 500.0, 3.0)
    return replace(base, **changes)


def nic_rate(queues: int = 4, **changes: Any) -> NicRate:
    """eth0 under a load of 40,000 packets/s in and 20,000 out, 0.05 receive interrupts a packet."""
    rates = tuple(
        QueueRate(q, FIRST_QUEUE_IRQ + 2 * q, FIRST_QUEUE_IRQ + 2 * q + 1, 2000.0 / queues, 1.0) for q in range(queues)
    )
    base = NicRate(
        name="eth0",
        seconds=SECONDS,
        rx_packets_per_sec=40_000.0,
        tx_packets_per_sec=20_000.0,
        rx_bytes_per_sec=4e6,
        tx_bytes_per_sec=3e6,
        rx_drops_per_sec=0.0,
        tx_drops_per_sec=0.0,
        rx_errors_per_sec=0.0,
        tx_errors_per_sec=0.0,
        rx_missed_per_sec=0.0,
        queues=rates,
        interrupts_per_sec=2004.0,
        rx_interrupts_per_packet=0.05,
        tx_interrupts_per_packet=0.0002,
        interrupts_per_packet=0.0334,
        rx_kicks_per_packet=0.01,
        tx_kicks_per_packet=0.2,
        tx_timeouts=0,
    )
    return replace(base, **changes)


def view(after: Snapshot | None = None, before: Snapshot | None = None, queues: int = 4, **changes: Any) -> View:
    """Two samples of :func:`snapshot` 2 s apart under :func:`nic_rate`, each queue's interrupts on its own CPU."""
    now = after or snapshot(queues=queues)
    irqs: dict[int, IrqRate] = {}
    for queue_irq in now.nics[0].queue_irqs if now.nics else ():
        line = now.irq(queue_irq.irq)
        cpus = tuple(line.effective_affinity or ()) if line else ()
        if queue_irq.role is QueueRole.INPUT and cpus:
            irqs[queue_irq.irq] = irq_rate(queue_irq.irq, {cpus[0]: 1000 + queue_irq.irq})
    base = View(
        before=before or now,
        after=now,
        interval_s=SECONDS,
        rates_reason=None,
        irqs=irqs,
        irqs_gone=(),
        irqs_new=(),
        nics={"eth0": nic_rate(queues)},
        cpus={cpu: cpu_rate(cpu) for cpu in (now.cpus.online if now.cpus else ())},
        protocols=None,
        missing=now.missing,
    )
    return replace(base, **changes)
