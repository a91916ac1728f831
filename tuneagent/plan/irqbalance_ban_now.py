"""irqbalance-ban-now: keep the running irqbalance's hands off a NIC's queue interrupts, without a file or a restart."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.model.irq import QueueRole
from tuneagent.model.irqbalance import Irqbalance, order_by_hand
from tuneagent.model.nic import Nic
from tuneagent.model.plan import Change, Declined, TunableKind
from tuneagent.plan.irqbalance_ban import listed, unbanned
from tuneagent.plan.situation import Situation, Solution, nic_target

_ENDS = "ends with irqbalance's process: a restart, an update of its package, a reboot; irqbalance-ban-queues lasts"
_REPLACES = "an order replaces the whole list, so it names the bans again that the process is known to have by now"
_ANEW = "irqbalance places every interrupt that is not banned anew at its next look"


def solve(situation: Situation) -> Solution | Declined:
    """The list of interrupts that the running process leaves alone, with the queue interrupts among them."""
    nic, balance = situation.nic, situation.irqbalance
    if nic is None or balance is None or balance.running is None:
        return situation.declined("whether irqbalance runs is not known; if it does, it will undo pins within seconds")
    if not balance.running:
        return situation.declined("irqbalance is not running, so there is nothing to ban")
    if balance.socket is None:
        return situation.declined(
            "irqbalance runs and has no socket that is known: it was built without its user interface; "
            "ban in its file instead (irqbalance-ban-queues)"
        )
    missing = unbanned(situation, nic, balance)
    if not missing:
        return Solution()
    own = {irq.irq for irq in nic.irqs_of(QueueRole.INPUT, QueueRole.OUTPUT)}
    old = own & balance.banned_irqs
    new = old | {irq.irq for irq in missing}
    others = sorted(balance.banned_irqs - own)
    return Solution(
        (_change(nic, balance, balance.socket, (others, sorted(old), sorted(new)), listed(missing)),), _NOTES
    )


_NOTES = (_ENDS, _REPLACES, _ANEW)
_Lists = tuple[list[int], list[int], list[int]]
"""Bans of others, of this NIC now, and as they are to be."""


def _change(nic: Nic, balance: Irqbalance, socket: str, lists: _Lists, missing: str) -> Change:
    others, old, new = lists
    return Change(
        kind=TunableKind.IRQBALANCE_RUNTIME_BAN,
        target=nic_target(nic),
        where=f"irqbalance (pid {balance.pid}), {socket}: {nic.name}",
        old=_words(old),
        new=_words(new),
        why=f"irqbalance runs and moves these interrupts again at its next cycle, within about 10 s: {missing}",
        do=order_by_hand(socket, [*others, *new]),
        undo=order_by_hand(socket, [*others, *old]),
    )


def _words(irqs: Iterable[int]) -> str:
    return ",".join(map(str, irqs))
