"""Where somebody waits: what a stack says of a lock, its caller and the CPU's work at that time."""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.contention.contexts import context
from tuneagent.contention.frames import UNKNOWN, from_caller
from tuneagent.contention.groups import group
from tuneagent.contention.pairing import Wait
from tuneagent.model.contention import Context, LockGroup, LockKind, Stack

MOST_CALLERS = 12
"""Functions above the caller that are kept for showing."""

_UPPER = frozenset({"dev_hard_start_xmit", "xmit_one"})
"""net/core/dev.c: what gives a packet to a device. Above a transmit lock's caller it gave it to another before."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place of the kernel at which a lock is waited for."""

    group: LockGroup
    kind: LockKind
    caller: str
    callers: tuple[str, ...]
    context: Context | None
    """None where the stack does not tell."""
    stacked: bool
    """Whether the packet came through a device above, such as a VLAN's."""


class Places:
    """Each stack looked at once."""

    def __init__(self, stacks: tuple[Stack, ...]) -> None:
        self._stacks = stacks
        self._known: dict[tuple[int | None, LockKind, int], Place] = {}

    def of(self, wait: Wait) -> Place:
        """The place of a wait. A stack that the record does not have is an unknown one."""
        tid = min(wait.begin.tid, 1)
        key = (wait.begin.stack, wait.kind, tid)
        if key not in self._known:
            self._known[key] = _place(self._stack(wait.begin.stack), wait.kind, tid)
        return self._known[key]

    def _stack(self, index: int | None) -> Stack:
        return self._stacks[index] if index is not None and 0 <= index < len(self._stacks) else ()


def _place(stack: Stack, kind: LockKind, tid: int) -> Place:
    names = from_caller(stack)
    shown = tuple(UNKNOWN if name is None else name for name in names[: MOST_CALLERS + 1])
    return Place(
        group=group(names, kind),
        kind=kind,
        caller=shown[0] if shown else UNKNOWN,
        callers=shown[1:],
        context=context(names, tid),
        stacked=not _UPPER.isdisjoint(names[1:]),
    )
