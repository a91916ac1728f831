"""The shape of a sample: every answer that a Source gave, as JSON values, with the errors among them.

::

    {"clock": {"monotonic_ns": …, "boottime_ns": …, "realtime_ns": …} | null,
     "files": {path: {"text": …, "read_at_ns": … | null}},
     "directories": {path: [name, …]}, "links": {path: target}, "modes": {path: true | false},
     "captured": {name: {"value": …, "read_at_ns": … | null}},
     "processes": {"irqbalance,tuned": [{"pid": …, "name": …, "command": [word, …]}]}}

The key of ``processes`` is the names asked for, in order.

Any answer may be an error instead: ``{"error": reason, "detail": …, "remedy": … | null}``.
"""

from __future__ import annotations

from typing import Any

from tuneagent.machine.captured_json import CapturedJsonError, check_depth, count, inside, mapping, text
from tuneagent.machine.source import Captured, Process, Text
from tuneagent.model.clock import Clock
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

SECTIONS = ("files", "directories", "links", "modes", "captured", "processes")
CAPTURED = "/captured"
"""Where a tree keeps the answers of sources that are no files."""
MAX_PID = 2**31 - 1


def error_value(error: SourceError) -> dict[str, Any]:
    """An error as a JSON value."""
    return {"error": error.reason.value, "detail": error.detail, "remedy": error.remedy}


def clock_value(clock: Clock | None) -> dict[str, int] | None:
    """A clock as a JSON value."""
    if clock is None:
        return None
    return {
        "monotonic_ns": clock.monotonic_ns,
        "boottime_ns": clock.boottime_ns,
        "realtime_ns": clock.realtime_ns,
    }


def clock_of(value: Any, path: str) -> Clock | None:
    """A clock from a JSON value; None from null. Raises CapturedJsonError."""
    if value is None:
        return None
    fields = mapping(value, path)
    names = ("monotonic_ns", "boottime_ns", "realtime_ns")
    monotonic, boottime, realtime = (count(fields.get(name), inside(path, name)) for name in names)
    return Clock(monotonic, boottime, realtime)


def error_of(value: Any, source: str, path: str) -> SourceError | None:
    """The error that stands in place of an answer; None where there is an answer. Raises CapturedJsonError."""
    if not isinstance(value, dict) or "error" not in value:
        return None
    word = text(value["error"], inside(path, "error"))
    if word not in set(Reason):
        raise CapturedJsonError(inside(path, "error"), f"{word!r:.40} is no reason; one of {', '.join(Reason)}")
    detail = text(value.get("detail"), inside(path, "detail"))
    remedy = value.get("remedy")
    return SourceError(source, Reason(word), detail, None if remedy is None else text(remedy, inside(path, "remedy")))


def text_of(value: Any, path: str) -> Text:
    """A file's answer."""
    fields = mapping(value, path)
    return Text(text(fields.get("text"), inside(path, "text")), _read_at(fields, path))


def captured_of(value: Any, path: str) -> Captured:
    """A captured source's answer."""
    fields = mapping(value, path)
    if "value" not in fields:
        raise CapturedJsonError(path, "has no value")
    check_depth(fields["value"], inside(path, "value"))
    return Captured(fields["value"], _read_at(fields, path))


def names_of(value: Any, path: str) -> tuple[str, ...]:
    """A directory's answer. A name is one name: no path, not ``.`` or ``..``."""
    if not isinstance(value, list):
        raise CapturedJsonError(path, "an array of names is expected")
    return tuple(_name(item, f"{path}[{index}]") for index, item in enumerate(value))


def _name(value: Any, path: str) -> str:
    name = text(value, path)
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise CapturedJsonError(path, f"{name!r:.40} is no name of a directory entry")
    return name


def link_of(value: Any, path: str) -> str:
    """A link's answer: an absolute path."""
    target = text(value, path)
    if not target.startswith("/"):
        raise CapturedJsonError(path, f"{target!r:.40} is no absolute path")
    return target


def mode_of(value: Any, path: str) -> bool:
    """Whether a file can be written."""
    if not isinstance(value, bool):
        raise CapturedJsonError(path, "true or false is expected")
    return value


def processes_key(names: frozenset[str]) -> str:
    """The names asked for as one key."""
    return ",".join(sorted(names))


def process_value(process: Process) -> dict[str, Any]:
    """A process as a JSON value."""
    return {"pid": process.pid, "name": process.name, "command": list(process.command)}


def processes_of(value: Any, path: str) -> tuple[Process, ...]:
    """The answer to a question for processes."""
    if not isinstance(value, list):
        raise CapturedJsonError(path, "an array of processes is expected")
    return tuple(_process(item, f"{path}[{index}]") for index, item in enumerate(value))


def _process(value: Any, path: str) -> Process:
    fields = mapping(value, path)
    pid, words = count(fields.get("pid"), inside(path, "pid")), fields.get("command")
    if not 0 < pid <= MAX_PID:
        raise CapturedJsonError(inside(path, "pid"), "no process id")
    if not isinstance(words, list):
        raise CapturedJsonError(inside(path, "command"), "an array of words is expected")
    command = tuple(text(word, f"{path}.command[{index}]") for index, word in enumerate(words))
    return Process(pid, text(fields.get("name"), inside(path, "name")), command)


def _read_at(fields: dict[str, Any], path: str) -> int | None:
    value = fields.get("read_at_ns")
    return None if value is None else count(value, inside(path, "read_at_ns"))
