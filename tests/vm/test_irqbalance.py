"""The real irqbalance in a guest, over its real socket."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.vm.balancing import balancing
from tests.vm.machine import Machine, quoted
from tests.vm.traffic import interrupts

pytestmark = [pytest.mark.vm, pytest.mark.timeout(600)]
REPOSITORY = Path(__file__).parents[2]
ASK = """
import json, sys
sys.path.insert(0, {repository!r})
from tuneagent.machine.irqbalance_socket import IrqbalanceSocket
asked = IrqbalanceSocket(int(sys.argv[1]))
if sys.argv[2:]:
    asked.ban(map(int, sys.argv[2].split(",")) if sys.argv[2] else ())
setup = asked.setup()
print(json.dumps([setup.sleep_s, setup.banned_irqs, sorted(asked.balanced())]))
"""
ACT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from tuneagent.apply.irqbalance_runtime_ban import IrqbalanceRuntimeBan
from tuneagent.apply.lookup import Lookup
from tuneagent.apply.machine import Machine
from tuneagent.machine.irqbalance_socket import IrqbalanceSocket
from tuneagent.machine.live import Live
from tuneagent.machine.writable import WritableRoot
from tuneagent.model.plan import Target, TunableKind
source = Live()
ban = IrqbalanceRuntimeBan(Machine(source, WritableRoot(), Lookup(source)))
target = Target(bus_address="0000:00:03.0", mac="52:54:00:12:34:56", interface="eth0")
place = ban.locate(TunableKind.IRQBALANCE_RUNTIME_BAN, target)
assert place.target.start_ticks
old = ban.read(place)
assert ban.check(place, sys.argv[3]) is None
if not ban.same(old, sys.argv[3]):
    ban.write(place, sys.argv[3])
seen = ban.effect(place, sys.argv[3], None)
told = {"old": old, "now": ban.read(place), "effect": seen.effect, "detail": seen.detail}
told |= {"list": IrqbalanceSocket(int(sys.argv[2])).setup().banned_irqs, "by_hand": ban.by_hand(place, sys.argv[3])}
print(json.dumps(told))
"""
Acted = dict[str, Any]


def ask(machine: Machine, pid: int, *ban: str) -> tuple[int, list[int], list[int]]:
    """Interval, bans, and what it places."""
    code = ASK.format(repository=str(REPOSITORY))
    sleep_s, banned, placed = json.loads(machine.run(quoted(sys.executable, "-c", code, str(pid), *ban)).checked())
    return sleep_s, banned, placed


def queue_irqs(machine: Machine) -> list[int]:
    return sorted(irq for irq, (name, _) in interrupts(machine).items() if re.search(r"(in|out)put", name))


def clock_irq(machine: Machine) -> int:
    """Of a device that is on no PCI bus: only there does irqbalance compare --banmod with the handler's name."""
    (irq,) = re.findall(r"^ *(\d+):.* rtc0$", machine.run("cat /proc/interrupts").checked(), re.MULTILINE)
    return int(irq)


def acted(machine: Machine, pid: int, value: str) -> Acted:
    """The actuator bans just these of eth0; gives what it read before and after, the list then, and the effect."""
    told: Acted = json.loads(machine.run(quoted(sys.executable, "-c", ACT, str(REPOSITORY), str(pid), value)).checked())
    return told


def test_the_socket_is_as_its_source_says(machine: Machine, irqbalance: Path) -> None:
    queues = queue_irqs(machine)
    config = min(queues) - 1
    clock = clock_irq(machine)
    with balancing(machine, irqbalance, f"--banirq={config}", "--banmod=rtc0") as pid:
        machine.run("sleep 2").checked()
        sleep_s, banned, placed = ask(machine, pid)
        assert (sleep_s, banned) == (1, [config])
        assert set(queues) <= set(placed)
        assert not {config, clock} & set(placed)
        assert ask(machine, pid, f"{queues[2]},0,{config}")[1] == [0, queues[2], config]
        machine.run("sleep 3").checked()
        _, banned, placed = ask(machine, pid)
        assert banned == [0, queues[2], config]
        assert not {queues[2], config} & set(placed)
        assert clock not in placed, "an order leaves --banmod as it is"
        assert queues[1] in placed
        assert ask(machine, pid, "")[1] == []


def test_a_nic_s_ban_and_its_undo_keep_the_bans_of_others(machine: Machine, irqbalance: Path) -> None:
    queues = queue_irqs(machine)
    config, every = min(queues) - 1, ",".join(map(str, queues))
    with balancing(machine, irqbalance, f"--banirq={config}", f"--banirq={queues[3]}") as pid:
        banned = acted(machine, pid, every)
        assert banned["old"] == str(queues[3])
        assert banned["now"] == every
        assert banned["list"] == [config, *queues]
        machine.run("sleep 3").checked()
        again = acted(machine, pid, every)
        assert again["effect"] == "verified", again["detail"]
        for irq in queues:  # which is what the ban is for: nobody moves them any more
            machine.run(f"echo 1 > /proc/irq/{irq}/smp_affinity_list").checked()
        machine.run("sleep 4").checked()
        read = "; ".join(f"cat /proc/irq/{irq}/smp_affinity_list" for irq in queues)
        assert set(machine.run(read).checked().split()) == {"1"}
        undone = acted(machine, pid, banned["old"])
        assert undone["list"] == [config, queues[3]]
        by_hand = machine.run(undone["by_hand"])
        assert by_hand.returncode == 0, by_hand.stderr
        assert ask(machine, pid)[1] == undone["list"], "the same list by hand"


def test_a_new_process_has_forgotten_the_ban(machine: Machine, irqbalance: Path) -> None:
    queues = queue_irqs(machine)
    with balancing(machine, irqbalance) as pid:
        ask(machine, pid, f"{queues[0]}")
    with balancing(machine, irqbalance) as pid:
        assert ask(machine, pid)[1] == []
