"""irqbalance-off: stop the service, so that interrupts stay where they were put."""

from __future__ import annotations

from tuneagent.model.plan import Change, Declined, Target, TunableKind
from tuneagent.plan.situation import ACTIVE_STATES, IRQBALANCE_UNIT, Situation, Solution

_UNTIL_BOOT = f"holds until the next boot; `systemctl disable {IRQBALANCE_UNIT}` makes it last"


def solve(situation: Situation) -> Solution | Declined:
    """The unit, active → inactive. An irqbalance that runs outside its unit is left to whoever started it."""
    balance, topology = situation.irqbalance, situation.cpus
    if balance is None or balance.running is None:
        return situation.declined("whether irqbalance runs is not known")
    if not balance.running:
        return situation.declined("already so: irqbalance is not running")
    if topology is not None and len(topology.online) == 1:
        return situation.declined("one CPU: irqbalance has nothing to move, and ends by itself")
    if balance.unit_state is not None and balance.unit_state not in ACTIVE_STATES:
        return situation.declined(
            f"irqbalance (pid {balance.pid}) runs outside {IRQBALANCE_UNIT}; stop it where it was started"
        )
    unknown = "" if balance.unit_state else "; whether systemd started irqbalance here is not known"
    return Solution((_change(),), (_UNTIL_BOOT + unknown,))


def _change() -> Change:
    return Change(
        kind=TunableKind.IRQBALANCE_UNIT,
        target=Target(unit=IRQBALANCE_UNIT),
        where=f"systemd unit {IRQBALANCE_UNIT}",
        old="active",
        new="inactive",
        why="irqbalance may move every interrupt that it has not been told to leave alone, about every 10 s",
        do=f"systemctl stop {IRQBALANCE_UNIT}",
        undo=f"systemctl start {IRQBALANCE_UNIT}",
    )
