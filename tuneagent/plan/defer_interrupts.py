"""defer-interrupts: a busy queue is polled again by a timer before its interrupt is switched on again."""

from __future__ import annotations

from tuneagent.model.nic import Nic
from tuneagent.model.plan import Change, Declined, TunableKind
from tuneagent.plan.situation import Situation, Solution, echo, nic_target, undo_echo

HARD_IRQS = "napi_defer_hard_irqs"
FLUSH_TIMEOUT = "gro_flush_timeout_ns"


def solve(situation: Situation) -> Solution | Declined:
    """napi_defer_hard_irqs and gro_flush_timeout, which work only together (kernel commit 6f8b12d661d0)."""
    nic = situation.nic
    if nic is None:
        return situation.declined("which interface it is about is not known")
    if nic.napi_defer_hard_irqs is None or nic.gro_flush_timeout_ns is None:
        return situation.declined("the kernel shows no napi_defer_hard_irqs or gro_flush_timeout for this interface")
    if nic.napi_defer_hard_irqs and nic.gro_flush_timeout_ns:
        return situation.declined(
            f"already so: somebody chose {nic.napi_defer_hard_irqs} polls and {nic.gro_flush_timeout_ns} ns"
        )
    return Solution(tuple(change for change in _changes(situation, nic) if change.old != change.new))


def _changes(situation: Situation, nic: Nic) -> tuple[Change, Change]:
    polls, timeout = situation.policy.parameters[HARD_IRQS], situation.policy.parameters[FLUSH_TIMEOUT]
    return (
        _change(
            nic,
            TunableKind.NAPI_DEFER_HARD_IRQS,
            "napi_defer_hard_irqs",
            (nic.napi_defer_hard_irqs, polls),
            f"after {polls} empty polls in a row, and not after the first, the interrupt is switched on again",
        ),
        _change(
            nic,
            TunableKind.GRO_FLUSH_TIMEOUT,
            "gro_flush_timeout",
            (nic.gro_flush_timeout_ns, timeout),
            f"the timer polls again after {timeout} ns, which is also the longest that a packet waits",
        ),
    )


def _change(nic: Nic, kind: TunableKind, file: str, values: tuple[int | None, int], why: str) -> Change:
    path = f"/sys/class/net/{nic.name}/{file}"
    old = None if values[0] is None else str(values[0])
    return Change(
        kind, nic_target(nic), path, old, str(values[1]), why, echo(str(values[1]), path), undo_echo(old, path)
    )
