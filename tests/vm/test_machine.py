"""The guest is what the tier says it is. Needs nothing of the program under test."""

from __future__ import annotations

import re

import pytest

from tests.vm import machine as machine_module
from tests.vm.machine import BOOTS, GUEST_ADDRESS, Machine, MachineError, booted, run

pytestmark = [pytest.mark.vm, pytest.mark.timeout(400)]


def test_every_queue_has_its_interrupts(machine: Machine) -> None:
    table = machine.run("cat /proc/interrupts").checked()
    names = re.findall(r"virtio\d+-(?:in|out)put\.\d+$", table, re.MULTILINE)
    queues = [name.partition("-")[2] for name in names]
    assert queues == [f"{way}.{queue}" for queue in range(4) for way in ("input", "output")]
    assert table.splitlines()[0].split() == ["CPU0", "CPU1", "CPU2", "CPU3"]


def test_ethtool_sees_four_combined_channels(machine: Machine) -> None:
    assert re.findall(r"Combined:\s+(\d+)", machine.run("ethtool -l eth0").checked()) == ["4", "4"]


def test_a_command_gives_back_code_output_and_errors(machine: Machine) -> None:
    done = machine.run("echo out; echo err >&2; exit 17")
    assert (done.returncode, done.stdout, done.stderr) == (17, "out\n", "err\n")


def test_what_the_guest_writes_stays_in_the_guest(machine: Machine) -> None:
    assert machine.run("echo here > /etc/only-in-the-guest && cat /etc/only-in-the-guest").checked() == "here\n"
    assert machine.outside("cat /etc/only-in-the-guest").returncode != 0


def test_packets_over_the_wire_raise_interrupts(machine: Machine) -> None:
    before = _input_interrupts(machine)
    send = f"import socket; s = socket.socket(type=2); [s.sendto(b'x', ('{GUEST_ADDRESS}', 9)) for _ in range(50)]"
    machine.outside(f'python3 -c "{send}"').checked()
    assert _input_interrupts(machine) > before


def test_a_command_that_hangs_is_not_a_result(vm_tier: None) -> None:  # noqa: ARG001 - must come first
    with booted(cpus=1, queues=0) as guest, pytest.raises(MachineError, match="no answer in 2 s"):
        guest.run("sleep 1000", timeout=2)


def test_a_machine_that_dies_says_so_with_its_console(vm_tier: None) -> None:  # noqa: ARG001 - must come first
    with booted(cpus=1, queues=0) as guest, pytest.raises(MachineError, match="Kernel Offset"):
        guest.run("echo c > /proc/sysrq-trigger")
    assert not guest.child.running


def test_a_machine_that_stands_still_is_started_again(
    vm_tier: None,  # noqa: ARG001 - must come first
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(machine_module, "BOOT_SECONDS", 0.5)  # of what takes seconds
    with pytest.raises(MachineError, match="no answer in"), booted(cpus=1, queues=0):
        pass
    assert capfd.readouterr().err.count("started again") == BOOTS - 1


def test_a_machine_that_dies_as_it_boots_is_not(
    vm_tier: None,  # noqa: ARG001 - must come first
    capfd: pytest.CaptureFixture[str],
) -> None:
    with (
        pytest.raises(MachineError, match="the machine died"),
        booted(cpus=1, queues=0, kernel_line="rdinit=/none init=/none"),
    ):
        pass
    assert "started again" not in capfd.readouterr().err


@pytest.mark.parametrize(("cpu", "flagged"), [("EPYC,-rdseed", True), ("EPYC,-rdseed,-hypervisor", False)])
def test_the_cpu_model_can_be_chosen(cpu: str, *, flagged: bool, vm_tier: None) -> None:  # noqa: ARG001 - must come first
    done = run("grep --count --word-regexp hypervisor /proc/cpuinfo", cpus=2, queues=1, cpu=cpu, kernel="6.12")
    assert done.stdout == ("2\n" if flagged else "0\n")


def _input_interrupts(machine: Machine) -> int:
    rows = re.findall(
        r"^ *\d+:((?: +\d+){4}) .*-input\.\d+$", machine.run("cat /proc/interrupts").checked(), re.MULTILINE
    )
    return sum(int(count) for row in rows for count in row.split())
