"""irqbalance-on: start the service where it is installed and busy interrupts share a CPU."""

from __future__ import annotations

from tuneagent.model.plan import Change, Declined, Target, TunableKind
from tuneagent.plan.situation import IRQBALANCE_UNIT, Situation, Solution

_UNTIL_BOOT = f"holds until the next boot; `systemctl enable {IRQBALANCE_UNIT}` makes it last"


def solve(situation: Situation) -> Solution | Declined:
    """The unit, inactive or failed → active."""
    balance, topology = situation.irqbalance, situation.cpus
    if topology is not None and len(topology.online) == 1:
        return situation.declined("one CPU: there is nowhere to move an interrupt to, and irqbalance ends by itself")
    if balance is None or balance.running is None:
        return situation.declined("whether irqbalance runs is not known")
    if balance.running:
        return situation.declined("already so: irqbalance is running")
    if balance.unit_state in {None, "not-found"}:
        return situation.declined(f"no {IRQBALANCE_UNIT} is known here: irqbalance may not be installed")
    if balance.unit_state == "masked":
        return situation.declined(f"{IRQBALANCE_UNIT} is masked: somebody decided that it shall not start")
    return Solution((_change(balance.unit_state or ""),), (_UNTIL_BOOT,))


def _change(state: str) -> Change:
    return Change(
        kind=TunableKind.IRQBALANCE_UNIT,
        target=Target(unit=IRQBALANCE_UNIT),
        where=f"systemd unit {IRQBALANCE_UNIT}",
        old=state,
        new="active",
        why="busy interrupts share a CPU, and irqbalance gives each busy interrupt a CPU of its own",
        do=f"systemctl start {IRQBALANCE_UNIT}",
        undo=f"systemctl stop {IRQBALANCE_UNIT}",
    )
