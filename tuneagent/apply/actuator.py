"""What an actuator can do, and the one way in which it says no."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts


class Why(StrEnum):
    """What a refusal means for the transaction."""

    FACT = "fact"
    """It cannot be changed here, and nobody can: a managed interrupt, a device without this setting. Others go on."""
    GONE = "gone"
    """It is not there any more. Others go on."""
    LATER = "later"
    """Not now (EAGAIN, EBUSY): worth another try in a moment."""
    ELSEWHERE = "elsewhere"
    """No room for this value (ENOSPC): one of ``Change.elsewhere`` may do."""
    FORBIDDEN = "forbidden"
    """This process may not, and no other write of its kind will be allowed either: a sandbox, no root."""
    FAILED = "failed"
    """Anything else: the transaction is undone."""


class Refusal(Exception):  # noqa: N818 - a refusal is often a fact and no error
    """A value could not be located, read or written, with the kernel's or daemon's own word."""

    def __init__(self, why: Why, detail: str, remedy: str | None = None) -> None:
        super().__init__(detail)
        self.why = why
        self.detail = detail
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Place:
    """Where a target is now."""

    where: str
    """For people, with the numbers and names of now: ``/proc/irq/38/smp_affinity_list``."""
    target: Target
    """The target, completed by what makes it unmistakable and was not known to the plan: a thread's start."""
    handle: Any = field(default=None, compare=False)
    """What the actuator needs to read and write it; nobody else's business."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An effect, and the numbers that show it in one line for people."""

    effect: Effect
    detail: str


class Actuator(Protocol):
    """Reads, writes and gives back one kind of tunable. Values are texts; ``same`` says when two mean the same.

    Every method but ``same``, ``check`` and ``by_hand`` may raise Refusal and nothing else, and ends within seconds.
    """

    @property
    def kinds(self) -> tuple[TunableKind, ...]:
        """The kinds that it changes."""
        ...

    @property
    def lasts(self) -> Lasts:
        """What ends its changes by itself."""
        ...

    def locate(self, kind: TunableKind, target: Target) -> Place:
        """The place of a target on the machine as it is now. Refusal with GONE where it is not there."""
        ...

    def read(self, place: Place) -> str:
        """The present value, such that writing it again brings back exactly this state; empty for none."""
        ...

    def check(self, place: Place, value: str) -> str | None:
        """Why this value must never be written; None where it may be."""
        ...

    def write(self, place: Place, value: str) -> None:
        """One write of the whole value. Whether it arrived is known by reading only."""
        ...

    def same(self, one: str, other: str) -> bool:
        """Whether two values mean the same: ``f`` and ``0000000f`` are one mask."""
        ...

    def half_done(self, now: str, old: str, new: str) -> bool:
        """Whether ``now``, which is neither, is what an end in the middle of a write of one over the other leaves.

        Then it is ours still, and an undo goes on with it.
        """
        ...

    def rewrites(self, place: Place) -> tuple[tuple[TunableKind, Target], ...]:
        """What the kernel changes by itself when this is written, and what has to be put back after an undo."""
        ...

    def previous(self, place: Place) -> str:
        """The whole of which the value is a part, kept for people: a stored definition; empty where there is none."""
        ...

    def mark(self, place: Place) -> Any:
        """What has to be remembered from before the write to see its effect; None where nothing has."""
        ...

    def effect(self, place: Place, value: str, mark: Any) -> Seen:
        """Whether what was written is what happens, as far as it shows by now."""
        ...

    def settle(self, place: Place) -> None:
        """Brings in line with the value that stands there what an end in the middle left behind it; usually nothing."""
        ...

    def by_hand(self, place: Place, value: str) -> str:
        """The shell line that writes the value, for people."""
        ...

    def meddler(self, place: Place, value: str, now: str) -> str:
        """Who may have changed it from ``value`` to ``now``, where that can be known; else empty."""
        ...


class Defaults:
    """What most actuators have to say to the rarer questions."""

    def check(self, place: Place, value: str) -> str | None:  # noqa: ARG002 - the protocol has it
        """Any value may be written that the kernel takes."""
        return None

    def same(self, one: str, other: str) -> bool:
        """The texts, without the blanks around them."""
        return one.strip() == other.strip()

    def half_done(self, now: str, old: str, new: str) -> bool:  # noqa: ARG002 - the protocol has it
        """A write is one call, and there is nothing between before and after."""
        return False

    def rewrites(self, place: Place) -> tuple[tuple[TunableKind, Target], ...]:  # noqa: ARG002 - the protocol has it
        """Nothing else changes."""
        return ()

    def previous(self, place: Place) -> str:  # noqa: ARG002 - the protocol has it
        """The value is all there is."""
        return ""

    def mark(self, place: Place) -> Any:  # noqa: ARG002 - the protocol has it
        """Nothing."""
        return None

    def settle(self, place: Place) -> None:
        """Nothing is left behind."""

    def meddler(self, place: Place, value: str, now: str) -> str:  # noqa: ARG002 - the protocol has it
        """Nobody is known."""
        return ""
