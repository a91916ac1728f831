"""All collectors in their order: one look at a whole machine."""

from __future__ import annotations

from tuneagent.machine.source import Source
from tuneagent.model.hypervisor import Hypervisor
from tuneagent.model.snapshot import Snapshot
from tuneagent.observe import (
    contention,
    counters,
    domains,
    host_parameters,
    hypervisor,
    identity,
    irqbalance,
    irqs,
    kvm,
    nics,
    taps,
    threads,
    topology,
    virtio,
)
from tuneagent.observe.gaps import Gaps

COLLECTORS = (
    identity,
    topology,
    counters,
    contention,
    virtio,
    irqs,
    nics,
    irqbalance,
    hypervisor,
    domains,
    kvm,
    threads,
    taps,
    host_parameters,
)
"""Every collector; a test holds this against the modules of the package."""


def snapshot(source: Source, previous: Snapshot | None = None, detail: frozenset[str] = frozenset()) -> Snapshot:
    """One look at a machine. Never raises for what the machine says: gaps are listed in ``Snapshot.missing``.

    ``previous`` only saves work: rows of /proc/interrupts that did not change and the numbers of threads are taken
    from it. ``detail``: names or UUIDs of domains of which everything is read on their hypervisor.
    """
    gaps = Gaps(source)
    clock = gaps.clock()
    # The counters come first and close together, so that their intervals are as nearly the same as they can be.
    earlier = previous.interrupts if previous else None
    cpus = topology.observe(gaps)
    interrupts = counters.observe_interrupts(gaps, earlier)
    softnet = counters.observe_softnet(gaps, cpus)
    softirqs = counters.observe_softirqs(gaps)
    cpu_times = counters.observe_cpu_times(gaps)
    protocols = counters.observe_protocols(gaps)
    waits = contention.counts(gaps)
    host = hypervisor.observe(gaps, previous.hypervisor if previous else None, detail)
    devices = virtio.observe(gaps)
    lines = irqs.observe(gaps, interrupts, devices)
    interfaces = nics.observe(gaps, nics.Around(cpus, lines, devices or (), _taps(host)))
    flows = nics.flow_entries(gaps)
    # Reading a record of stacks takes longest, and nothing that is counted comes behind it.
    who, balancer, locks = identity.observe(gaps), irqbalance.observe(gaps), contention.table(gaps)
    stacks = contention.record(gaps)
    return Snapshot(
        clock=clock,
        identity=who,
        cpus=cpus,
        interrupts=interrupts,
        irqs=None if interrupts is None else lines,
        virtio=devices,
        nics=interfaces,
        softnet=softnet,
        softirqs=softirqs,
        cpu_times=cpu_times,
        protocols=protocols,
        irqbalance=balancer,
        missing=tuple(dict.fromkeys(gaps.missing)),
        hypervisor=host,
        contention=waits,
        lock_record=stacks,
        lock_stat=locks,
        rps_sock_flow_entries=flows,
    )


def _taps(host: Hypervisor | None) -> frozenset[str]:
    """Interfaces that belong to virtual machines, and are no NICs of the host."""
    return frozenset(tap.name for tap in host.taps) if host else frozenset()
