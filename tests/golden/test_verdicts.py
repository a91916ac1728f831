"""What must be found on each machine, and nothing else; said here so that no update of the golden reports loses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.golden.reports import NAMES, document, prepared

RULES: dict[str, set[str]] = {
    "bouncing-8q": {"interrupt-spread", "irqbalance-fights-pins"},
    "bouncing-2of8": {"interrupt-spread"},
    "descriptor-contention": {
        "interrupt-spread",
        "irq-descriptor-contention",
        "event-index-off",
        "interrupts-per-packet",
    },
    "healthy-4q": set(),
    "split-pairs-4q": {"queue-pair-split", "xps-mismatch"},
    "one-cpu-8q": {"queues-share-cpu", "xps-mismatch", "irqbalance-absent"},
    "event-index-off": {"event-index-off", "interrupts-per-packet", "kicks-per-packet"},
    "softirq-saturated": {"softirq-saturation", "receive-drops", "queues-below-cpus"},
    "shared-vector": {"shared-vector"},
    "mmio": {"shared-vector"},
    "legacy-line": {"shared-vector"},
    "isolated": {"interrupts-on-isolated-cpus"},
    "irqbalance-pins": {"irqbalance-fights-pins"},
    "vlan-4q": set(),
    "files-only-4q": set(),
    "hypervisor-two-domains": {
        "domain-event-index-off",
        "vhost-absent",
        "domain-queues-below-vcpus",
        "exits-per-packet",
    },
    "firecracker-1q-idle": {"queue-pair-split"},
    # irqbalance, as Debian starts it, placed the four interrupts while they were looked at. Those under load had
    # no event index. Beside kernel 6.1 the guest was looked at in the same seconds, on the only CPU of its host.
    "lab-guest-6.1-idle": {"irqbalance-fights-pins", "queue-pair-split"},
    "lab-guest-6.1-loaded": {
        "event-index-off",
        "irqbalance-fights-pins",
        "queue-pair-split",
        "queues-share-cpu",
        "xps-mismatch",
    },
    "lab-hypervisor-6.1-idle": {"vcpus-overcommitted"},
    "lab-hypervisor-6.1-loaded": {"domain-event-index-off", "vcpus-overcommitted", "vhost-worker-starved"},
    "lab-hypervisor-6.12-idle": set(),
    "lab-hypervisor-6.12-loaded": {"domain-event-index-off"},
    "lab-joined-6.1": {
        "domain-event-index-off",
        "irqbalance-in-floating-guest",
        "vcpus-overcommitted",
        "vhost-worker-starved",
    },
}
Report = dict[str, Any]


@pytest.fixture
def report(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Report:
    monkeypatch.chdir(tmp_path)
    return document(prepared(name, tmp_path), capsys)


def found(report: Report, rule: str) -> Report:
    (finding,) = [one for one in report["findings"] if one["rule"] == rule]
    return dict(finding)


@pytest.mark.parametrize("name", NAMES)
def test_these_rules_speak_and_no_other(name: str, report: Report) -> None:
    assert {finding["rule"] for finding in report["findings"]} == RULES[name]


@pytest.mark.parametrize("name", ["bouncing-8q"])
def test_all_sixteen_interrupts_of_eight_queues_bounce(report: Report) -> None:
    finding = found(report, "interrupt-spread")
    assert finding["queues"] == list(range(8))
    assert finding["irqs"] == list(range(31, 47)), "the configuration's interrupt, 30, does not bounce"
    assert finding["cpus"] == list(range(8))
    assert "irqbalance" in finding["explanation"]


@pytest.mark.parametrize("name", ["bouncing-2of8"])
def test_exactly_two_of_eight_queues_bounce(report: Report) -> None:
    finding = found(report, "interrupt-spread")
    assert (finding["queues"], finding["irqs"], finding["cpus"]) == ([2, 5], [35, 41], [1, 2, 5, 6])
    (advice,) = report["advice"]
    assert [change["target"]["queue"] for change in advice["changes"]] == [2, 5]
    assert [change["target"]["queue_role"] for change in advice["changes"]] == ["input", "input"]
    assert [change["new"] for change in advice["changes"]] == ["2", "5"]


@pytest.mark.parametrize("name", ["descriptor-contention"])
def test_the_cpus_that_fight_and_their_interrupt_are_named_and_pinned(report: Report) -> None:
    finding = found(report, "irq-descriptor-contention")
    assert (finding["subject"], finding["irqs"], finding["cpus"]) == ("eth0", [31], [0, 1])
    assert "CPUs 0-1 take it at the same time" in finding["explanation"]
    assert "irqbalance does not run" in finding["explanation"]
    assert {row["subject"] for row in report["contention"]["rows"]} == {"IRQ 31 (virtio0-input.0)"}
    assert {row["caller"]: row["waits"] for row in report["contention"]["rows"]} == {
        "handle_edge_irq": 500, "handle_irq_event": 500, "show_interrupts": 5,
    }  # fmt: skip
    (advice,) = [one for one in report["advice"] if one["policy"] == "pin-queue-interrupts"]
    assert {"interrupt-spread:eth0", "irq-descriptor-contention:eth0"} <= set(advice["findings"])
    assert ("interrupt-list-readers", "machine") in {(one["rule"], one["subject"]) for one in report["clear"]}


@pytest.mark.parametrize("name", ["healthy-4q"])
def test_a_loaded_and_healthy_machine_is_called_so(report: Report) -> None:
    assert (report["state"], report["advice"], report["missing"], report["unjudged"]) == ("healthy", [], [], [])
    (nic,) = [nic for nic in report["nics"] if nic["name"] == "eth0"]
    assert nic["rates"]["rx_packets_per_sec"] == 160_060 / 2
    assert nic["rates"]["rx_interrupts_per_packet"] == pytest.approx((4 * 1_500 + 6) / 160_060, abs=1e-6)
    assert nic["rates"]["tx_kicks_per_packet"] == pytest.approx((4 * 2_000 + 6) / 80_030, abs=1e-6)


@pytest.mark.parametrize("name", ["one-cpu-8q"])
def test_masks_of_all_cpus_do_not_hide_that_one_cpu_serves_all(report: Report) -> None:
    finding = found(report, "queues-share-cpu")
    assert (finding["queues"], finding["cpus"]) == (list(range(8)), [0])


@pytest.mark.parametrize("name", ["split-pairs-4q"])
def test_every_pair_is_split(report: Report) -> None:
    assert found(report, "queue-pair-split")["queues"] == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["event-index-off"])
def test_the_event_index_is_the_hypervisor_s_to_give(report: Report) -> None:
    assert found(report, "event-index-off")["subject"] == "eth0"
    assert {advice["role"] for advice in report["advice"]} == {"hypervisor"}


@pytest.mark.parametrize("name", ["isolated"])
def test_only_the_interrupts_on_isolated_cpus_are_moved(report: Report) -> None:
    moves = {change["target"]["irq"]: change["new"] for one in report["advice"] for change in one["changes"]}
    assert sorted(moves) == [35, 36, 37, 38]
    assert set(moves.values()) <= {"0", "1"}


@pytest.mark.parametrize("name", ["irqbalance-pins"])
def test_the_interrupt_that_irqbalance_was_told_of_is_not_in_danger(report: Report) -> None:
    assert found(report, "irqbalance-fights-pins")["irqs"] == list(range(32, 39))


@pytest.mark.parametrize("name", ["softirq-saturated"])
def test_a_full_cpu_and_lost_packets_are_critical(report: Report) -> None:
    assert found(report, "softirq-saturation")["cpus"] == [0]
    assert report["worst_severity"] == "critical"
    assert {one["subject"] for one in report["findings"] if one["rule"] == "receive-drops"} == {"cpu0", "eth0"}


@pytest.mark.parametrize("name", ["mmio", "legacy-line", "shared-vector"])
def test_one_interrupt_for_all_is_named(name: str, report: Report) -> None:
    line = {"mmio": 30, "legacy-line": 11, "shared-vector": 31}[name]
    assert found(report, "shared-vector")["irqs"] == [line]


@pytest.mark.parametrize("name", ["files-only-4q"])
def test_what_files_do_not_hold_is_called_unknown_and_not_well(report: Report) -> None:
    assert report["state"] == "unknown"
    assert {gap["what"] for gap in report["missing"]} == {
        "nics.link", "nics.ethtool", "nics.queue_statistics", "irqbalance.unit", "contention",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["hypervisor-two-domains"])
def test_the_bad_virtual_machine_comes_first_and_the_good_one_is_left_alone(report: Report) -> None:
    bad, good = report["hypervisor"]["domains"]
    assert (bad["name"], good["name"], good["findings"]) == ("web1", "db1", [])
    assert {one["subject"] for one in report["findings"]} == {"domain web1", "domain web1 vnet1"}
    assert bad["kvm"]["exits_per_sec"] == pytest.approx(90_000, abs=1)
    assert bad["exits_per_packet"] == pytest.approx(180_000 / 91_000, rel=1e-4)
    assert [one["cpu_percent"] for one in good["threads"] if one["role"] == "vhost"] == [15.0]
    new = [change for advice in report["advice"] for change in advice["changes"]]
    assert {(change["kind"], change["new"]) for change in new} == {
        ("domain-interface-driver", "on"), ("domain-interface-driver", "vhost"), ("domain-interface-driver", "4"),
    }  # fmt: skip
    assert all(change["diff"] and change["target"]["domain_uuid"] == bad["key"] for change in new)


@pytest.mark.parametrize("name", ["lab-guest-6.1-loaded"])
def test_a_real_guest_under_packets_shows_who_moves_its_interrupts(report: Report) -> None:
    assert found(report, "irqbalance-fights-pins")["irqs"] == [32, 35]
    assert report["machine"]["irqbalance"]["running"] is True
    (nic,) = report["nics"]
    assert [one["per_cpu_per_sec"].keys() for one in nic["interrupts"] if one["role"] == "input"] == [{"1"}, {"1"}]
    assert 80 < nic["rates"]["rx_packets_per_sec"] < 100
    assert nic["rates"]["rx_interrupts_per_packet"] == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("name", ["firecracker-1q-idle", "lab-hypervisor-6.12-idle"])
def test_an_idle_machine_is_not_called_healthy(report: Report) -> None:
    assert any(one["idle"] for one in report["unjudged"])
    assert report["worst_severity"] in (None, "info")
