"""The agent beside a virtual machine, against what libvirt, KVM and the kernel say there."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.lab.conftest import DomainFactory
from tests.lab.domain import Domain
from tests.lab.faults import TRIES, LabFaultError
from tests.lab.traffic import arriving

pytestmark = pytest.mark.lab
Report = dict[str, Any]
KERNELS = ["6.1", "6.12"]


def advise(one: Domain, program: str, *options: str) -> Report:
    report: Report = json.loads(one.run(" ".join((program, "advise --json", *options))).checked())
    return report


def advise_with_rates(one: Domain, program: str, *options: str) -> Report:
    """The report on ten seconds; again, at most twice, where the emulated machines stood still for twenty more."""
    stalls: list[str] = []
    while len(stalls) < TRIES:
        report = advise(one, program, "--interval 10", *options)
        if report["rates_reason"] is None:
            return report
        stalls.append(report["rates_reason"])
    raise LabFaultError(f"{one.name}: no ten seconds without a stall: {stalls}")


def advise_joined(one: Domain, program: str) -> Report:
    """The report with both sides; again, at most twice, where one of the machines stood still beside the other."""
    stalls: list[str] = []
    while len(stalls) < TRIES:
        report = advise_with_rates(one, program, "--domain", one.name)
        figures = told(report, one)["guest"]["rates"]
        if figures is not None and figures["exits_per_packet"] is not None:
            return report
        stalls.append(str(figures))
    raise LabFaultError(f"{one.name}: guest and hypervisor never told of the same seconds: {stalls}")


def told(report: Report, one: Domain) -> Report:
    """What the report says of the domain."""
    (domain,) = [each for each in report["hypervisor"]["domains"] if each["name"] == one.name]
    return dict(domain)


def exits_by_libvirt(one: Domain) -> int:
    """Exits of all vCPUs since they began."""
    return sum(map(int, re.findall(r"vcpu\.\d+\.exits\.sum=(\d+)", one.virsh("domstats", "--vcpu"))))


def exits_by_agent(one: Domain, program: str) -> int:
    """The same as a snapshot has them."""
    document = json.loads(one.run(f"{program} snapshot").checked())
    (counters,) = document["observed"][-1]["hypervisor"]["kvm"]
    exits: int = counters["totals"]["exits"]
    return exits


def event_index_in_guest(one: Domain) -> str:
    """Character 29 of the features that the guest's driver negotiated (drivers/virtio/virtio.c, features_show)."""
    return one.guest.run("cat /sys/class/net/eth0/device/features").checked()[29]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_definition_without_the_event_index_is_found_with_the_exact_change(
    domain: DomainFactory, program: str, kernel: str
) -> None:
    one = domain(event_idx=False, kernel=kernel)
    report = advise(one, program, "--interval 5")
    uuid, mac = one.virsh("domuuid").strip().lower(), one.definition.mac(0)
    (found,) = [each for each in report["findings"] if each["rule"] == "domain-event-index-off"]
    assert one.name in found["subject"]
    (advice,) = [each for each in report["advice"] if each["policy"] == "event-index-on"]
    (change,) = advice["changes"]
    assert (change["old"], change["new"], advice["disruption"]) == ("off", "on", "cold-start")
    assert (change["target"]["domain_uuid"], change["target"]["mac"]) == (uuid, mac)
    assert "- <driver name='vhost' event_idx='off' queues='2'/>" in [re.sub(r"\s+", " ", one) for one in change["diff"]]
    assert "+ <driver name='vhost' event_idx='on' queues='2'/>" in [re.sub(r"\s+", " ", one) for one in change["diff"]]


@pytest.mark.parametrize("kernel", KERNELS)
def test_vhost_workers_are_found_where_the_kernel_keeps_them(domain: DomainFactory, program: str, kernel: str) -> None:
    one = domain(queues=2, kernel=kernel)
    emulator = one.run(f"cat /run/libvirt/qemu/{one.name}.pid").checked().strip()
    seen = told(advise(one, program, "--once"), one)
    rows = [line.split() for line in one.run("ps -eLo tid,pid,psr,comm").checked().splitlines()]
    workers = {int(tid) for tid, _, _, name in (row[:4] for row in rows) if name == f"vhost-{emulator}"}
    found = [thread for thread in seen["threads"] if thread["role"] == "vhost"]
    assert {thread["tid"] for thread in found} == workers
    assert len(workers) == 2
    assert {thread["kernel_thread"] for thread in found} == {kernel == "6.1"}
    assert str(seen["pid"]) == emulator
    assert [thread["vcpu"] for thread in seen["threads"] if thread["role"] == "vcpu"] == [0, 1]


def test_exits_lie_between_libvirts_before_and_after(domain: DomainFactory, program: str) -> None:
    one = domain()
    with arriving(one):
        before = exits_by_libvirt(one)
        first = exits_by_agent(one, program)
        between = exits_by_libvirt(one)
        second = exits_by_agent(one, program)
        after = exits_by_libvirt(one)
    assert 0 < before <= first <= between <= second <= after
    assert first < second


def test_guest_and_hypervisor_are_joined_over_the_same_seconds(domain: DomainFactory, program: str) -> None:
    one = domain(event_idx=False)
    with arriving(one):
        report = advise_joined(one, program)
    guest = told(report, one)["guest"]
    assert (guest["seen"], guest["joined_by"], guest["origin"]) == (True, "product UUID", "guest agent (guest-exec)")
    assert [nic["name"] for nic in guest["nics"]] == ["eth0"]
    figures = guest["rates"]
    assert figures["exits_per_packet"] > 0.5
    # A packet is an interrupt at most, and nearly one each at this rate without the event index.
    assert 0.5 < figures["guest_interrupts_per_delivered_packet"] < 1.5
    assert 0.5 < figures["injections_per_interrupt"] < 2
    assert figures["vhost_cpu_us_per_packet"] > 0
    assert figures["kicks_per_io_exit"] is None
    assert "ethtool" in figures["reasons"]["kicks_per_io_exit"]
    (inside,) = report["guests"]
    assert [nic["event_index"] for nic in inside["report"]["nics"]] == [False]
    assert "event-index-off" in {each["rule"] for each in inside["report"]["findings"]}


def test_the_pasted_lines_change_the_definition_and_take_it_back(domain: DomainFactory, program: str) -> None:
    one = domain(event_idx=False)
    stored = one.virsh("dumpxml", "--inactive")
    report = advise(one, program, "--once")
    (advice,) = [each for each in report["advice"] if each["policy"] == "event-index-on"]
    one.run("\n".join(("set -e", *advice["do"]))).checked()
    assert one.virsh("dumpxml", "--inactive") == stored.replace("event_idx='off'", "event_idx='on'")
    pending = told(advise(one, program, "--once"), one)["definition"]["pending"]
    assert [nic["event_idx"] for nic in pending["interfaces"]] == [True]
    # At once, as the report's note tells: out with the undo line's element, in with the do line's.
    do, undo = advice["do"][0].partition(" | ")[0], advice["undo"][0].partition(" | ")[0]
    one.run(f"{undo} | virsh detach-device {one.name} /dev/stdin --live && sleep 5").checked()
    one.run(f"{do} | virsh attach-device {one.name} /dev/stdin --live").checked()
    one.run(f"timeout 90 sh -c 'until ping -q -c 1 -W 1 {one.address} >/dev/null; do :; done'").checked()
    assert event_index_in_guest(one) == "1"
    one.run("\n".join(("set -e", *advice["undo"]))).checked()
    assert one.virsh("dumpxml", "--inactive") == stored
