"""Changes in a guest through the NIC that they change, with the real systemd, irqbalance and virtio_net.

What they came to is asked of ethtool, the kernel's files, irqbalance and the journal, and not of the program alone.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from typing import Any

import pytest

from tests.lab.conftest import DomainFactory
from tests.lab.domain import Domain, Guest
from tests.lab.traffic import queue_irqs

pytestmark = pytest.mark.lab

CONFIRM_S = 60
"""From the first write on. Each command below takes a second or two of emulation, and the agent's own some more."""
MARGIN_S = 40
"""For an undo at the deadline: a start of the agent, and a second of the timer's accuracy."""
STATE = "/var/lib/tuneagent"
CONFIG = "/etc/default/irqbalance"
GUARDS = "pgrep -x tuneagent-guard | wc -l"
TIMERS = "systemctl list-units --all --no-legend --plain --type=timer 'tuneagent-*'"
Report = dict[str, Any]

KILLED = f"""\
import glob, subprocess, sys, time
agent = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while agent.poll() is None:
    if any(b'"record":"intent"' in open(name, "rb").read() for name in glob.glob("{STATE}/*.journal")):
        agent.kill()
        break
    time.sleep(0.02)  # the agent has one slow CPU too
print(agent.wait())
"""
"""Runs the agent, kills it as soon as its first intent is on the disk, and says how it ended."""

TELL_IRQBALANCE = """\
import os, socket, struct, sys
one = socket.socket(socket.AF_UNIX)
one.connect(f"/run/irqbalance/irqbalance{sys.argv[1]}.sock")
who = struct.pack("3i", os.getpid(), os.getuid(), os.getgid())
one.sendmsg([sys.argv[2].encode()], [(socket.SOL_SOCKET, socket.SCM_CREDENTIALS, who)])
print(one.recv(65536).decode())
"""


def agent(guest: Guest, program: str, *words: str) -> Report:
    """What a command of the agent says as JSON; it must succeed."""
    report: Report = json.loads(guest.run(shlex.join((program, *words, "--json"))).checked())
    return report


def status(guest: Guest, program: str) -> Report:
    """The only transaction that there is."""
    (transaction,) = agent(guest, program, "status")["transactions"]
    return dict(transaction)


def combined(guest: Guest) -> int:
    return int(guest.run("ethtool -l eth0 | sed -n 's/^Combined:[^0-9]*//p' | tail -n 1").checked())


def records(guest: Guest) -> list[str]:
    """The names of the journal's records."""
    return [json.loads(line)["record"] for line in guest.run(f"cat {STATE}/*.journal").checked().splitlines()]


def watchers(guest: Guest) -> tuple[int, int]:
    """Guardians that wait, and timers that are armed."""
    return int(guest.run(GUARDS).checked()), len(guest.run(TIMERS).checked().splitlines())


def one_queue_in_use(domain: Domain) -> None:
    domain.guest.run("ethtool -L eth0 combined 1").checked()


def test_ssh_is_kept_through_a_queue_change_that_is_confirmed_and_taken_back(
    domain: DomainFactory, program: str
) -> None:
    one = domain(queues=2, vcpus=2)
    one_queue_in_use(one)
    session = one.guest.run("echo $SSH_CONNECTION").checked()
    asked = ("apply", "queues-per-cpu", "--on", "eth0", "--confirm-within", str(CONFIRM_S))
    report = agent(one.guest, program, *asked)
    assert (report["result"], report["changed"], combined(one.guest)) == ("applied", True, 2)
    (transaction,) = report["transactions"]
    assert transaction["awaits_confirmation"]
    assert watchers(one.guest) == (1, 1)
    assert agent(one.guest, program, "confirm")["result"] == "confirmed"
    assert watchers(one.guest)[1] == 0
    time.sleep(CONFIRM_S + MARGIN_S)
    assert combined(one.guest) == 2
    assert watchers(one.guest) == (0, 0)
    assert one.guest.run("echo $SSH_CONNECTION").checked() == session
    again = agent(one.guest, program, *asked)
    assert (again["result"], again["changed"], again["transactions"]) == ("already-so", False, [])
    assert agent(one.guest, program, "rollback")["result"] == "undone"
    assert combined(one.guest) == 1
    assert one.guest.run("echo $SSH_CONNECTION").checked() == session


@pytest.mark.parametrize("left", ["timer", "guardian"])
def test_what_nobody_can_confirm_is_given_back_while_nobody_is_there(
    domain: DomainFactory, program: str, left: str
) -> None:
    # The link goes away with the change, as with a switch that does not take it; either of the two that watch over the
    # deadline has to do without the other.
    one = domain(queues=2, vcpus=2)
    one_queue_in_use(one)
    asked = ("apply", "queues-per-cpu", "--on", "eth0", "--confirm-within", str(CONFIRM_S))
    assert agent(one.guest, program, *asked)["result"] == "applied"
    assert (combined(one.guest), watchers(one.guest)) == (2, (1, 1))
    gone = {"timer": "pkill -9 -x tuneagent-guard", "guardian": "systemctl stop 'tuneagent-*.timer'"}[left]
    one.guest.run(gone).checked()
    assert "end" not in records(one.guest)
    one.log_out()
    cut_off(one)
    time.sleep(CONFIRM_S + MARGIN_S)
    one.virsh("domif-setlink", one.definition.mac(0), "up")
    one.log_in()
    assert records(one.guest)[-1] == "end"
    assert combined(one.guest) == 1
    transaction = status(one.guest, program)
    assert (transaction["state"], transaction["undone_why"]) == ("undone", "not confirmed")
    assert [entry["outcome"] for entry in transaction["entries"]] == ["given-back"]
    assert watchers(one.guest) == (0, 0)


def cut_off(domain: Domain) -> None:
    domain.virsh("domif-setlink", domain.definition.mac(0), "down")
    assert domain.run(f"ping -q -c 2 -W 2 {domain.address}").returncode != 0


def test_an_agent_that_is_killed_in_the_middle(domain: DomainFactory, program: str) -> None:
    one = domain(queues=2, vcpus=2)
    irqs = queue_irqs(one.guest)
    masks = " && ".join(f"cat /proc/irq/{irq}/smp_affinity_list" for irq in irqs.values())
    writes = " && ".join(f"echo 0 > /proc/irq/{irq}/smp_affinity_list" for irq in irqs.values())
    one_queue_in_use(one)
    one.guest.run(f"systemctl stop irqbalance && {writes}").checked()
    before = one.guest.run(masks).checked()
    killed = shlex.join(
        ("python3", "-c", KILLED, program, "apply", "queues-per-cpu", "pin-queue-interrupts", "--on", "eth0")
    )
    assert one.guest.run(killed).checked() == "-9\n"
    # Nobody runs the agent now: what ends the transaction is its guardian.
    one.guest.run(f"timeout 120 sh -c 'until tail -n 1 {STATE}/*.journal | grep -q end; do sleep 1; done'").checked()
    assert "commit" not in records(one.guest)
    assert (combined(one.guest), one.guest.run(masks).checked()) == (1, before)
    transaction = status(one.guest, program)
    assert (transaction["state"], transaction["undone_why"]) == ("undone", "interrupted")
    assert watchers(one.guest) == (0, 0)


def test_a_ban_in_the_file_of_irqbalance_is_taken_out_to_the_byte(domain: DomainFactory, program: str) -> None:
    one = domain(queues=2, vcpus=2)
    irqs = queue_irqs(one.guest)
    before, started = file_of(one.guest), command_line(one.guest)
    report = agent(one.guest, program, "apply", "irqbalance-ban-queues", "--on", "eth0")
    assert report["result"] == "applied"
    assert file_of(one.guest) != before
    banned = {int(number) for number in re.findall(r"--banirq=?\s?(\d+)", command_line(one.guest))}
    assert banned == set(irqs.values())
    assert agent(one.guest, program, "rollback")["result"] == "undone"
    assert (file_of(one.guest), command_line(one.guest)) == (before, started)
    assert one.guest.run("systemctl is-active irqbalance").checked() == "active\n"


def test_a_ban_over_the_socket_of_irqbalance_leaves_the_bans_of_others(domain: DomainFactory, program: str) -> None:
    one = domain(queues=2, vcpus=2)
    irqs, before = queue_irqs(one.guest), file_of(one.guest)
    config = int(one.guest.run("ls /sys/class/net/eth0/device/../msi_irqs | sort -n | head -n 1").checked())
    tell(one.guest, f"settings ban irqs {config}")
    assert banned(one.guest) == {config}
    change = {
        "kind": "irqbalance-runtime-ban",
        "target": {"mac": one.definition.mac(0), "interface": "eth0"},
        "new": ",".join(str(irq) for irq in sorted(irqs.values())),
    }
    one.guest.run(f"printf %s {shlex.quote(json.dumps({'changes': [change]}))} > /root/ban.json").checked()
    assert agent(one.guest, program, "apply", "--plan", "/root/ban.json")["result"] == "applied"
    assert banned(one.guest) == {config, *irqs.values()}
    assert agent(one.guest, program, "rollback")["result"] == "undone"
    assert banned(one.guest) == {config}
    assert file_of(one.guest) == before


def file_of(guest: Guest) -> str:
    """Its contents, mode and owner."""
    return guest.run(f"sha256sum {CONFIG} && stat -c '%a %u %g %s' {CONFIG}").checked()


def command_line(guest: Guest) -> str:
    return guest.run("tr '\\0' ' ' < /proc/$(pidof irqbalance)/cmdline").checked()


def tell(guest: Guest, words: str) -> str:
    pid = guest.run("pidof irqbalance").checked().strip()
    return guest.run(shlex.join(("python3", "-c", TELL_IRQBALANCE, pid, words))).checked()


def banned(guest: Guest) -> set[int]:
    """Those that it names before its list of banned CPUs: by number, on its command line or over its socket."""
    return {int(number) for number in re.findall(r"\bIRQ (\d+)", tell(guest, "setup"))}
