"""The agent inside a guest with real interrupts, against what the kernel and ethtool say there.

The repository and its virtual environment lie inside at the paths they have here. Under emulation the agent's own start
takes ten seconds and more, so each of its runs answers for several things.
"""

from __future__ import annotations

import compileall
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.vm.machine import GUEST_UUID, Machine, MachineError, quoted
from tests.vm.traffic import arriving, interrupts, table

pytestmark = [pytest.mark.vm, pytest.mark.timeout(400)]
REPOSITORY = Path(__file__).parents[2]
PROGRAM = f"cd {quoted(REPOSITORY)} && " + quoted(sys.executable, "-c", "from tuneagent.app.entry import main; main()")
COUNTERS = "cat /proc/interrupts; cd /sys/class/net/eth0/statistics; grep -H . rx_packets rx_bytes"
Report = dict[str, Any]


@pytest.fixture(scope="module")
def machine(machine: Machine) -> Machine:
    """The guest, with the agent compiled and loaded once: the first time every file comes over the wire."""
    compileall.compile_dir(REPOSITORY / "tuneagent", quiet=2)
    machine.run(f"{PROGRAM} doctor >/dev/null").checked()
    return machine


def advise(machine: Machine, *options: str) -> Report:
    report: Report = json.loads(machine.run(f"{PROGRAM} advise --json {quoted(*options)}").checked())
    return report


def advise_with_rates(machine: Machine) -> Report:
    """The report on five seconds; again, at most twice, where the emulation stood still within them."""
    stalls: list[str] = []
    while len(stalls) < 3:
        report = advise(machine, "--interval", "5")
        if report["rates_reason"] is None:
            return report
        stalls.append(report["rates_reason"])
    raise MachineError(f"no five seconds without a stall: {stalls}")


@contextmanager
def flipping(machine: Machine, irqs: list[int]) -> Iterator[None]:
    """Interrupts ``irqs`` are sent to one CPU after another by a loop in the guest, as a bad balancer would."""
    writes = "; ".join(f"echo $cpu > /proc/irq/{irq}/smp_affinity_list" for irq in irqs)
    loop = f"while :; do for cpu in 0 1 2 3; do {writes}; sleep 0.1; done; done"
    old = affinities(machine, irqs)
    pid = machine.run(f"({loop}) >/dev/null 2>&1 & echo $!").checked().strip()
    try:
        yield
    finally:
        machine.run(f"kill {pid}; " + "; ".join(f"echo {old[irq]} > /proc/irq/{irq}/smp_affinity_list" for irq in irqs))


def affinities(machine: Machine, irqs: list[int], file: str = "smp_affinity_list") -> dict[int, str]:
    read = "; ".join(f"echo {irq} $(cat /proc/irq/{irq}/{file})" for irq in irqs)
    return {int(irq): cpus for irq, cpus in map(str.split, machine.run(read).checked().splitlines())}


def inputs(machine: Machine) -> list[int]:
    """IRQs of the receive queues, by queue."""
    return [irq for irq, (name, _) in sorted(interrupts(machine).items()) if name.startswith("input")]


def found(report: Report, rule: str) -> list[Report]:
    return [one for one in report["findings"] if one["rule"] == rule]


def eth0(report: Report) -> Report:
    (nic,) = [nic for nic in report["nics"] if nic["name"] == "eth0"]
    return dict(nic)


def link_counter(text: str, name: str) -> int:
    """One of the link's counters in the text that COUNTERS prints."""
    (value,) = re.findall(rf"^{name}:(\d+)$", text, re.MULTILINE)
    return int(value)


@pytest.fixture(scope="module")
def loaded(machine: Machine) -> tuple[str, Report, str]:
    """The counters, the report on five seconds of traffic that nobody disturbs, and the counters again."""
    with arriving(machine):
        before = machine.run(COUNTERS).checked()
        report = advise_with_rates(machine)
        return before, report, machine.run(COUNTERS).checked()


def test_without_a_mover_no_interrupt_bounces(loaded: tuple[str, Report, str]) -> None:
    _, report, _ = loaded
    assert found(report, "interrupt-spread") == []
    assert ("interrupt-spread", "eth0") in {(one["rule"], one["subject"]) for one in report["clear"]}


def test_it_counts_what_proc_interrupts_counts(loaded: tuple[str, Report, str]) -> None:
    before, report, after = loaded
    earlier, later = table(before), table(after)
    seen = {one["irq"]: one for one in eth0(report)["interrupts"] if one["role"] in {"input", "output"}}
    assert {irq: f"{one['role']}.{one['queue']}" for irq, one in seen.items()} == {
        irq: name for irq, (name, _) in earlier.items()
    }
    for irq, one in seen.items():
        grown = [now - then for now, then in zip(later[irq][1], earlier[irq][1], strict=True)]
        for cpu, per_sec in one["per_cpu_per_sec"].items():
            assert 0 < per_sec * report["interval_s"] <= grown[int(cpu)] + 0.01, f"IRQ {irq} on CPU {cpu}"
        if one["role"] == "input":
            assert one["per_cpu_per_sec"], f"IRQ {irq} had no interrupt"


def test_it_counts_packets_as_the_link_does(loaded: tuple[str, Report, str]) -> None:
    before, report, after = loaded
    rates = eth0(report)["rates"]
    for counter in ("rx_packets", "rx_bytes"):
        grown = link_counter(after, counter) - link_counter(before, counter)
        assert 0 < rates[f"{counter}_per_sec"] * rates["seconds"] <= grown + 0.01


def test_channels_features_and_affinity_are_what_the_shell_sees(
    machine: Machine, loaded: tuple[str, Report, str]
) -> None:
    nic = eth0(loaded[1])
    most, now = re.findall(r"Combined:\s+(\d+)", machine.run("ethtool -l eth0").checked())
    assert (nic["channels"]["combined_max"], nic["channels"]["combined"]) == (int(most), int(now))
    assert (nic["queue_pairs_max"], nic["queue_pairs"]) == (int(most), int(now))
    bits = machine.run("cat /sys/class/net/eth0/device/features").checked().strip()
    assert nic["features"] == [bit for bit, value in enumerate(bits) if value == "1"]
    irqs = [one["irq"] for one in nic["interrupts"]]
    for key, file in (("affinity", "smp_affinity_list"), ("effective_affinity", "effective_affinity_list")):
        assert {one["irq"]: one[key] for one in nic["interrupts"]} == affinities(machine, irqs, file)
    assert nic["mac"] == machine.run("cat /sys/class/net/eth0/address").checked().strip()


def test_exactly_the_bounced_interrupts_are_found(machine: Machine) -> None:
    first, _, third, _ = inputs(machine)
    with flipping(machine, [first, third]), arriving(machine):
        report = advise_with_rates(machine)
    (finding,) = found(report, "interrupt-spread")
    assert finding["subject"] == "eth0"
    assert (finding["irqs"], finding["queues"]) == ([first, third], [0, 2])
    (advice,) = [one for one in report["advice"] if one["policy"] == "pin-queue-interrupts"]
    assert {change["target"]["irq"] for change in advice["changes"]} <= {first, third}


def test_the_pasted_lines_pin_and_the_undo_lines_give_back(machine: Machine) -> None:
    irqs = sorted(interrupts(machine))
    names = {irq: name for irq, (name, _) in interrupts(machine).items()}
    masks = {"input": "0", "output": "0-2"}
    crowd = {irq: masks[name.partition(".")[0]] for irq, name in names.items()}
    machine.run("; ".join(f"echo {cpus} > /proc/irq/{irq}/smp_affinity_list" for irq, cpus in crowd.items())).checked()
    report = advise(machine, "--interval", "2")
    assert found(report, "queues-share-cpu")
    (advice,) = [one for one in report["advice"] if one["policy"] == "pin-queue-interrupts"]
    wanted = {change["target"]["irq"]: change["new"] for change in advice["changes"]}
    machine.run("set -e\n" + "\n".join(advice["do"])).checked()
    assert affinities(machine, irqs) == crowd | wanted
    receiving = inputs(machine)
    assert len({wanted.get(irq, "0") for irq in receiving}) == 4, "each queue has a CPU of its own"
    with arriving(machine):  # a vector moves with its next interrupt only
        settled = interrupts(machine)
        with_traffic = affinities(machine, receiving, "effective_affinity_list")
    with arriving(machine):
        grown = interrupts(machine)
    for irq in receiving:
        home = int(wanted.get(irq, "0"))
        assert with_traffic[irq] == str(home)
        elsewhere = [now - then for now, then in zip(grown[irq][1], settled[irq][1], strict=True)]
        assert elsewhere.pop(home) > 0
        assert not any(elsewhere)
    machine.run("set -e\n" + "\n".join(advice["undo"])).checked()
    assert affinities(machine, irqs) == crowd


def test_fewer_queues_than_cpus_are_seen_and_the_change_gives_them_back(machine: Machine) -> None:
    machine.run("ethtool -L eth0 combined 2").checked()
    report = advise(machine, "--interval", "2")
    assert (eth0(report)["queue_pairs"], eth0(report)["queue_pairs_max"]) == (2, 4)
    assert [one["subject"] for one in found(report, "queues-below-cpus")] == ["eth0"]
    (advice,) = [one for one in report["advice"] if "queues-below-cpus:eth0" in one["findings"]]
    (change,) = [one for one in advice["changes"] if one["kind"] == "channels"]
    assert (change["old"], change["new"], change["target"]["interface"]) == ("2", "4", "eth0")
    assert advice["disruption"] == "none"
    for lines, combined in ((advice["do"], "4"), (advice["undo"], "2"), (advice["do"], "4")):
        machine.run("set -e\n" + "\n".join(lines)).checked()
        assert re.findall(r"Combined:\s+(\d+)", machine.run("ethtool -l eth0").checked()) == ["4", combined]


def test_without_root_there_is_a_report_that_says_what_root_adds(machine: Machine) -> None:
    nobody = PROGRAM.replace(" && ", " && setpriv --reuid=65534 --regid=65534 --clear-groups ")
    told = machine.run(f"cd / && {nobody} advise --interval 2")
    assert told.returncode == 0, told.stderr
    assert "eth0: virtio" in told.stdout
    (row,) = [line for line in told.stdout.splitlines() if line.lstrip().startswith("identity.product_uuid")]
    assert row.split()[-1] == "root"


def test_root_sees_the_machine_s_uuid(loaded: tuple[str, Report, str]) -> None:
    assert loaded[1]["machine"]["identity"]["product_uuid"] == GUEST_UUID
