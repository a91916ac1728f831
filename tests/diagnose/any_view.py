"""Views of every kind, likely or not: what rules must bear without raising."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tuneagent.model.contention import Contended, Contention, LockGroup
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.identity import Identity, Role
from tuneagent.model.irq import IrqLine, QueueIrq, QueueRole
from tuneagent.model.irqbalance import Irqbalance, IrqbalanceConfig
from tuneagent.model.nic import Channels, Link, Nic, RxQueue, TxQueue
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.topology import CpuTopology
from tuneagent.model.view import CpuRate, IrqRate, NicRate, QueueRate, View
from tuneagent.model.virtio import Transport, VirtioDevice

CPU = st.sampled_from([0, 1, 2, 3, 63, 8191])
IRQ = st.integers(30, 36)
NIC_NAME = st.sampled_from(["eth0", "eth1", "vnet0"])
COUNT = st.integers(0, 2**40)
RATE = st.none() | st.floats(0, 1e12) | st.sampled_from([0.0, 1.0, 1e6])
TEXT = st.text(max_size=200) | st.sampled_from(["virtio0-input.0", "\x1b[2J\n", ""])
CPUS = st.builds(CpuSet.of, st.frozensets(CPU, max_size=4))


def _nothing_or(strategy: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.none() | strategy


def _several(strategy: SearchStrategy[Any], most: int = 4) -> SearchStrategy[Any]:
    return st.lists(strategy, max_size=most).map(tuple)


@cache
def _line() -> SearchStrategy[IrqLine]:
    return st.builds(
        IrqLine,
        irq=IRQ,
        actions=_several(TEXT),
        affinity=_nothing_or(CPUS),
        effective_affinity=_nothing_or(CPUS),
        affinity_hint=_nothing_or(CPUS),
        chip=st.none(),
        hwirq=st.none(),
        trigger=st.none(),
        pci_address=st.none(),
        node=st.none(),
        movable=st.none(),
    )


@cache
def _nic() -> SearchStrategy[Nic]:
    queue = st.integers(0, 3)
    count = _nothing_or(st.integers(0, 8))
    return st.builds(
        Nic,
        name=NIC_NAME,
        virtio=_nothing_or(st.sampled_from(["virtio0", "virtio1"])),
        bus_address=_nothing_or(st.just("0000:00:03.0")),
        rx_queues=_several(st.builds(RxQueue, queue, _nothing_or(CPUS), st.none())),
        tx_queues=_several(st.builds(TxQueue, queue, _nothing_or(CPUS), _nothing_or(COUNT))),
        queue_irqs=_several(st.builds(QueueIrq, IRQ, st.sampled_from(QueueRole), _nothing_or(queue)), 6),
        ifindex=st.none(),
        mac=st.none(),
        operstate=st.none(),
        mtu=st.none(),
        driver=st.none(),
        node=st.none(),
        local_cpus=st.none(),
        upper=st.just(()),
        lower=_several(NIC_NAME),
        link=_nothing_or(
            st.builds(
                Link, st.sampled_from(["vlan", "bond", "tun", None]), st.sampled_from(["noqueue", "fq\n", None]), count
            )
        ),
        channels=_nothing_or(st.builds(Channels, count, count, count, count)),
        statistics=st.none(),
        queue_statistics=st.none(),
        rings=st.none(),
        coalesce=st.none(),
        offloads=st.none(),
    )


@cache
def _irqbalance() -> SearchStrategy[Irqbalance]:
    config = st.builds(
        IrqbalanceConfig,
        path=st.just("/etc/default/irqbalance"),
        banned_irqs=st.frozensets(IRQ),
        banned_modules=_several(TEXT),
        errors=_several(TEXT),
        key=st.none(),
        options=st.just(()),
        policy_script=st.none(),
        banned_cpus=_nothing_or(CPUS),
        banned_cpus_key=st.sampled_from(["IRQBALANCE_BANNED_CPUS", None]),
        deprecated_keys=_several(st.just("IRQBALANCE_BANNED_CPUS")),
    )
    return st.builds(
        Irqbalance,
        running=st.sampled_from([True, False, None]),
        command=_several(TEXT),
        config=_nothing_or(config),
        banned_irqs=st.frozensets(IRQ),
        banned_modules=_several(st.sampled_from(["", "virtio", "ahci"])),
    )


@cache
def _snapshot() -> SearchStrategy[Snapshot]:
    device = st.builds(
        VirtioDevice,
        name=st.sampled_from(["virtio0", "virtio1"]),
        features=_nothing_or(st.frozensets(st.sampled_from([17, 22, 29, 34]))),
        transport=st.sampled_from(Transport),
    )
    cpus = st.builds(
        CpuTopology,
        online=CPUS,
        possible=st.none(),
        isolated=CPUS,
        nohz_full=CPUS,
        nodes=st.just({}),
        cores=st.just(()),
    )
    return st.builds(
        Snapshot,
        clock=st.none(),
        identity=_nothing_or(st.builds(Identity, role=st.sampled_from(Role))),
        cpus=_nothing_or(cpus),
        interrupts=st.none(),
        irqs=_nothing_or(_several(_line(), 6)),
        virtio=_nothing_or(_several(device, 2)),
        nics=_nothing_or(_several(_nic(), 3)),
        softnet=st.none(),
        softirqs=st.none(),
        cpu_times=st.none(),
        protocols=st.none(),
        irqbalance=_nothing_or(_irqbalance()),
        missing=st.just(()),
    )


@cache
def _nic_rate() -> SearchStrategy[NicRate]:
    queue = st.builds(QueueRate, st.integers(0, 3), st.none(), st.none(), RATE, RATE, RATE, RATE, RATE, RATE)
    rates = [RATE] * 9
    ratios = [RATE] * 6
    return st.builds(NicRate, NIC_NAME, st.floats(0.001, 1e6), *rates, _several(queue), *ratios, _nothing_or(COUNT))


@cache
def _irq_rate() -> SearchStrategy[IrqRate]:
    per_cpu = st.dictionaries(CPU, COUNT, max_size=4)
    return st.builds(IrqRate, IRQ, COUNT, per_cpu, st.floats(0, 1e9), st.floats(0.001, 1e6))


@cache
def _cpu_rate() -> SearchStrategy[CpuRate]:
    return st.builds(CpuRate, CPU, RATE, RATE, RATE, RATE, _nothing_or(COUNT), RATE, RATE, RATE, RATE, RATE, RATE)


@cache
def _contention() -> SearchStrategy[Contention]:
    row = st.builds(
        Contended,
        group=st.sampled_from(LockGroup),
        caller=st.sampled_from(["handle_edge_irq", "show_interrupts", "[unknown]"]) | TEXT,
        waits=COUNT,
        paired=COUNT,
        wait_total_ns=COUNT,
        wait_max_ns=COUNT,
        per_cpu=st.dictionaries(CPU, COUNT, max_size=4),
        tasks=_several(TEXT),
        subject=_nothing_or(TEXT),
        subject_reason=TEXT,
        irq=_nothing_or(IRQ),
        device=_nothing_or(NIC_NAME | TEXT),
        callers=_several(TEXT),
    )
    return st.builds(
        Contention,
        per_cpu_per_sec=_nothing_or(st.dictionaries(CPU, st.floats(0, 1e9), max_size=4)),
        seconds=_nothing_or(st.sampled_from([0.0, 0.001, 2.0])),
        rows=_several(row, 5),
        lost=COUNT,
        recorded_reason=_nothing_or(TEXT),
    )


@st.composite
def views(draw: st.DrawFn) -> View:
    """Any view that the nouns allow, with one sample or two."""
    before = draw(_nothing_or(_snapshot()))
    return View(
        before=before,
        after=draw(_snapshot()),
        interval_s=None if before is None else 2.0,
        rates_reason="one sample" if before is None else None,
        irqs=draw(st.dictionaries(IRQ, _irq_rate(), max_size=6)),
        irqs_gone=(),
        irqs_new=(),
        nics=draw(st.dictionaries(NIC_NAME, _nic_rate(), max_size=3)),
        cpus=draw(st.dictionaries(CPU, _cpu_rate(), max_size=4)),
        protocols=None,
        missing=(),
        contention=draw(_nothing_or(_contention())),
    )
