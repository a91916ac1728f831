"""Faults of the lab itself, told apart from what a test finds.

Emulated SVM now and then saves the hypervisor's own state into a guest: from then on the guest takes nested page faults
without end, never halts, and answers nothing. That, a guest that is gone, and a kernel that panicked are the lab's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
EXITS_PER_SECOND = 10_000
TRIES = 3


class LabFaultError(Exception):
    """The machine under the test broke; the test has shown nothing. It is booted again and the test run again."""


class LabBrokenError(Exception):
    """The lab broke in every try it had."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """A domain at one moment: seconds of a steady clock; exits, and exits because it halted, summed over its vCPUs."""

    at: float
    exits: int
    halt_exits: int


def hangs(earlier: Pulse, later: Pulse) -> bool:
    """The signature: more than 10,000 exits a second while not one halt was seen."""
    seconds = later.at - earlier.at
    return (
        seconds > 0
        and later.halt_exits == earlier.halt_exits
        and (later.exits - earlier.exits) / seconds > EXITS_PER_SECOND
    )


def tried(action: Callable[[], T], recover: Callable[[LabFaultError], None]) -> T:
    """What ``action`` returns, tried again at most twice when the lab breaks; ``recover`` is told of each fault.

    Raises the third fault. Anything else, a failed assertion first of all, is never tried again.
    """
    left = TRIES
    while True:
        left -= 1
        try:
            return action()
        except LabFaultError as fault:
            recover(fault)
            if not left:
                raise


@dataclass(slots=True)
class Ledger:
    """What happened in this run of the tests, for the summary at its end."""

    faults: list[str] = field(default_factory=list)
    times: list[tuple[str, float]] = field(default_factory=list)
    boots: int = 0

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Note how long the body took; a body that raises is not noted."""
        started = time.monotonic()
        yield
        self.times.append((what, time.monotonic() - started))

    def rows(self) -> list[str]:
        """Lines for the summary; empty where no lab was booted."""
        rows = [f"{what}: {seconds:.1f} s" for what, seconds in self.times]
        if self.boots or self.faults:
            rows.append(f"domains booted or restored: {self.boots}; faults of the lab: {len(self.faults)}")
        return rows + [f"fault: {fault}" for fault in self.faults]
