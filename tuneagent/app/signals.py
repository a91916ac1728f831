"""Signals while a transaction is written: the first asks for an orderly undo, and nothing disturbs that undo."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

_Handler = Callable[[int, FrameType | None], Any] | int | None
ENDING = (signal.SIGINT, signal.SIGTERM)
IGNORED = (signal.SIGHUP,)
"""ssh went away, perhaps through the very change: the transaction ends by its own rules, and its deadline is armed."""


class Interrupted(BaseException):
    """Somebody wants the run to end. No Exception: whoever handles errors of the machine must not take it for one."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(f"interrupted by {number.name}")
        self.number = number

    @property
    def exit_code(self) -> int:
        """As a shell reports it: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + self.number


class Interruptions:
    """What the handlers share: whether somebody has asked already, and whether it is too late to ask."""

    def __init__(self) -> None:
        self.asked: signal.Signals | None = None
        """The first signal that came, also one that came too late to be raised."""
        self._deaf = False

    def ignore(self) -> None:
        """From now on nothing is raised: an undo runs, or what was written is committed."""
        self._deaf = True

    @contextmanager
    def held(self) -> Iterator[None]:
        """While the body runs nothing is raised; what came meanwhile is raised at its end."""
        self._deaf = True
        yield
        self.listen()

    def listen(self) -> None:
        """From now on again, where one thing was ended that nobody may disturb; what came meanwhile is raised."""
        self._deaf = self.asked is not None
        if self.asked is not None:
            raise Interrupted(self.asked)

    def __call__(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - signal's signature
        """The handler."""
        if self.asked is None:
            self.asked = signal.Signals(number)
        if not self._deaf:
            self._deaf = True
            raise Interrupted(self.asked)


@contextmanager
def orderly() -> Iterator[Interruptions]:
    """While the body runs, the first SIGINT or SIGTERM raises Interrupted in it; later ones and SIGHUP do nothing.

    What was ignored before stays ignored, as under nohup(1) and where a guardian undoes. The handlers of before come
    back in any case. For the main thread only: Python runs handlers in no other.
    """
    interruptions = Interruptions()
    before = {number: signal.getsignal(number) for number in (*ENDING, *IGNORED)}
    try:
        for number in ENDING:
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, interruptions)
        for number in IGNORED:
            # Really ignored, and no handler that does nothing: systemctl and virsh, run by us, are spared as well.
            signal.signal(number, signal.SIG_IGN)
        yield interruptions
    finally:
        interruptions.ignore()
        _restore(before)


def _restore(handlers: Mapping[signal.Signals, _Handler]) -> None:
    """All of them, before the first of them can run."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, handlers)
    for number, handler in handlers.items():
        # None is a handler that was not set by Python, which cannot be set again from here.
        signal.signal(number, signal.SIG_DFL if handler is None else handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
