"""Machines built by hand, each of one kind, as two moments two seconds apart. `python -m tests.machines.build DIR`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tests import make_contention
from tests.host_trees import Host, Machine, Work
from tests.trees import FEATURES, START_NS, Guest, Load, Wiring
from tuneagent.model.virtio import Feature

Moments = tuple[Guest | Host, Guest | Host]
IRQBALANCE = ("/usr/sbin/irqbalance", "--foreground")
SIDES = ("input", "output")


def load(queues: int, interrupts: Mapping[str, Mapping[int, int]], packets: int = 40_000) -> Load:
    """Every queue pair receives ``packets`` and sends half of them within two seconds, no two the same number."""
    received = {queue: packets + 10 * queue for queue in range(queues)}
    return Load(
        seconds=2.0,
        interrupts=interrupts,
        statistics={
            "rx_packets": sum(received.values()),
            "tx_packets": sum(received.values()) // 2,
            "rx_bytes": 200 * sum(received.values()),
            "tx_bytes": 90 * sum(received.values()),
        },
        softirq_ticks={cpu: 30 + cpu for cpu in range(queues)},
        softnet={cpu: (received[cpu], 0, 0) for cpu in range(queues)},
        kicks={queue: (40 + queue, 2_000 + queue) for queue in range(queues)},
        queue_packets={queue: (count, count // 2) for queue, count in received.items()},
    )


def settled(queues: int, place: Callable[[str, int], int] = lambda _side, queue: queue) -> dict[str, dict[int, int]]:
    """1,500 and some receive and 900 and some transmit interrupts a queue, each on one CPU."""
    often = {"input": 1_500, "output": 900}
    return {f"{side}.{queue}": {place(side, queue): often[side] + queue} for queue in range(queues) for side in SIDES}


def spread(cpus: int, base: int) -> dict[int, int]:
    """An interrupt that falls on every CPU in turn."""
    return {cpu: base + cpu for cpu in range(cpus)}


def bouncing_8q() -> Moments:
    """All sixteen queue interrupts of eight queues go round all CPUs; the configuration's does not. irqbalance runs."""
    keys = [f"{side}.{queue}" for queue in range(8) for side in SIDES]
    before = Guest(cpus=8, queues=8, affinity=dict.fromkeys(keys, "0-7"), irqbalance=IRQBALANCE)
    moved = {f"{side}.{queue}": str((queue + 3) % 8) for queue in range(8) for side in SIDES}
    work = load(8, {key: spread(8, 200 + place) for place, key in enumerate(keys)})
    return before, before.after(work, effective=moved)


def bouncing_2of8() -> Moments:
    """Receive interrupts of queues 2 and 5 go to and fro between two CPUs; all others stay."""
    before = Guest(cpus=8, queues=8, affinity={"input.2": "2,6", "input.5": "0-7"})
    work = settled(8) | {"input.2": {2: 800, 6: 703}, "input.5": {5: 760, 1: 745}}
    return before, before.after(load(8, work), effective={"input.2": "6"})


def descriptor_contention() -> Moments:
    """Two vCPUs fight for the descriptor of IRQ 31: no event index, irqbalance off, the interrupt on either vCPU."""
    before = Guest(cpus=2, queues=1, features=FEATURES - {Feature.RING_EVENT_IDX}, affinity={"input.0": "0-1"})
    work = load(1, {"input.0": {0: 10_308, 1: 10_444}, "output.0": {0: 31}}, packets=172_000)
    waits = replace(work, kicks={0: (90, 30_000)}, waits={0: 640, 1: 530})
    record = make_contention.record_value(_fight().record())
    return before, before.after(waits, effective={"input.0": "1"}, lock_record=record)


def _fight() -> make_contention.Story:
    """CPU 0 is in the handler of IRQ 31 when CPU 1 takes it; then each waits for the other. Somebody reads the list."""
    story = make_contention.Story()
    for turn in range(500):
        at_ns = START_NS + 3_900_000 * turn
        story.handled(at_ns, 4_000, 0, 31)
        story.wait(at_ns + 6_000, 1_900 + turn, 1, 0, make_contention.DESCRIPTOR, make_contention.EDGE)
        story.wait(at_ns + 4_500, 2_300 + turn, 0, 0, make_contention.DESCRIPTOR, make_contention.AFTER_HANDLER)
        if turn % 100 == 0:
            story.wait(at_ns + 90_000, 5_100, 0, 102, make_contention.DESCRIPTOR, make_contention.SHOWN)
    return story


def healthy_4q() -> Moments:
    """Loaded and well: a pair a CPU, event index on, few interrupts and notifications a packet."""
    guest = Guest()
    return guest, guest.after(load(4, settled(4)))


def split_pairs_4q() -> Moments:
    """The transmit interrupt of each pair goes to the next CPU."""
    guest = Guest(effective={f"output.{queue}": str((queue + 1) % 4) for queue in range(4)})
    return guest, guest.after(load(4, settled(4, lambda side, queue: (queue + (side == "output")) % 4)))


def one_cpu_8q() -> Moments:
    """Every mask says all CPUs, every interrupt goes to CPU 0."""
    keys = [f"{side}.{queue}" for queue in range(8) for side in SIDES]
    guest = Guest(cpus=8, queues=8, affinity=dict.fromkeys(keys, "0-7"), effective=dict.fromkeys(keys, "0"))
    work = replace(load(8, settled(8, lambda _side, _queue: 0)), softirq_ticks={0: 120}, softnet={0: (320_280, 0, 2)})
    return guest, guest.after(work)


def event_index_off() -> Moments:
    """Without the event index: an interrupt for every eighth packet and a notification for nearly every one sent."""
    guest = Guest(cpus=2, queues=1, features=FEATURES - {Feature.RING_EVENT_IDX})
    work = load(1, {"input.0": {0: 11_900}, "output.0": {0: 310}}, packets=96_000)
    return guest, guest.after(replace(work, kicks={0: (90, 46_000)}))


def softirq_saturated() -> Moments:
    """One of four queues in use, its CPU full of softirqs, packets lost, three CPUs idle."""
    guest = Guest(cpus=4, queues=1, queues_max=4)
    work = load(1, {"input.0": {0: 9_000}, "output.0": {0: 120}}, packets=400_000)
    lossy = {"rx_dropped": 2_600, "rx_missed_errors": 2_400}
    full = replace(work, softirq_ticks={0: 197}, softnet={0: (400_000, 1_900, 350)})
    return guest, guest.after(replace(full, statistics={**work.statistics, **lossy}))


def shared_vector() -> Moments:
    """Too few vectors: four queues behind one interrupt."""
    guest = Guest(wiring=Wiring.SHARED_VECTOR, affinity={"virtqueues": "0-3"})
    return guest, guest.after(load(4, {"virtqueues": {0: 7_000}}))


def mmio() -> Moments:
    """virtio-mmio: one queue, one interrupt for the device."""
    guest = Guest(cpus=2, queues=1, wiring=Wiring.MMIO, affinity={"": "0-1"})
    return guest, guest.after(load(1, {"": {0: 2_100}}))


def legacy_line() -> Moments:
    """INTx: one line for the device, shared with a USB controller."""
    guest = Guest(cpus=2, queues=1, wiring=Wiring.LEGACY_LINE, affinity={"": "0-1"})
    return guest, guest.after(load(1, {"": {0: 2_300}}))


def isolated() -> Moments:
    """CPUs 2 and 3 are isolated and tickless, and two pairs interrupt them."""
    guest = Guest(isolated="2-3", nohz_full="2-3")
    return guest, guest.after(load(4, settled(4)))


def irqbalance_pins() -> Moments:
    """Pinned by hand, and irqbalance, which was told of one interrupt only, runs."""
    guest = Guest(irqbalance=(*IRQBALANCE, "--banirq=31"), irqbalance_env='# options\nOPTIONS="--banirq=31"\n')
    return guest, guest.after(load(4, settled(4)))


def vlan_4q() -> Moments:
    """A VLAN with one transmit queue over a NIC with four."""
    guest = Guest(vlan=True)
    return guest, guest.after(load(4, settled(4)))


def files_only_4q() -> Moments:
    """What a tree of files alone gives: neither netlink's nor systemd's answers, and no clock."""
    guest = Guest(captured=False, clock_ns=None)
    return guest, guest.after(load(4, settled(4)))


def two_domains() -> Moments:
    """A hypervisor: web1 has QEMU move its packets, one queue for four vCPUs and no event index; db1 is well."""
    bad = Machine(
        "web1", 1, Work(180_000, 96_000, 40_000, 60_000, 31_000, vcpu_ms=900), vcpus=4, queues=None, driver="qemu",
        event_idx="off", pinned=False, agent=False,
    )  # fmt: skip
    good = Machine("db1", 2, Work(9_000, 1_400, 6_000, 52_000, 27_000, vcpu_ms=600))
    host = Host((bad, good))
    return host, host.after()


MACHINES: dict[str, Callable[[], Moments]] = {
    "bouncing-8q": bouncing_8q,
    "bouncing-2of8": bouncing_2of8,
    "descriptor-contention": descriptor_contention,
    "healthy-4q": healthy_4q,
    "split-pairs-4q": split_pairs_4q,
    "one-cpu-8q": one_cpu_8q,
    "event-index-off": event_index_off,
    "softirq-saturated": softirq_saturated,
    "shared-vector": shared_vector,
    "mmio": mmio,
    "legacy-line": legacy_line,
    "isolated": isolated,
    "irqbalance-pins": irqbalance_pins,
    "vlan-4q": vlan_4q,
    "files-only-4q": files_only_4q,
    "hypervisor-two-domains": two_domains,
}


def build(name: str, directory: Path) -> list[Path]:
    """Writes DIRECTORY/NAME/t0 and t1."""
    return [moment.write(directory / name / f"t{place}") for place, moment in enumerate(MACHINES[name]())]


def main() -> None:
    """Writes every machine below the directory named."""
    for name in MACHINES:
        build(name, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
