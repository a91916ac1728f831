"""Which advice gives way to which, so that a plan never says one thing and its opposite."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tuneagent.model.plan import Advice, TunableKind
from tuneagent.model.policy import Action, Policy

MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class Conflict:
    """A policy with action ``loser`` gives way to one with all of ``winner``, where both are about the same subject.

    The whole machine is every subject. With ``making`` the winner must really make such a change in this plan.
    """

    winner: frozenset[Action]
    loser: Action
    reason: str
    making: TunableKind | None = None


# The order matters: advice that has lost already beats nothing.
CONFLICTS: tuple[Conflict, ...] = (
    # irqbalance would undo the pins, and pins do the same job with an outcome that is known beforehand.
    Conflict(
        frozenset({Action.PIN_QUEUE_INTERRUPTS}),
        Action.IRQBALANCE_ON,
        "interrupts are pinned, which irqbalance would undo",
    ),
    # Pinning begins with the ban where irqbalance runs: a ban alone beside it would be the same edit twice.
    Conflict(
        frozenset({Action.PIN_QUEUE_INTERRUPTS, Action.IRQBALANCE_BAN}),
        Action.IRQBALANCE_BAN,
        "the pinning on this interface includes the ban",
    ),
    # A ban keeps irqbalance for all other devices; stopping it takes their balancing away too: the smaller step wins,
    # unless it cannot be made (no configuration file), and then stopping is what keeps the pins.
    Conflict(
        frozenset({Action.IRQBALANCE_BAN}),
        Action.IRQBALANCE_OFF,
        "banning the queue interrupts is enough",
        TunableKind.IRQBALANCE_BAN,
    ),
    # One asks that it runs and one that it does not, so both can only stand where policies disagree; what runs is left.
    Conflict(
        frozenset({Action.IRQBALANCE_ON}),
        Action.IRQBALANCE_OFF,
        "irqbalance is wanted for other interrupts",
    ),
    # The map that is there was measured to be of no use; another one is a guess until this is undone.
    Conflict(
        frozenset({Action.RPS_OFF}),
        Action.RPS_SPREAD,
        "the present RPS map is of no use; it is taken away first",
    ),
    # Queues spread packets in the device without an interrupt between CPUs for each; RPS is for what they cannot do.
    Conflict(
        frozenset({Action.SET_CHANNELS}),
        Action.RPS_SPREAD,
        "more queues do this without a hand-over between CPUs",
    ),
)


def settle(advice: Iterable[tuple[Policy, Advice]]) -> tuple[tuple[Advice, ...], tuple[tuple[Advice, str], ...]]:
    """The advice that may stand together, in the order given, and what gave way with the reason."""
    standing = list(advice)
    lost: list[tuple[Advice, str]] = []
    for conflict in CONFLICTS:
        for policy, loser in tuple(standing):
            winner = _winner(policy, loser, conflict, standing)
            if winner is not None:
                standing.remove((policy, loser))
                lost.append((loser, f"{conflict.reason} ({winner.id})"))
    return tuple(one for _, one in standing), tuple(lost)


def first_of_each(
    advice: Iterable[tuple[Policy, Advice]], asked: Collection[str] = ()
) -> tuple[list[tuple[Policy, Advice]], tuple[tuple[Advice, str], ...]]:
    """Of advice that makes exactly the same changes on one subject, the first; and the others with the reason.

    What was asked for by name stands in any case.
    """
    first: dict[tuple[object, ...], str] = {}
    standing: list[tuple[Policy, Advice]] = []
    again: list[tuple[Advice, str]] = []
    for policy, one in advice:
        made = tuple((change.kind, change.where, change.new, change.do) for change in one.changes)
        same = first.setdefault((one.subject, policy.role, made), policy.name)
        if same == policy.name or policy.name in asked:
            standing.append((policy, one))
        else:
            again.append((one, f"makes the same changes as {same}"))
    return standing, tuple(again)


def _winner(
    policy: Policy, advice: Advice, conflict: Conflict, standing: Iterable[tuple[Policy, Advice]]
) -> Advice | None:
    if conflict.loser not in policy.actions or conflict.winner <= set(policy.actions):
        return None
    return next(
        (
            other
            for rival, other in standing
            if conflict.winner <= set(rival.actions) and _makes(other, conflict) and _meet(advice, other)
        ),
        None,
    )


def _makes(advice: Advice, conflict: Conflict) -> bool:
    return conflict.making is None or any(change.kind is conflict.making for change in advice.changes)


def _meet(one: Advice, other: Advice) -> bool:
    return one.subject == other.subject or MACHINE in (one.subject, other.subject)
