"""irqbalance-ban: keep irqbalance's hands off a NIC's queue interrupts, by its own configuration file."""

from __future__ import annotations

import re

from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.irqbalance import Irqbalance, IrqbalanceConfig
from tuneagent.model.nic import Nic
from tuneagent.model.plan import Change, Declined, TunableKind
from tuneagent.plan.irqbalance_edit import Edit
from tuneagent.plan.situation import ACTIVE_STATES, IRQBALANCE_UNIT, Situation, Solution, nic_target

_PLAIN = re.compile(r"[A-Za-z0-9_./=,:+@%-]+")
"""Options that mean the same to the shell, to systemd's EnvironmentFile= and to sed, with or without quotes."""
_KEY = re.compile(r"[A-Z][A-Z0-9_]*")
_RENUMBERED = (
    "irqbalance knows interrupts by number; numbers change when the device is probed again, and the ban must too"
)


def solve(situation: Situation) -> Solution | Declined:
    """The key that holds irqbalance's options, with a ``--banirq`` more for each queue interrupt (irqbalance(1))."""
    nic, balance = situation.nic, situation.irqbalance
    if nic is None or balance is None or balance.running is None:
        return situation.declined("whether irqbalance runs is not known; if it does, it will undo pins within seconds")
    if not balance.running:
        return situation.declined("irqbalance is not running, so there is nothing to ban")
    missing = unbanned(situation, nic, balance)
    if not missing:
        return Solution()
    config = balance.config
    reason = _unusable(config)
    if config is None or reason:
        return situation.declined(reason)
    unwritten = tuple(queue_irq for queue_irq in missing if queue_irq.irq not in config.banned_irqs)
    if not unwritten:
        return situation.declined(_not_heard(config, balance))
    return Solution((_change(nic, config, unwritten),), _notes(balance, config))


def _not_heard(config: IrqbalanceConfig, balance: Irqbalance) -> str:
    return (
        f"{config.path} bans these interrupts already, and irqbalance (pid {balance.pid}) runs without that: it is "
        f"older than the file, or its unit reads another. `systemctl restart {IRQBALANCE_UNIT}`, and see its command "
        f"line; `systemctl cat {IRQBALANCE_UNIT}` shows which file it reads"
    )


def _unusable(config: IrqbalanceConfig | None) -> str:
    """Why the ban cannot be written down; empty where it can."""
    if config is None:
        return (
            "irqbalance runs, will undo pins within seconds, and no configuration file of it was found; "
            "none is created blindly. "
            f"`systemctl cat {IRQBALANCE_UNIT}` shows which file it would read"
        )
    fault = _unreadable(config) or _hard_to_edit(config)
    return f"irqbalance runs, will undo pins, and {fault}" if fault else ""


def _unreadable(config: IrqbalanceConfig) -> str:
    if config.unreadable is not None:
        return f"{config.path} could not be read: {config.unreadable}"
    return f"{config.path} must be mended first: {config.errors[0]}" if config.errors else ""


def _hard_to_edit(config: IrqbalanceConfig) -> str:
    if config.key is not None and not _KEY.fullmatch(config.key):
        return f"{config.path} holds its options under a name that is no variable's"
    if not all(_PLAIN.fullmatch(option) for option in config.options):
        return f"only a hand can edit the quoted options in {config.path}"
    if config.hand_only is not None or (config.key is not None and config.plain_line is None):
        return f"only a hand can edit {config.path}: {config.hand_only or 'which line sets the options is not known'}"
    return ""


def unbanned(situation: Situation, nic: Nic, balance: Irqbalance) -> tuple[QueueIrq, ...]:
    """The interrupts of its queues in use that irqbalance may move."""
    used = set(nic.queues_in_use)
    return tuple(
        queue_irq
        for queue_irq in nic.irqs_of(QueueRole.INPUT, QueueRole.OUTPUT)
        if queue_irq.queue in used and not _is_banned(situation, queue_irq, balance)
    )


def _is_banned(situation: Situation, queue_irq: QueueIrq, balance: Irqbalance) -> bool:
    """Told to be left alone already, or fixed anyway."""
    line = situation.view.after.irq(queue_irq.irq)
    fixed = line is not None and line.movable is False
    return fixed or balance.leaves(queue_irq.irq, line.actions if line is not None else ())


def _change(nic: Nic, config: IrqbalanceConfig, missing: tuple[QueueIrq, ...]) -> Change:
    edit = Edit(
        config.path,
        config.options_key,
        config.plain_line,
        " ".join(f"--banirq={queue_irq.irq}" for queue_irq in missing),
    )
    restart = f"systemctl restart {IRQBALANCE_UNIT}"
    return Change(
        kind=TunableKind.IRQBALANCE_BAN,
        target=nic_target(nic),
        where=config.path,
        old=config.plain_line or "",
        new=edit.line,
        why=f"irqbalance runs and moves these interrupts again at its next cycle, within about 10 s: {listed(missing)}",
        do=f"{edit.do} && {restart}",
        undo=f"{edit.undo} && {restart}",
    )


def listed(irqs: tuple[QueueIrq, ...]) -> str:
    """Them, by queue, for people."""
    return ", ".join(f"{irq.role}.{irq.queue} (IRQ {irq.irq})" for irq in irqs)


def _notes(balance: Irqbalance, config: IrqbalanceConfig) -> tuple[str, ...]:
    notes = [_RENUMBERED]
    if config.key is None:
        notes.append(
            f"{config.path} sets no options; {config.options_key} is the usual name there: "
            f"`systemctl cat {IRQBALANCE_UNIT}` shows it"
        )
    if config.policy_script is not None:
        notes.append(f"the policy script {config.policy_script} may ban interrupts too; what it says is not known")
    if balance.unit_state not in ACTIVE_STATES:
        notes.append("that systemd runs irqbalance here is not known; restart it by the means that started it")
    return tuple(notes)
