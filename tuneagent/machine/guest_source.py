"""A guest as a Source, seen through commands in it, that learns which files matter by being asked for them.

What was not asked before is recorded, and absent for the moment; :meth:`GuestSource.fetch` gets all of it at once. Who
looks until nothing new is wanted has the same answers as from the machine itself, for the price of a few commands. The
next look begins with all that the last one asked, fetched together, so that its moment is short.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tuneagent.machine import guest_batches, processes
from tuneagent.machine.guest_agent import NAME, GuestAgent
from tuneagent.machine.guest_answers import Answers, Wanted
from tuneagent.machine.source import Captured, Process, Text
from tuneagent.model.clock import Clock
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

MOST_PROCESSES = 4_000
MOST_PATHS = 4_000 + MOST_PROCESSES
"""Of one look, each process with one. A guest of 64 CPUs and 300 interrupts takes 2,500 besides."""
Fetch = Callable[[GuestAgent, Wanted], Answers]
T = TypeVar("T")


class GuestSource:
    """The Source that a guest is through guest-exec. Only :meth:`begin` and :meth:`fetch` ask the guest."""

    origin = "guest agent (guest-exec)"

    def __init__(self, agent: GuestAgent, fetch: Fetch = guest_batches.fetch) -> None:
        self._agent = agent
        self._fetch = fetch
        self._answers = Answers()
        self._asked = Wanted()
        self._new = Wanted()

    def begin(self) -> None:
        """Starts a look: gets what the last one asked for. SourceError when the guest cannot be asked."""
        self._agent.begin()
        known, self._asked = self._asked, Wanted()
        self._answers, self._new = Answers(), Wanted()
        if known:
            self._answers.add(self._fetch(self._agent, known))

    def fetch(self) -> bool:
        """Gets what was asked for since and is not known; whether there was anything. SourceError as above."""
        if not self._new:
            return False
        wanted, self._new, self._asked = self._new, Wanted(), Wanted()
        self._answers.add(self._fetch(self._agent, wanted))
        return True

    def read(self, path: str) -> Text:
        """A file's text, with the guest's time of the command that read it."""
        return self._answer(path, self._answers.files, self._asked.files, self._new.files)

    def names(self, path: str) -> tuple[str, ...]:
        """The names in a directory."""
        return self._answer(path, self._answers.directories, self._asked.directories, self._new.directories)

    def link(self, path: str) -> str:
        """Where a link leads."""
        return self._answer(path, self._answers.links, self._asked.links, self._new.links)

    def writable_mode(self, path: str) -> bool:
        """Whether a file's owner may write it."""
        return self._answer(path, self._answers.modes, self._asked.modes, self._new.modes)

    def captured(self, name: str) -> Captured:
        """Nothing: the agent gives files. What is no file of the guest is not to be seen from outside."""
        raise not_through_the_agent(name)

    def processes(self, names: frozenset[str]) -> tuple[Process, ...]:
        """The guest's processes with one of these names."""
        pids = [name for name in self.names(processes.PROC) if name.isdecimal()]
        if len(pids) > MOST_PROCESSES:
            raise SourceError(processes.PROC, Reason.TOO_LARGE, f"more than {MOST_PROCESSES} processes in the guest")
        return processes.running(self, names, None)

    def clock(self) -> Clock | None:
        """The guest's time at the first command of the look."""
        return self._answers.clock

    def _answer(self, path: str, known: dict[str, T | SourceError], asked: dict[str, None], new: dict[str, None]) -> T:
        answer = known.get(path)
        if isinstance(answer, SourceError):
            asked[path] = None
            raise SourceError(answer.source, answer.reason, answer.detail, answer.remedy)
        if answer is not None:
            asked[path] = None
            return answer
        if path not in asked and len(self._asked) >= MOST_PATHS:
            raise SourceError(path, Reason.TOO_LARGE, f"more than {MOST_PATHS} paths would be asked of the guest")
        asked[path] = new[path] = None
        raise SourceError(path, Reason.ABSENT, "not asked yet")


def not_through_the_agent(source: str) -> SourceError:
    """The error of what no file of the guest tells."""
    return SourceError(source, Reason.NOT_CAPTURED, f"not asked through the {NAME}", "run tuneagent in the guest")
