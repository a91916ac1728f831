"""A NIC's queue interrupts banned in irqbalance's environment file, and irqbalance restarted to read it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tuneagent.apply import options_line, running_irqbalance
from tuneagent.apply.actuator import Defaults, Place, Refusal, Seen, Why
from tuneagent.apply.kernel_file import ANSWERS
from tuneagent.apply.machine import Machine
from tuneagent.apply.refused import refusal
from tuneagent.machine import service
from tuneagent.model.errors import SourceError
from tuneagent.model.irqbalance import IrqbalanceConfig
from tuneagent.model.missing import Reason
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts
from tuneagent.observe import irqbalance
from tuneagent.observe.gaps import Gaps
from tuneagent.parse.irqbalance_arguments import irqbalance_command
from tuneagent.parse.irqbalance_env import MAX_LENGTH
from tuneagent.parse.irqbalance_plain_line import plain_line

_MARK = re.compile(r"(?P<line>.*?) ?# bans (?P<bans>none|[0-9,]+) of (?P<of>[0-9,]+)")
_MEANT = re.compile(r"(?P<key>[A-Za-z_][A-Za-z0-9_]*)=(?P<of>[0-9]{1,10}(?:,[0-9]{1,10})*)")
MOST_LENGTH = 1 << 16


@dataclass(frozen=True, slots=True)
class _Handle:
    path: str
    key: str
    irqs: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Value:
    """A line, and which of the NIC's interrupts it bans; a plan's line says nothing of the latter."""

    line: str
    bans: frozenset[int] | None = None
    irqs: frozenset[int] | None = None

    @classmethod
    def of(cls, text: str) -> _Value:
        match = _MARK.fullmatch(text)
        if match is None:
            return cls(text.strip("\n"))
        bans = frozenset() if match["bans"] == "none" else _numbers(match["bans"])
        return cls(match["line"], bans, _numbers(match["of"]))

    def __str__(self) -> str:
        mark = f"# bans {_words(self.bans or ()) or 'none'} of {_words(self.irqs or ())}"
        return f"{self.line} {mark}" if self.line else mark

    def bans_of(self, irqs: frozenset[int]) -> frozenset[int]:
        if self.bans is not None:
            return self.bans
        return options_line.banned(self.line, self.line.partition("=")[0]) & irqs


class IrqbalanceBanFile(Defaults):
    """IRQBALANCE_BAN: the line that sets irqbalance's options, as far as it bans the interrupts of one NIC.

    What is read is the line and behind it, as a comment, what it bans of them: ``OPTIONS="-t 5" # bans none of 31,32``.
    A plan's value is the line alone. Two values are the same where they ban the same of the NIC's interrupts, whatever
    else the line says: others may have added to it, the ban of another NIC not least. Writing gives the file exactly
    the value's line where that says what is to stand there, byte for byte, and else changes these bans only.
    """

    kinds = (TunableKind.IRQBALANCE_BAN,)
    lasts = Lasts.STORED

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def locate(self, kind: TunableKind, target: Target) -> Place:  # noqa: ARG002 - it has one kind
        """The file; the target is completed by the variable and the NIC's interrupts of now, which are what is meant
        for good: after a reboot the numbers in the file are still those, and the NIC may have others.
        """
        config = self._config()
        key, irqs = _meant(target.parameter) or (config.options_key, self._queue_irqs(target))
        if not irqs:
            raise Refusal(Why.FACT, f"{target.interface} has no queue interrupts")
        return Place(config.path, replace(target, parameter=f"{key}={_words(irqs)}"), _Handle(config.path, key, irqs))

    def read(self, place: Place) -> str:
        """The line, without its end, and what it bans."""
        handle = _handle(place)
        line = _line(self._text(handle.path), handle)
        return str(_Value(line, options_line.banned(line, handle.key) & handle.irqs, handle.irqs))

    def check(self, place: Place, value: str) -> str | None:
        """Anything but one plain line that sets the variable, or none."""
        line, key = _Value.of(value).line, _handle(place).key
        if not line or (len(line) <= MOST_LENGTH and plain_line(line, key)[0] == line):
            return None
        return f"{line[:80]!r} is not one plain line that sets {key}"

    def same(self, one: str, other: str) -> bool:
        """Whether both ban the same of the NIC's interrupts."""
        values = (_Value.of(one), _Value.of(other))
        known = [value.irqs for value in values if value.irqs is not None]
        if not known:
            return one.strip() == other.strip()
        irqs = frozenset[int]().union(*known)
        return values[0].bans_of(irqs) == values[1].bans_of(irqs)

    def write(self, place: Place, value: str) -> None:
        """The file whole, and then a restart, where irqbalance runs as systemd's unit."""
        handle = _handle(place)
        text = self._text(handle.path)
        line = _line(text, handle)
        wanted = _wanted(line, _Value.of(value), handle)
        try:
            self._machine.files.replace(handle.path, _bytes(_with_line(text, line, wanted, handle)))
        except OSError as error:
            raise _refused(error, handle.path) from error
        if self._runs_by_systemd():
            self._restart()

    def previous(self, place: Place) -> str:
        """The whole file."""
        return self._text(_handle(place).path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")

    def effect(self, place: Place, value: str, mark: Any) -> Seen:  # noqa: ARG002 - the protocol has it
        """Whether the process that runs has the bans on its command line."""
        irqs = _handle(place).irqs
        if not self._machine.live:
            return Seen(Effect.NOT_YET, "a tree of files; irqbalance reads it when it starts")
        found = running_irqbalance.processes(self._machine)
        if not found:
            return Seen(Effect.NOT_YET, "irqbalance does not run now; it reads the file when it starts")
        wanted, process = _Value.of(value).bans_of(irqs), found[0]
        told = irqbalance_command(process.command).banned_irqs & irqs
        if wanted == told:
            bans = f"bans {_words(wanted)}" if wanted else "bans none of them"
            return Seen(Effect.VERIFIED, f"irqbalance (pid {process.pid}) {bans} by its command line")
        if not self._runs_by_systemd():
            return Seen(
                Effect.NOT_YET,
                f"irqbalance (pid {process.pid}) runs outside {irqbalance.UNIT}: restart it where it was started",
            )
        return Seen(
            Effect.CONTRADICTED,
            f"irqbalance (pid {process.pid}) was started without what {place.where} says: its unit reads another file "
            f"or variable; `systemctl cat {irqbalance.UNIT}` shows which",
        )

    def settle(self, place: Place) -> None:
        """A restart where the process that runs was started before the file became what it is."""
        handle = _handle(place)
        try:
            self._machine.files.tidy(handle.path)
        except OSError as error:
            raise _refused(error, handle.path) from error
        if not self._runs_by_systemd():
            return
        written = options_line.banned(_line(self._text(handle.path), handle), handle.key) & handle.irqs
        found = running_irqbalance.processes(self._machine)
        if any(irqbalance_command(process.command).banned_irqs & handle.irqs != written for process in found):
            self._restart()

    def by_hand(self, place: Place, value: str) -> str:
        """An editor and a restart: the line may have got more words since."""
        line = _Value.of(value).line or f"no line {_handle(place).key}="
        return f"edit {place.where}: {line}; then systemctl restart {irqbalance.UNIT}"

    def _config(self) -> IrqbalanceConfig:
        config = irqbalance.observe(Gaps(self._machine.source)).config
        if config is None:
            raise Refusal(Why.GONE, "there is no configuration file of irqbalance; none is created")
        if config.unreadable is not None:
            raise Refusal(Why.FAILED, f"{config.path}: {config.unreadable}")
        return config

    def _queue_irqs(self, target: Target) -> frozenset[int]:
        lookup = self._machine.lookup
        return frozenset(line.irq for line in lookup.queue_irqs(lookup.nic(target)))

    def _text(self, path: str) -> str:
        try:
            return self._machine.files.read_bytes(path, MAX_LENGTH).decode("utf-8", "surrogateescape")
        except OSError as error:
            raise _refused(error, path) from error

    def _runs_by_systemd(self) -> bool:
        if not self._machine.live:
            return False
        try:
            return service.look(irqbalance.UNIT).active in {"active", "reloading"}
        except SourceError as error:
            if error.reason is Reason.ABSENT:
                return False
            raise refusal(error) from None

    def _restart(self) -> None:
        try:
            service.restart(irqbalance.UNIT)
        except SourceError as error:
            raise refusal(error) from None


def _handle(place: Place) -> _Handle:
    handle = place.handle
    assert isinstance(handle, _Handle)  # noqa: S101 - made in locate()
    return handle


def _meant(parameter: str | None) -> tuple[str, frozenset[int]] | None:
    match = _MEANT.fullmatch(parameter or "")
    return (match["key"], _numbers(match["of"])) if match is not None else None


def _line(text: str, handle: _Handle) -> str:
    """The one line that sets the variable; empty where none does. Refusal where only a hand can tell."""
    line, obstacle = plain_line(text, handle.key)
    if line is not None:
        return line
    if re.search(rf"^\s*(?:export\s+)?{re.escape(handle.key)}=", text, re.MULTILINE) is None:
        return ""
    raise Refusal(Why.FAILED, f"only a hand can edit {handle.path}: {obstacle}")


def _wanted(line: str, value: _Value, handle: _Handle) -> str:
    """What the line is to be."""
    bans, now = value.bans_of(handle.irqs), options_line.banned(line, handle.key) & handle.irqs
    changed = options_line.edited(line, handle.key, without=sorted(now - bans), more=sorted(bans - now))
    literal = options_line.words(changed, handle.key) == options_line.words(value.line, handle.key)
    return value.line if literal else changed


def _with_line(text: str, line: str, wanted: str, handle: _Handle) -> str:
    lines = text.split("\n")
    if line:
        at = lines.index(line)
        lines[at : at + 1] = [wanted] if wanted else []
        return "\n".join(lines)
    obstacle = plain_line(text, None)[1]
    if obstacle is not None:
        raise Refusal(Why.FAILED, f"only a hand can add to {handle.path}: {obstacle}")
    return f"{text}{wanted}\n" if wanted else text


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _refused(error: OSError, path: str) -> Refusal:
    why, words, remedy = ANSWERS.get(error.errno or 0, (Why.FAILED, error.strerror or str(error), None))
    if why is Why.FORBIDDEN:
        words, remedy = error.strerror or words, "run as root, where its file system can be written"
    return Refusal(why, f"{path}: {words}", remedy)


def _numbers(text: str) -> frozenset[int]:
    return frozenset(int(word) for word in text.split(",") if word and len(word) <= 10)  # noqa: PLR2004 - of an u32


def _words(irqs: Iterable[int]) -> str:
    return ",".join(map(str, sorted(irqs)))
