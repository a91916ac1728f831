from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests import make, make_contention, make_hypervisor
from tuneagent.model.counters import CpuTimes, Interrupts, Protocols, Softirqs, Softnet
from tuneagent.model.hypervisor import KvmSource
from tuneagent.model.missing import Missing, Reason
from tuneagent.model.snapshot import Snapshot
from tuneagent.report import doctor_report, plain
from tuneagent.report.doctor_report import Installation

ROOT = Installation("1.2.3", "3.11.2", 0, 10, "/usr/share/policies")


def whole(**changes: Any) -> Snapshot:
    """A machine of which every part was seen."""
    parts: dict[str, Any] = {
        "interrupts": Interrupts((), ()),
        "softnet": Softnet((), 13),
        "softirqs": Softirqs((), {}),
        "cpu_times": CpuTimes(()),
        "protocols": Protocols({}),
        "contention": make_contention.counts(),
        "lock_record": make_contention.Story().record(),
        "lock_stat": make_contention.lock_stat(),
    }
    return make.snapshot(**(parts | changes))


def missing(what: str) -> Missing:
    return Missing(what, "/some/file", Reason.ABSENT, "No such file or directory")


def test_everything_is_seen_where_nothing_is_missing() -> None:
    assert all(one.state == "yes" and one.missing == () for one in doctor_report.capabilities(whole()))


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("interrupts", "interrupt counts"),
        ("irq.31.affinity", "interrupt placement"),
        ("virtio.virtio0.features", "virtio devices"),
        ("nics", "interfaces"),
        ("nics.eth0.rx-0.rps_cpus", "interfaces"),
        ("nics.link", "links by netlink"),
        ("nics.ethtool", "ethtool by netlink"),
        ("nics.queue_statistics", "packets by queue"),
        ("softnet", "softnet"),
        ("softirqs", "softirqs"),
        ("cpu_times", "CPU time"),
        ("protocols", "protocols"),
        ("cpus.online", "CPUs"),
        ("identity.product_uuid", "identity"),
        ("irqbalance.unit", "irqbalance"),
        ("contention", "lock waits"),
        ("lock_record.symbols", "lock waits"),
        ("lock_stat", "lock_stat"),
    ],
)
def test_a_missing_part_takes_from_one_capability(what: str, name: str) -> None:
    seen = doctor_report.capabilities(whole(missing=(missing(what),)))

    assert [one.name for one in seen if one.state != "yes"] == [name]


HOST = make_hypervisor.hypervisor()


def test_a_guest_is_told_nothing_of_virtual_machines() -> None:
    assert [one.name for one in doctor_report.capabilities(whole())][-1] == "lock_stat"


def test_a_hypervisor_is_told_what_can_be_seen_beside_its_virtual_machines() -> None:
    seen = {one.name: one for one in doctor_report.capabilities(whole(hypervisor=HOST))}

    assert {one.state for one in seen.values()} == {"yes"}
    assert seen["VM exits"].gives.endswith("source: kvm-stats-fd")
    assert seen["vCPU and vhost threads"].gives.endswith("vhost workers: 1")
    assert seen["guest agents"].gives.endswith("connected in 1 of 1")


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("hypervisor.domains", "virtual machines"),
        ("hypervisor.domains.web1", "virtual machines"),
        ("hypervisor.processes", "virtual machines"),
        ("hypervisor.kvm", "VM exits"),
        ("hypervisor.threads.schedstat", "vCPU and vhost threads"),
        ("tap.vnet0.tx_dropped", "taps"),
        ("hypervisor.memory.ksm", "host settings"),
        ("hypervisor.parameters.kvm.halt_poll_ns", "host settings"),
        ("hypervisor.virtio", "QEMU's monitor"),
    ],
)
def test_a_missing_part_of_a_hypervisor_takes_from_one_capability(what: str, name: str) -> None:
    seen = doctor_report.capabilities(whole(hypervisor=HOST, missing=(missing(what),)))

    assert [one.name for one in seen if one.state != "yes"] == [name]


def test_what_nothing_tells_of_a_hypervisor_is_not_called_seen() -> None:
    agent = make_hypervisor.domain(guest_agent=False)
    blind = make_hypervisor.hypervisor(domains=(agent,), kvm_source=KvmSource.NONE, kvm=())
    seen = {one.name: one.state for one in doctor_report.capabilities(whole(hypervisor=blind))}
    unknown = replace(blind, domains=None)
    hidden = doctor_report.capabilities(whole(missing=(missing("hypervisor.kvm"),)))

    assert [name for name, state in seen.items() if state == "no"] == ["VM exits", "guest agents"]
    assert doctor_report.capabilities(whole(hypervisor=unknown))[16].state == "no"
    assert [(one.name, one.state) for one in hidden if one.missing] == [("virtual machines", "no")]


def test_waits_for_locks_are_seen_as_far_as_they_are_counted_and_recorded() -> None:
    seen = {one.name: one for one in doctor_report.capabilities(whole())}
    assert seen["lock waits"].gives.endswith("seen: every); at which lock, by whom: recorded")
    nothing = whole(contention=None, lock_record=None, lock_stat=None, missing=(missing("contention"),))
    blind = {one.name: one for one in doctor_report.capabilities(nothing)}
    assert (blind["lock waits"].state, blind["lock_stat"].state) == ("no", "no")
    assert [gap.what for gap in blind["lock waits"].missing] == ["contention"]
    assert "not counted; at which lock, by whom: not recorded" in blind["lock waits"].gives
    assert "CONFIG_LOCK_STAT" in blind["lock_stat"].gives
    counted = {one.name: one.state for one in doctor_report.capabilities(whole(missing=(missing("lock_record"),)))}
    assert counted["lock waits"] == "in part"


def test_nothing_is_asked_of_guests_or_monitors_without_libvirt() -> None:
    host = make_hypervisor.host(hypervisor=make_hypervisor.hypervisor(domains=None))

    seen = {one.name: one.state for one in doctor_report.capabilities(host)}

    assert (seen["QEMU's monitor"], seen["guest agents"]) == ("no", "no")


def test_the_text_says_who_ran_it_and_what_is_not_seen() -> None:
    snapshot = whole(missing=(missing("softnet"),))
    seen = doctor_report.capabilities(snapshot)

    text = plain.write(doctor_report.document(ROOT, snapshot, seen))

    assert "Python 3.11.2, run as root" in text
    assert "guest, virtualisation kvm" in text
    assert "/some/file: No such file or directory" in text
    other = Installation("1.2.3", "3.11.2", 1000, 10, "/usr/share/policies")
    assert "user 1000, not root" in plain.write(doctor_report.document(other, snapshot, seen))


def test_the_json_says_the_same() -> None:
    snapshot = whole(identity=None, missing=(missing("softnet"),))
    seen = doctor_report.capabilities(snapshot)

    value = json.loads(json.dumps(doctor_report.to_json(ROOT, snapshot, seen)))

    assert (value["schema"], value["identity"]) == ("tuneagent.doctor/1", None)
    assert value["installation"]["user_id"] == 0
    (unseen,) = [one for one in value["capabilities"] if one["missing"]]
    assert unseen["state"] == "in part"
    assert unseen["missing"][0]["reason"] == "absent"
