from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from tests.machine.guests import Guest
from tuneagent.machine import guest_source
from tuneagent.machine.guest_agent import GuestAgent
from tuneagent.machine.guest_answers import Answers, Wanted
from tuneagent.machine.guest_source import GuestSource
from tuneagent.machine.source import Text
from tuneagent.model.clock import Clock
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

FILES = {
    "/proc/41/comm": "irqbalance\n",
    "/proc/41/cmdline": "/usr/sbin/irqbalance\0--foreground\0",
    "/proc/1/comm": "systemd\n",
    "/a": "first\n",
}


class Fetches:
    """What was fetched, a batch at a time; answers from FILES."""

    def __init__(self, processes: tuple[str, ...] = ("1", "41", "self")) -> None:
        self.batches: list[Wanted] = []
        self._processes = processes

    def __call__(self, _agent: GuestAgent, wanted: Wanted) -> Answers:
        self.batches.append(wanted)
        now = len(self.batches)
        answers = Answers(clock=Clock(now, now, now))
        for path in wanted.files:
            absent = SourceError(path, Reason.ABSENT, "none")
            answers.files[path] = Text(FILES[path], now) if path in FILES else absent
        answers.directories = dict.fromkeys(wanted.directories, self._processes)
        return answers


def reason(ask: Callable[[], object]) -> Reason:
    with pytest.raises(SourceError) as caught:
        ask()
    return caught.value.reason


def test_what_is_asked_is_fetched_and_then_known() -> None:
    fetches = Fetches()
    source = GuestSource(GuestAgent(Guest()), fetches)
    source.begin()
    assert not fetches.batches
    assert reason(lambda: source.read("/a")) is Reason.ABSENT
    assert reason(lambda: source.read("/none")) is Reason.ABSENT
    assert source.fetch()
    assert source.read("/a").text == "first\n"
    assert reason(lambda: source.read("/none")) is Reason.ABSENT
    assert not source.fetch()
    assert len(fetches.batches) == 1


def test_the_next_look_begins_with_what_the_last_one_asked_and_forgets_the_rest() -> None:
    fetches = Fetches()
    source = GuestSource(GuestAgent(Guest()), fetches)
    source.begin()
    for path in ("/a", "/only at first"):
        reason(lambda path=path: source.read(path))  # type: ignore[misc]  # mypy infers no default of a lambda
    source.fetch()
    source.read("/a")
    source.begin()
    assert list(fetches.batches[1].files) == ["/a"]
    assert source.read("/a").read_at_ns == 2
    assert source.clock() == Clock(2, 2, 2)


def test_the_clock_is_that_of_the_first_batch_of_a_look() -> None:
    source = GuestSource(GuestAgent(Guest()), Fetches())
    source.begin()
    for path in ("/a", "/b"):
        reason(lambda path=path: source.read(path))  # type: ignore[misc]  # as above
        source.fetch()
    assert source.clock() == Clock(1, 1, 1)


def test_processes_are_found_by_their_names() -> None:
    source = GuestSource(GuestAgent(Guest()), Fetches())
    source.begin()
    names = frozenset({"irqbalance"})
    for _ in range(3):
        with suppress(SourceError):
            source.processes(names)
        source.fetch()
    assert [(one.pid, one.name, one.command) for one in source.processes(names)] == [
        (41, "irqbalance", ("/usr/sbin/irqbalance", "--foreground"))
    ]


def test_too_many_processes_are_not_looked_through() -> None:
    source = GuestSource(GuestAgent(Guest()), Fetches(tuple(map(str, range(1, 4002)))))
    source.begin()
    reason(lambda: source.processes(frozenset({"irqbalance"})))
    source.fetch()
    assert reason(lambda: source.processes(frozenset({"irqbalance"}))) is Reason.TOO_LARGE


def test_paths_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest_source, "MOST_PATHS", 2)
    source = GuestSource(GuestAgent(Guest()), Fetches())
    reasons = [reason(lambda path=path: source.read(path)) for path in ("/a", "/b", "/c", "/a")]  # type: ignore[misc]
    assert reasons == [Reason.ABSENT, Reason.ABSENT, Reason.TOO_LARGE, Reason.ABSENT]


def test_what_is_no_file_is_not_seen_from_outside() -> None:
    source = GuestSource(GuestAgent(Guest()), Fetches())
    with pytest.raises(SourceError, match="ethtool: not asked through the guest agent") as caught:
        source.captured("ethtool")
    assert (caught.value.reason, caught.value.remedy) == (Reason.NOT_CAPTURED, "run tuneagent in the guest")
