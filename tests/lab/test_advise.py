"""The agent on both sides of a real NIC, against what libvirt, systemd and the kernel say there.

Where each of its runs takes half a minute, each answers for several things.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lab.conftest import DomainFactory
from tests.lab.domain import Domain, Guest
from tests.lab.faults import TRIES, LabFaultError
from tests.lab.traffic import arriving, counts, queue_irqs

pytestmark = pytest.mark.lab

VIRTIO_RING_F_EVENT_IDX = 29  # include/uapi/linux/virtio_ring.h
READ_UNITS = "import json; from tuneagent.machine import units; print(json.dumps(units.read()))"
PROPERTIES = ("ActiveState", "SubState", "LoadState", "UnitFileState")
Report = dict[str, Any]


def advise(side: Domain | Guest, program: str, *options: str) -> Report:
    report: Report = json.loads(side.run(" ".join((program, "advise --json", *options))).checked())
    return report


def advise_with_rates(guest: Guest, program: str) -> Report:
    """The report on ten seconds; again, at most twice, where the emulated guest stood still for twenty more."""
    stalls: list[str] = []
    while len(stalls) < TRIES:
        report = advise(guest, program, "--interval 10")
        if report["rates_reason"] is None:
            return report
        stalls.append(report["rates_reason"])
    raise LabFaultError(f"{guest.domain.name}: no ten seconds without a stall: {stalls}")


def eth0(report: Report) -> Report:
    (nic,) = [nic for nic in report["nics"] if nic["name"] == "eth0"]
    return dict(nic)


def rules(report: Report, kind: str) -> set[str]:
    return {one["rule"] for one in report[kind] if one["subject"] == "eth0"}


def as_systemd_says(side: Domain | Guest, unit: str) -> dict[str, str]:
    shown = side.run(f"systemctl show -p {','.join(PROPERTIES)} {unit}").checked()
    return dict(line.split("=", 1) for line in shown.splitlines())


def as_the_agent_reads(side: Domain | Guest) -> dict[str, dict[str, str]]:
    units: dict[str, dict[str, str]] = json.loads(side.run(f"/opt/tuneagent/bin/python -c '{READ_UNITS}'").checked())
    return units


def pin(guest: Guest, places: dict[str, str]) -> dict[str, int]:
    """Send each queue's interrupt to the CPUs named, with nobody to move it; the IRQs by queue."""
    irqs = queue_irqs(guest)
    writes = " && ".join(f"echo {cpus} > /proc/irq/{irqs[name]}/smp_affinity_list" for name, cpus in places.items())
    guest.run(f"systemctl stop irqbalance && {writes}").checked()
    return irqs


def test_the_event_index_is_on_irqbalance_runs_and_the_uuid_joins_both_sides(
    domain: DomainFactory, program: str
) -> None:
    one = domain(event_idx=True)
    report = advise(one.guest, program)
    nic = eth0(report)
    assert VIRTIO_RING_F_EVENT_IDX in nic["features"]
    assert nic["event_index"] is True
    assert "event-index-off" in rules(report, "clear") - rules(report, "findings")
    assert report["machine"]["identity"]["product_uuid"] == one.virsh("domuuid").strip().lower()
    assert nic["mac"] == one.definition.mac(0)
    balancer = report["machine"]["irqbalance"]
    assert (balancer["running"], balancer["unit_state"]) == (True, "active")
    assert str(balancer["pid"]) == one.guest.run("pidof irqbalance").checked().strip()


def test_the_event_index_is_off_and_the_plan_names_the_domain_and_its_nic(domain: DomainFactory, program: str) -> None:
    one = domain(event_idx=False)
    one.guest.run("systemctl stop irqbalance").checked()
    report = advise(one.guest, program)
    nic = eth0(report)
    assert VIRTIO_RING_F_EVENT_IDX not in nic["features"]
    assert nic["event_index"] is False
    assert "event-index-off" in rules(report, "findings")
    (advice,) = [each for each in report["advice"] if each["policy"] == "event-index-on"]
    (change,) = advice["changes"]
    uuid, mac = one.virsh("domuuid").strip().lower(), one.definition.mac(0)
    assert (advice["role"], change["old"], change["new"]) == ("hypervisor", "off", "on")
    assert (change["target"]["domain_uuid"], change["target"]["mac"]) == (uuid, mac)
    assert all(uuid in line and mac in line for line in (*advice["do"], *advice["undo"]))
    balancer = report["machine"]["irqbalance"]
    assert (balancer["running"], balancer["unit_state"]) == (False, "inactive")


def test_two_queues_with_a_cpu_each_are_seen_so_under_traffic(domain: DomainFactory, program: str) -> None:
    one = domain(queues=2, vcpus=2)
    irqs = pin(one.guest, {"input.0": "0", "output.0": "0", "input.1": "1", "output.1": "1"})
    with arriving(one):
        before = {queue: counts(one.guest, irqs[f"input.{queue}"]) for queue in (0, 1)}
        report = advise_with_rates(one.guest, program)
        after = {queue: counts(one.guest, irqs[f"input.{queue}"]) for queue in (0, 1)}
    seen = {each["irq"]: each["per_cpu_per_sec"] for each in eth0(report)["interrupts"] if each["role"] == "input"}
    for queue in (0, 1):
        assert list(seen[irqs[f"input.{queue}"]]) == [str(queue)]
        grown = after[queue][queue] - before[queue][queue]
        assert 0 < seen[irqs[f"input.{queue}"]][str(queue)] * report["interval_s"] <= grown + 0.01
    wrong = {"interrupt-spread", "queues-share-cpu", "queue-pair-split"}
    assert not wrong & rules(report, "findings")
    assert {"interrupt-spread", "queues-share-cpu"} <= rules(report, "clear")


def test_the_pasted_lines_spread_queues_that_share_a_cpu(domain: DomainFactory, program: str) -> None:
    one = domain(queues=2, vcpus=2)
    names = ("input.0", "output.0", "input.1", "output.1")
    irqs = pin(one.guest, dict.fromkeys(names, "0"))
    with arriving(one):
        report = advise_with_rates(one.guest, program)
        assert "queues-share-cpu" in rules(report, "findings")
        (advice,) = [each for each in report["advice"] if each["policy"] == "pin-queue-interrupts"]
        one.guest.run("\n".join(("set -e", *advice["do"]))).checked()
        inputs = [irqs["input.0"], irqs["input.1"]]
        first = [counts(one.guest, irq) for irq in inputs]
        one.guest.run("sleep 3").checked()
        second = [counts(one.guest, irq) for irq in inputs]
    grown = [[b - a for a, b in zip(*pair, strict=True)] for pair in zip(first, second, strict=True)]
    homes = sorted(row.index(max(row)) for row in grown)
    assert homes == [0, 1]
    assert all(sum(1 for count in row if count) == 1 for row in grown), grown
    one.guest.run("\n".join(("set -e", *advice["undo"]))).checked()
    masks = one.guest.run(" && ".join(f"cat /proc/irq/{irqs[name]}/smp_affinity_list" for name in names)).checked()
    assert masks.split() == ["0", "0", "0", "0"]


def test_units_are_what_systemd_says_of_them(domain: DomainFactory, program: str) -> None:  # noqa: ARG001 - installs it
    one = domain()
    states: list[tuple[str, str]] = []
    for command in ("true", "systemctl mask --now irqbalance"):
        one.guest.run(command).checked()
        read = as_the_agent_reads(one.guest)["irqbalance.service"]
        assert read == as_systemd_says(one.guest, "irqbalance.service")
        states.append((read["ActiveState"], read["LoadState"]))
    assert states == [("active", "loaded"), ("inactive", "masked")]
    assert as_the_agent_reads(one)["tuned.service"] == as_systemd_says(one, "tuned.service")


def test_a_report_and_a_doctor_on_the_hypervisor(domain: DomainFactory, program: str) -> None:
    one = domain()
    report = advise(one, program)
    assert eth0(report)["driver"] == "virtio_net"
    assert report["machine"]["identity"]["kernel_release"] == one.run("uname -r").checked().strip()
    doctor = json.loads(one.run(f"{program} doctor --json").checked())
    states = {each["name"]: each["state"] for each in doctor["capabilities"]}
    assert (states["interrupt counts"], states["ethtool by netlink"]) == ("yes", "yes")
