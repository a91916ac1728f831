"""The inside of a virtual machine, seen from beside it: through its agent, or in a snapshot that was taken in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from tuneagent import rates
from tuneagent.app.inputs import InputError, files_as_sources
from tuneagent.join import GuestSeen
from tuneagent.machine import guest_batches, guest_exec, guest_files, guest_libvirt
from tuneagent.machine.guest_agent import ALLOW, NAME, GuestAgent, Transport
from tuneagent.machine.guest_source import GuestSource
from tuneagent.machine.source import Source
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Missing, Reason
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.observe import snapshot as observe

MOST_ROUNDS = 8
"""Observers need four to six to ask everything: a listing, then what lies in it, then what that names."""
MOST_SAMPLES = 2


class LookSource(Source, Protocol):
    """A Source whose looks begin, and which fetches what it was asked for."""

    origin: str

    def begin(self) -> None:
        """Starts a look. Raises SourceError."""
        ...

    def fetch(self) -> bool:
        """Gets what is wanted and unknown; whether there was anything. Raises SourceError."""
        ...


class GuestSampler:
    """Two looks through a guest's agent. Nothing here raises for what the guest or libvirt does: the reason is kept.

    :meth:`prepare` before the interval, :meth:`sample` right after each of the host's samples, then :meth:`seen`.
    """

    def __init__(self, connect: Callable[[], Transport]) -> None:
        self._connect = connect
        self._source: LookSource | None = None
        self._snapshots: list[Snapshot] = []
        self._failure: SourceError | None = None

    @property
    def origin(self) -> str:
        """``guest agent (guest-exec)``, ``guest agent (guest-file-read)``; ``guest agent`` before either answered."""
        return self._source.origin if self._source is not None else NAME

    def prepare(self) -> None:
        """Connects, and learns what to ask, which takes several rounds."""
        self._try(self._prepare)

    def sample(self) -> None:
        """Looks once, quickly: everything that is known to matter is fetched together."""
        self._try(self._sample)

    def seen(self, expected_s: float | None = None) -> GuestSeen:
        """The view over the two looks, or why there is none. ``expected_s`` is the interval that was meant."""
        if self._failure is not None:
            return GuestSeen(self.origin, None, _said(self._failure), self._failure.remedy)
        if not self._snapshots:
            return GuestSeen(self.origin, None, "the guest was not looked at")
        return GuestSeen(self.origin, _view(self._snapshots, expected_s))

    def _try(self, step: Callable[[], None]) -> None:
        if self._failure is not None:
            return
        try:
            step()
        except SourceError as error:
            self._failure = error

    def _prepare(self) -> None:
        self._source = chosen(GuestAgent(self._connect()))
        look(self._source)

    def _sample(self) -> None:
        if self._source is not None:
            before = self._snapshots[-1] if self._snapshots else None
            self._snapshots.append(look(self._source, before))


def through_agent(uri: str, uuid: str) -> GuestSampler:
    """The sampler of a libvirt domain; connects in ``prepare``, by a connection of its own that can write."""
    return GuestSampler(lambda: guest_libvirt.transport(uri, uuid))


def from_snapshot(files: Sequence[Path], interval_s: float | None = None) -> GuestSeen:
    """The guest in one or two snapshot files. ``interval_s`` stands in where they have no clock.

    InputError for files that are no snapshots, or hold more than two samples.
    """
    origin = f"snapshot {' '.join(map(str, files))}"
    sources = files_as_sources(files)
    if not 1 <= len(sources) <= MOST_SAMPLES:
        raise InputError(f"{origin}: {len(sources)} samples; one moment or two can be looked at")
    snapshots: list[Snapshot] = []
    for source in sources:
        snapshots.append(_inside(observe(source, snapshots[-1] if snapshots else None)))
    if len(snapshots) == 1:
        return GuestSeen(origin, rates.alone(snapshots[0]))
    return GuestSeen(origin, rates.view(snapshots[0], snapshots[1], interval_s))


def chosen(agent: GuestAgent) -> LookSource:
    """The better of the two ways that a guest allows. SourceError with the remedy where it allows neither."""
    allowed = agent.commands()
    may_run = allowed >= guest_exec.COMMANDS
    if may_run and guest_batches.usable(agent):
        return GuestSource(agent)
    if allowed >= guest_files.COMMANDS:
        return guest_files.GuestFiles(agent)
    blocked = ", ".join(sorted((guest_exec.COMMANDS | guest_files.COMMANDS) - allowed))
    lacks = "the guest lacks GNU grep and find, and " if may_run else ""
    raise SourceError(NAME, Reason.PERMISSION, f"{lacks}the guest's agent does not allow {blocked}", ALLOW)


def look(source: LookSource, previous: Snapshot | None = None) -> Snapshot:
    """One look: asks until nothing new is wanted. SourceError when the guest stops answering, or always names more."""
    source.begin()
    for _ in range(MOST_ROUNDS):
        seen = observe(source, previous)
        if not source.fetch():
            seen = _inside(seen)
            return replace(seen, missing=_each_detail_once(seen.missing))
    raise SourceError(NAME, Reason.TOO_LARGE, f"the guest names more files in each of {MOST_ROUNDS} rounds")


def _inside(seen: Snapshot) -> Snapshot:
    """A guest's look without virtual machines of its own.

    What it says of them would read like the host's: ``domain web1``, by libvirt's word.
    """
    missing = tuple(gap for gap in seen.missing if not gap.what.startswith("hypervisor."))
    return replace(seen, hypervisor=None, missing=missing)


def _said(error: SourceError) -> str:
    return error.detail if error.source == NAME else str(error)


def _view(snapshots: Sequence[Snapshot], expected_s: float | None) -> View:
    if len(snapshots) == 1:
        return rates.alone(snapshots[0])
    return rates.view(snapshots[0], snapshots[-1], expected_s=expected_s)


def _each_detail_once(missing: tuple[Missing, ...]) -> tuple[Missing, ...]:
    # Files that cannot be had in this way are told of once, and not for each of a hundred interrupts.
    told: set[str] = set()
    kept: list[Missing] = []
    for gap in missing:
        of_many = gap.reason is Reason.NOT_CAPTURED and gap.source.startswith("/")
        if not (of_many and gap.detail in told):
            kept.append(gap)
        told |= {gap.detail} if of_many else set()
    return tuple(kept)
