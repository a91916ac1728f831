"""The QEMU guest agent: questions to a guest, whatever lies between, and bounds on everything it answers.

The protocol is JSON: ``{"execute": "guest-info", "arguments": {…}}`` is answered by ``{"return": …}`` or
``{"error": {"class": …, "desc": …}}`` (qga/qapi-schema.json of QEMU). Whoever is root in the guest writes the answers:
their number, size, depth and delay are bounded, and what they say is believed of that guest only.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tuneagent.machine.captured_json import CapturedJsonError, check_depth, decode
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

NAME = "guest agent"
LONGEST_CALL_S = 5
LONGEST_S = 60.0
"""All looks at a guest together: its host's report waits for it no longer, however slowly it answers.

A guest that answers nothing is given up after one call. Under emulation three looks took 30 s.
"""
MOST_BYTES = 8 * 1024 * 1024
"""Of all answers of one look, as they come: a guest of 64 CPUs and 500 interrupts needs about 1 MB."""
MOST_VALUES = 100_000
"""JSON values of one answer; guest-info has about 300."""
ALLOW = (
    "allow guest-exec, or guest-file-open, guest-file-read and guest-file-close, in the guest's agent: FILTER_RPC_ARGS "
    "(earlier BLOCK_RPCS or BLACKLIST_RPC) in /etc/sysconfig/qemu-ga of RHEL and Fedora, block-rpcs in "
    "/etc/qemu/qemu-ga.conf elsewhere; then restart qemu-guest-agent"
)

_COMMAND = re.compile(r"[a-z][a-z0-9-]{1,63}")
_REFUSED = re.compile(r"has been disabled|is disabled|not allowed|has not been found|CommandNotFound|CommandDisabled")
"""qapi/qmp-dispatch.c and its error classes, as the agent sends them and as libvirt repeats them."""
_LONGEST_QUOTE = 300
_BY_MESSAGE = {
    "No such file or directory": Reason.ABSENT,
    "No such device": Reason.ABSENT,
    "No such device or address": Reason.ABSENT,
    "Not a directory": Reason.ABSENT,
    "Permission denied": Reason.PERMISSION,
    "Operation not permitted": Reason.PERMISSION,
    "Invalid argument": Reason.UNSUPPORTED,
    "Operation not supported": Reason.UNSUPPORTED,
}
"""strerror(3) of both C libraries, in English."""

Exchange = Callable[[str, str, int], str]
"""A command's name, the request's text and the seconds to wait → the reply's text. Raises SourceError."""


class CommandFailedError(SourceError):
    """The agent tried and could not: this one file or program is not to be had, and the next may be."""


class Transport(Protocol):
    """A way to one guest's agent."""

    def ask(self, command: str, arguments: Mapping[str, Any]) -> Any:
        """The value of the reply's ``return``. SourceError without one; ends within :data:`LONGEST_CALL_S`."""
        ...


class JsonTransport:
    """The Transport that an exchange of JSON texts is."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def ask(self, command: str, arguments: Mapping[str, Any]) -> Any:
        """Sends one command and takes its reply apart."""
        request = {"execute": command} | ({"arguments": dict(arguments)} if arguments else {})
        return returned(command, self._exchange(command, json.dumps(request), LONGEST_CALL_S))


class GuestAgent:
    """A guest's agent within bounds: its looks share one time; the questions of each, from :meth:`begin`, one size."""

    def __init__(
        self,
        transport: Transport,
        *,
        now: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
        longest_s: float = LONGEST_S,
    ) -> None:
        self._transport = transport
        self._longest_s = longest_s
        self.now = now
        self.wait = wait
        self._used_s = 0.0
        self._began = self._last = now()
        self._bytes = 0

    def begin(self) -> None:
        """Starts a look: the time since the last answer, in which nothing was asked, does not count."""
        self._used_s += self._last - self._began
        self._began = self._last = self.now()
        self._bytes = 0

    def ask(self, command: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """The value that the guest gives back. SourceError when it refuses, lingers, or says too much."""
        self.require_time()
        try:
            value = self._transport.ask(command, arguments or {})
        finally:
            self._last = self.now()
        try:
            check_depth(value, "$")
        except CapturedJsonError as wrong:
            raise garbled(command, str(wrong)) from None
        self._bytes += _size(value, command)
        if self._bytes > MOST_BYTES:
            raise SourceError(NAME, Reason.TOO_LARGE, f"the guest answers more than {MOST_BYTES} bytes")
        return value

    def fields(self, command: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Like :meth:`ask`, for a command that gives an object."""
        value = self.ask(command, arguments)
        if not isinstance(value, dict):
            raise garbled(command, "an object is expected")
        return value

    def require_time(self) -> None:
        """SourceError once the looks have taken their time."""
        if self._used_s + self.now() - self._began >= self._longest_s:
            detail = f"the guest did not answer everything within {self._longest_s:g} s"
            raise SourceError(NAME, Reason.FAILED, detail, "look again when the guest is less busy")

    def commands(self) -> frozenset[str]:
        """The commands that the guest allows, by guest-info."""
        listed = self.fields("guest-info").get("supported_commands")
        if not isinstance(listed, list):
            raise garbled("guest-info", "supported_commands: a list is expected")
        entries = [one for one in listed if isinstance(one, dict) and one.get("enabled") is True]
        names = [one.get("name") for one in entries]
        return frozenset(name for name in names if isinstance(name, str) and _COMMAND.fullmatch(name))


def returned(command: str, text: str) -> Any:
    """The value of ``return`` in a reply's text. SourceError for an error, and for what is no reply."""
    if len(text) > MOST_BYTES:
        raise SourceError(NAME, Reason.TOO_LARGE, f"{command} is answered with more than {MOST_BYTES} bytes")
    try:
        reply = decode(text)
    except CapturedJsonError as wrong:
        raise garbled(command, str(wrong)) from None
    if isinstance(reply, dict) and "return" in reply:
        return reply["return"]
    if not isinstance(reply, dict) or not isinstance(reply.get("error"), dict):
        raise garbled(command, "neither a return nor an error in it")
    raise refused(command, f"{reply['error'].get('class')}: {reply['error'].get('desc')}")


def refused(command: str, said: str) -> SourceError:
    """The agent's own error: a command that it does not allow or does not have, or one that failed."""
    if _REFUSED.search(said[:4096]):
        return SourceError(NAME, Reason.PERMISSION, f"the guest's agent does not allow {command}", ALLOW)
    return CommandFailedError(NAME, Reason.FAILED, f"{command} failed in the guest: {quoted(said)}")


def failed(path: str, message: str) -> SourceError:
    """The error of one path, from a message that ends in what strerror(3) says."""
    known = next((one for one in _BY_MESSAGE if message == one or message.endswith(f": {one}")), None)
    detail = known or "could not be read"
    return SourceError(path, _BY_MESSAGE.get(detail, Reason.FAILED), f"{detail} (in the guest)")


def garbled(command: str, detail: str) -> SourceError:
    """The error of an answer that is none."""
    return SourceError(NAME, Reason.MALFORMED, f"the guest's answer to {command} is garbled: {quoted(detail)}")


def quoted(said: str) -> str:
    """What a guest said, for a message: one line of printable ASCII, and short."""
    shown = said[: _LONGEST_QUOTE + 1].encode("unicode_escape").decode("ascii")
    return shown if len(shown) <= _LONGEST_QUOTE else shown[: _LONGEST_QUOTE - 3] + "..."


def _size(value: Any, command: str) -> int:
    """About as many bytes as the value took in the reply; SourceError for more values than any command gives."""
    todo, seen, size = [value], 0, 0
    while todo:
        one = todo.pop()
        seen += 1
        size += len(one) if isinstance(one, str) else 8
        if isinstance(one, dict):
            size += sum(map(len, one))
            todo.extend(one.values())
        elif isinstance(one, list):
            todo.extend(one)
        if seen + len(todo) > MOST_VALUES:
            raise SourceError(NAME, Reason.TOO_LARGE, f"{command} is answered with more than {MOST_VALUES} values")
    return size
