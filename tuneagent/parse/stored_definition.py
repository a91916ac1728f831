"""Whether a stored definition means something else than the running one: what libvirt adds at run time aside."""

from __future__ import annotations

from tuneagent.model.domain import Domain, DomainInterface

_OF_A_NETWORK = frozenset({"network", "bridge", "direct", "hostdev"})
"""What a running definition may show for an interface that is stored with the type ``network``."""


def differs(live: Domain, stored: Domain) -> bool:
    """Whether a cold start would bring other interfaces, vCPUs, pins or memory placement.

    An attribute that is not written counts as its default. Targets, aliases, addresses, the balloon and the state
    belong to the running domain alone.
    """
    return _placement(live) != _placement(stored) or not _same_interfaces(live, stored)


def _placement(domain: Domain) -> tuple[object, ...]:
    return (
        domain.type,
        domain.vcpus,
        domain.vcpus_max,
        domain.vcpu_cpus,
        domain.vcpu_pins,
        domain.emulator_pin,
        domain.memory_nodes,
        domain.hugepages,
        domain.numa_cells,
    )


def _same_interfaces(live: Domain, stored: Domain) -> bool:
    by_mac: dict[str | None, list[DomainInterface]] = {}
    for one in live.interfaces:
        by_mac.setdefault(one.mac, []).append(one)
    for wanted in stored.interfaces:
        of_mac = by_mac.get(wanted.mac, [])
        same = next((one for one in of_mac if _same(one, wanted)), None)
        if same is None:
            return False
        of_mac.remove(same)
    return len(live.interfaces) == len(stored.interfaces)


def _same(live: DomainInterface, stored: DomainInterface) -> bool:
    if stored.type == "network" and live.type in _OF_A_NETWORK:
        # The network decides at each start: a bridge, a device, or even a passed-through function of one.
        return live.type == "hostdev" or _settings(live) == _settings(stored)
    return (live.type, live.source) == (stored.type, stored.source) and _settings(live) == _settings(stored)


def _settings(one: DomainInterface) -> tuple[object, ...]:
    return (
        one.model,
        one.backend,
        one.queue_pairs,
        one.event_idx is not False,
        one.ioeventfd is not False,
        one.packed is True,
        one.txmode or "iothread",
        one.rx_queue_size,
        one.tx_queue_size,
        one.teaming,
        one.link_up is not False,
    )
