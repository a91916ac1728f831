"""Changes beside a virtual machine, made by the program, seen where they count, and given back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lab.conftest import DomainFactory
from tests.lab.domain import Domain
from tests.lab.traffic import arriving

pytestmark = pytest.mark.lab
KERNELS = ["6.1", "6.12"]


def applied(one: Domain, program: str, *words: str) -> list[dict[str, Any]]:
    """The entries of the one transaction that an apply made."""
    report = json.loads(one.run(" ".join((program, "apply --json", *words, "--domain", one.name))).checked())
    assert (report["result"], report["changed"]) == ("applied", True), report
    (transaction,) = report["transactions"]
    return list(transaction["entries"])


def again(one: Domain, program: str, *words: str) -> None:
    """A second apply writes nothing."""
    report = json.loads(one.run(" ".join((program, "apply --json", *words, "--domain", one.name))).checked())
    assert (report["changed"], report["transactions"]) == (False, []), report


def given_back(one: Domain, program: str) -> None:
    report = json.loads(one.run(f"{program} rollback --json").checked())
    (transaction,) = report["transactions"]
    assert transaction["state"] == "undone"
    assert {entry["outcome"] for entry in transaction["entries"]} == {"given-back"}, transaction


def stored(one: Domain) -> str:
    return one.virsh("dumpxml", "--inactive", "--security-info")


def reached(one: Domain) -> None:
    one.run(f"timeout 90 sh -c 'until ping -q -c 1 -W 1 {one.address} >/dev/null; do :; done'").checked()


def event_index_in_guest(one: Domain) -> str:
    """Bit 29 of the features that the guest's driver negotiated (drivers/virtio/virtio.c, features_show)."""
    return one.guest.run("cat /sys/class/net/eth0/device/features").checked()[29]


def processes_cpus(one: Domain, tid: str) -> str:
    return one.run(f"awk '/^Cpus_allowed_list:/ {{ print $2 }}' /proc/{tid}/status").checked().strip()


def emulator(one: Domain) -> str:
    return one.run(f"cat /run/libvirt/qemu/{one.name}.pid").checked().strip()


def workers(one: Domain) -> list[str]:
    """The numbers of its vhost workers, kernel threads and threads of QEMU."""
    rows = [line.split() for line in one.run("ps -eLo tid,comm").checked().splitlines()]
    name = f"vhost-{emulator(one)}"
    return [row[0] for row in rows if row[1:] == [name]]


def vcpus_on(one: Domain, cpu: int) -> None:
    """Without a pinned vCPU there is nothing to keep off."""
    for vcpu in (0, 1):
        one.virsh("vcpupin", str(vcpu), str(cpu), "--live")


def test_the_event_index_for_the_next_start_and_back_byte_for_byte(domain: DomainFactory, program: str) -> None:
    one = domain(event_idx=False)
    before = stored(one)
    (entry,) = applied(one, program, "event-index-on")
    assert (entry["kind"], entry["outcome"], entry["effect"]) == ("domain-interface-driver", "changed", "not-yet")
    assert "next cold start" in entry["effect_detail"]
    assert stored(one) == before.replace("event_idx='off'", "event_idx='on'")
    assert event_index_in_guest(one) == "0"
    again(one, program, "event-index-on")
    given_back(one, program)
    assert stored(one) == before


def test_the_event_index_at_once_and_back(domain: DomainFactory, program: str) -> None:
    one = domain(event_idx=False)
    before = stored(one)
    entries = applied(one, program, "event-index-on", "--live")
    assert [(entry["kind"], entry["effect"]) for entry in entries] == [
        ("domain-interface-driver", "verified"),
        ("domain-interface-live", "verified"),
    ]
    reached(one)
    assert event_index_in_guest(one) == "1"
    given_back(one, program)
    reached(one)
    assert event_index_in_guest(one) == "0"
    assert stored(one) == before


def test_an_attribute_that_was_not_written_is_taken_away_again(domain: DomainFactory, program: str) -> None:
    one = domain(queues=1)
    before = stored(one)
    assert "queues=" not in before
    (entry,) = applied(one, program, "domain-queues")
    assert (entry["old"], entry["new"]) == ("", "2")
    assert stored(one) == before.replace("event_idx='on'/>", "event_idx='on' queues='2'/>") != before
    given_back(one, program)
    assert stored(one) == before


@pytest.mark.parametrize("kernel", KERNELS)
def test_vhost_workers_leave_the_vcpus_cpu_and_come_back(domain: DomainFactory, program: str, kernel: str) -> None:
    one = domain(queues=2, kernel=kernel, cpus=2)
    vcpus_on(one, 1)
    found = workers(one)
    with arriving(one):  # a worker without work is not seen where it runs
        entries = applied(one, program, "vhost-affinity")
    assert {entry["kind"] for entry in entries} == {"vhost-affinity"}
    assert {str(entry["target"]["tid"]) for entry in entries} == set(found)
    assert {entry["target"]["kernel_thread"] for entry in entries} == {kernel == "6.1"}
    assert "verified" in {entry["effect"] for entry in entries} <= {"verified", "not-yet"}
    assert {processes_cpus(one, tid) for tid in found} == {"0"}
    given_back(one, program)
    assert {processes_cpus(one, tid) for tid in found} == {"0-1"}


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_emulator_is_pinned_and_given_back_byte_for_byte(domain: DomainFactory, program: str, kernel: str) -> None:
    one = domain(queues=2, kernel=kernel, cpus=2)
    vcpus_on(one, 1)
    before, pid, found = stored(one), emulator(one), workers(one)
    assert "<emulatorpin" not in before
    (entry,) = applied(one, program, "emulator-pin")
    assert (entry["old"], entry["new"], entry["effect"]) == ("live=0-1 config=", "0", "verified")
    assert processes_cpus(one, pid) == "0"
    # Threads of QEMU from Linux 6.4 on, and before that threads of the kernel that joined its control group.
    assert {processes_cpus(one, tid) for tid in found} == {"0"}
    assert "<emulatorpin cpuset='0'/>" in stored(one)
    again(one, program, "emulator-pin")
    given_back(one, program)
    assert stored(one) == before
    assert {processes_cpus(one, tid) for tid in (pid, *found)} == {"0-1"}


def test_a_kill_while_the_device_is_out_is_made_good(domain: DomainFactory, program: str) -> None:
    one = domain(event_idx=False)
    before, mac = stored(one), one.definition.mac(0)
    killed = (
        f"{program} apply event-index-on --live --domain {one.name} >/dev/null 2>&1 & agent=$!; "
        f"timeout 240 sh -c 'while virsh --quiet domiflist {one.name} | grep -q {mac}; do :; done'; "
        "kill -9 $agent; wait $agent; "
        # Its guardian undoes it; where that is not done in time, the next command that writes would.
        f"timeout 240 sh -c 'until {program} rollback --all >/dev/null && virsh --quiet domiflist {one.name} "
        f"| grep -q {mac}; do sleep 1; done'"
    )
    one.run(killed).checked()
    reached(one)
    assert event_index_in_guest(one) == "0"
    assert stored(one) == before
