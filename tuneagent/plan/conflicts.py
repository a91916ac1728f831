"""Which advice gives way to which, so that a plan never says one thing and its opposite."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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
    where: Callable[[Advice], bool] | None = None
    """Of the two there must be one of which this holds; without it, any."""
    asked: bool = False
    """Whether it holds only where the winner was asked for by name and the loser was not."""


def _moves_threads_of_qemu(advice: Advice) -> bool:
    return any(
        change.kind is TunableKind.VHOST_AFFINITY and change.target.kernel_thread is False for change in advice.changes
    )


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
        TunableKind.IRQBALANCE_BAN,
    ),
    # A ban keeps irqbalance for all other devices; stopping it takes their balancing away too: the smaller step wins,
    # unless it cannot be made (no configuration file), and then stopping is what keeps the pins.
    Conflict(
        frozenset({Action.IRQBALANCE_BAN}),
        Action.IRQBALANCE_OFF,
        "banning the queue interrupts is enough",
        TunableKind.IRQBALANCE_BAN,
    ),
    # The file's ban restarts irqbalance, which makes it count at once too, and it lasts.
    Conflict(
        frozenset({Action.IRQBALANCE_BAN}),
        Action.IRQBALANCE_BAN_NOW,
        "the ban in irqbalance's file counts at once too, and lasts",
        TunableKind.IRQBALANCE_BAN,
    ),
    Conflict(
        frozenset({Action.IRQBALANCE_OFF}),
        Action.IRQBALANCE_BAN_NOW,
        "irqbalance is to be stopped, and a ban would end with it",
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
    # The device holds an interrupt back before it costs an injection; both together would delay a packet twice.
    Conflict(
        frozenset({Action.COALESCING}),
        Action.DEFER_INTERRUPTS,
        "the device holds interrupts back by itself",
    ),
    # Where vhost workers are threads of QEMU, the emulator's pin moves them too, all at once, and lasts.
    Conflict(
        frozenset({Action.VHOST_AFFINITY}),
        Action.EMULATOR_PIN,
        "the workers' own affinity was asked for by name, which this would set anew",
        where=_moves_threads_of_qemu,
        asked=True,
    ),
    Conflict(
        frozenset({Action.EMULATOR_PIN}),
        Action.VHOST_AFFINITY,
        "the emulator's pin moves these workers too, and lasts",
        where=_moves_threads_of_qemu,
    ),
    # Both can stand only where policies disagree; a poll that costs CPU time now is the surer fault.
    Conflict(
        frozenset({Action.HALT_POLLING_OFF}),
        Action.HALT_POLLING_ON,
        "polling is to be switched off",
    ),
)


def settle(
    advice: Iterable[tuple[Policy, Advice]], machines: Mapping[str, str] | None = None, asked: Collection[str] = ()
) -> tuple[tuple[Advice, ...], tuple[tuple[Advice, str], ...]]:
    """The advice that may stand together, in the order given, and what gave way with the reason.

    ``machines`` says by the id of an advice which subject is the whole machine that it is carried out on, where that
    is not this machine: a guest's irqbalance and its hypervisor's do not meet.
    """
    standing = _Standing(advice, machines or {})
    lost: list[tuple[Advice, str]] = []
    for conflict in CONFLICTS:
        for place in standing.with_action(conflict.loser):
            winner = _winner(standing, place, conflict, asked)
            if winner is not None:
                lost.append((standing.remove(place), f"{conflict.reason} ({winner.id})"))
    return standing.advice(), tuple(lost)


class _Standing:
    """What stands so far, found by action, machine and subject: there may be thousands of virtual machines."""

    def __init__(self, advice: Iterable[tuple[Policy, Advice]], machines: Mapping[str, str]) -> None:
        self.pairs = dict(enumerate(advice))
        self._machines = machines
        self._of: dict[tuple[str, str | None], list[int]] = {}
        self._acting: dict[Action, list[int]] = {}
        for place, (policy, one) in self.pairs.items():
            machine = self._machine(one)
            for key in {(machine, one.subject), (machine, None)}:
                self._of.setdefault(key, []).append(place)
            for action in policy.actions:
                self._acting.setdefault(action, []).append(place)

    def _machine(self, advice: Advice) -> str:
        return self._machines.get(advice.id, MACHINE)

    def with_action(self, action: Action) -> tuple[int, ...]:
        return tuple(place for place in self._acting.get(action, ()) if place in self.pairs)

    def meeting(self, place: int) -> Iterator[tuple[Policy, Advice]]:
        """What is about the same subject on the same machine, in order; the whole machine is every subject."""
        advice = self.pairs[place][1]
        machine = self._machine(advice)
        if advice.subject == machine:
            found = set(self._of[machine, None])
        else:
            found = {*self._of[machine, advice.subject], *self._of.get((machine, machine), ())}
        return (self.pairs[other] for other in sorted(found) if other in self.pairs)

    def remove(self, place: int) -> Advice:
        return self.pairs.pop(place)[1]

    def advice(self) -> tuple[Advice, ...]:
        return tuple(one for _, one in self.pairs.values())


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


def _winner(standing: _Standing, place: int, conflict: Conflict, asked: Collection[str]) -> Advice | None:
    policy, advice = standing.pairs[place]
    if conflict.winner <= set(policy.actions) or (conflict.asked and policy.name in asked):
        return None
    return next(
        (
            other
            for rival, other in standing.meeting(place)
            if conflict.winner <= set(rival.actions)
            and (not conflict.asked or rival.name in asked)
            and _holds(conflict, other, advice)
        ),
        None,
    )


def _holds(conflict: Conflict, winner: Advice, loser: Advice) -> bool:
    if conflict.where is not None and not (conflict.where(winner) or conflict.where(loser)):
        return False
    return conflict.making is None or any(change.kind is conflict.making for change in winner.changes)
