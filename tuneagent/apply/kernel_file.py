"""Values that are one file of the kernel: how they are read and written, and what a refusal of the kernel means."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

from tuneagent.apply.actuator import Defaults, Place, Refusal, Seen, Why
from tuneagent.apply.machine import Machine
from tuneagent.apply.shell import echo
from tuneagent.machine.reasons import RUN_AS_ROOT
from tuneagent.machine.source import Source
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.missing import Reason
from tuneagent.model.plan import TunableKind
from tuneagent.model.transaction import Effect, Lasts
from tuneagent.parse.lines import shown

Answer = tuple[Why, str, str | None]
"""What an errno means, in words for an operator, and what would help."""
_MAY_NOT = "this process may not write it: it is not root, or a sandbox or container withholds the right"
_NOT_HERE: Answer = (Why.GONE, "it is not there any more", None)
_BUSY: Answer = (Why.LATER, "the kernel is busy with it", None)
NO_RIGHT: Answer = (Why.FORBIDDEN, _MAY_NOT, RUN_AS_ROOT)
READ_ONLY: Answer = (
    Why.FORBIDDEN,
    "it is read-only for this process, by ProtectKernelTunables= of a systemd unit or in a container",
    "set ProtectKernelTunables=no for the unit, or run it on the machine itself and not in a container",
)
ANSWERS: Mapping[int, Answer] = {
    errno.EROFS: READ_ONLY,
    errno.EACCES: NO_RIGHT,
    errno.EPERM: NO_RIGHT,
    errno.ENOENT: _NOT_HERE,
    errno.ENOTDIR: _NOT_HERE,
    errno.ENODEV: _NOT_HERE,
    errno.ENXIO: _NOT_HERE,
    errno.EBUSY: _BUSY,
    errno.EAGAIN: _BUSY,
    errno.EOPNOTSUPP: (Why.FACT, "not supported by the driver", None),
    errno.EOVERFLOW: (Why.FAILED, "the value names a CPU beyond those that this kernel can have", None),
}
_FACT = "this kernel or device has no such setting"
_READ_ONLY_MODE = "the kernel lets nobody change it while it runs (its file is read-only)"


class KernelFile(Defaults):
    """An actuator whose value is the text of one file; ``Place.where`` is its path."""

    kinds: tuple[TunableKind, ...]
    lasts: Lasts = Lasts.BOOT
    answers: Mapping[int, Answer] = {}
    """What differs from ANSWERS."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def fault(self, value: str) -> str | None:
        """Why this is no value of the file at all; None where it is one."""
        raise NotImplementedError

    def check(self, place: Place, value: str) -> str | None:  # noqa: ARG002 - the protocol has the place
        """Whatever is no value of such a file."""
        return self.fault(value)

    def read(self, place: Place) -> str:
        """The text without the newline at its end."""
        try:
            text = self._machine.source.read(place.where).text.strip()
        except SourceError as error:
            if error.reason is Reason.ABSENT:
                raise self.absent(place) from error
            raise unreadable(error) from error
        wrong = self.fault(text)
        if wrong:
            raise Refusal(Why.FAILED, f"{place.where}: {wrong}")
        return text

    def write(self, place: Place, value: str) -> None:
        """One write of the whole; nothing is written that is no value of such a file."""
        wrong = self.fault(value)
        if wrong:
            raise Refusal(Why.FAILED, f"{place.where}: {wrong}; nothing was written")
        self._require_writable(place)
        try:
            self._machine.files.write_value(place.where, f"{value}\n")
        except OSError as error:
            raise self.refused(place, value, error) from error

    def refused(self, place: Place, value: str, error: OSError) -> Refusal:
        """The kernel's refusal to take a value, as what it means here."""
        if error.errno == errno.ENOENT:
            return self.absent(place)
        answer = self.answers.get(error.errno or 0) or ANSWERS.get(error.errno or 0)
        if answer is None:
            words = error.strerror or type(error).__name__
            return Refusal(Why.FAILED, f"{place.where}: the kernel does not take {shown(value)}: {words}")
        why, detail, remedy = answer
        return Refusal(why, f"{place.where}: {detail}", remedy)

    def absent(self, place: Place) -> Refusal:
        """A file that is not there: a fact where all around it is there, else the thing itself has gone.

        Some files are there and answer ENOENT to every read and write (net/core/net-sysfs.c xps_cpus_show()).
        """
        directory = place.where.rpartition("/")[0]
        try:
            self._machine.source.names(directory)
        except SourceError:
            return Refusal(Why.GONE, f"{place.where} is not there any more")
        return Refusal(Why.FACT, f"{place.where}: {_FACT}")

    def effect(self, place: Place, value: str, mark: Any) -> Seen:  # noqa: ARG002 - nothing has to be remembered
        """What the file says is what holds."""
        now = self.read(place)
        if self.same(now, value):
            return Seen(Effect.VERIFIED, f"it is {now}")
        return Seen(Effect.CONTRADICTED, f"{value} was written, and it is {now} now")

    def by_hand(self, place: Place, value: str) -> str:
        """``echo VALUE > FILE``."""
        return echo(value, place.where)

    def _require_writable(self, place: Place) -> None:
        """A mode without a write bit is the kernel's word that nobody may, and no write is tried."""
        try:
            writable = self._machine.source.writable_mode(place.where)
        except SourceError as error:
            if error.reason is Reason.ABSENT:
                raise self.absent(place) from error
            return  # the write will tell
        if not writable:
            raise self.fixed(place)

    def fixed(self, place: Place) -> Refusal:
        """That the file's mode has no write bit."""
        return Refusal(Why.FACT, f"{place.where}: {_READ_ONLY_MODE}")


def unreadable(error: SourceError) -> Refusal:
    """What a source's refusal to be read means."""
    if error.reason is Reason.ABSENT:
        return Refusal(Why.GONE, f"{error.source} is not there any more")
    why = Why.FORBIDDEN if error.reason is Reason.PERMISSION else Why.FAILED
    return Refusal(why, str(error), error.remedy)


def fault_of(parse: Any, value: str) -> str | None:
    """What a parser has against a value; None where it takes it."""
    try:
        parse(value)
    except ParseError as error:
        return error.detail
    return None


def number_in(source: Source, path: str) -> int | None:
    """The number in a file; None where there is none to be had."""
    try:
        text = source.read(path).text.strip()
    except SourceError:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


_MOST_DIGITS = 20
