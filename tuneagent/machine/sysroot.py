"""Files below a root: of the running machine, or of a tree captured from another one."""

from __future__ import annotations

import errno
import functools
import os
import re
import stat
import time
from collections.abc import Callable
from typing import Any, TypeVar

from tuneagent.machine import processes, rooted
from tuneagent.machine.captured_json import CapturedJsonError, count, decode, inside, mapping
from tuneagent.machine.natural import natural
from tuneagent.machine.reasons import RUN_AS_ROOT, source_error
from tuneagent.machine.sample import clock_of, error_of, processes_key, processes_of
from tuneagent.machine.source import Captured, Process, Text
from tuneagent.model.clock import Clock
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_NAMES = 1 << 18
CLOCK = "/captured/clock.json"
ERRORS = "/captured/errors.json"
PROCESSES = "/captured/processes.json"

_FIRST_CHUNK = 1 << 12
_CHUNK = 1 << 17
_CAPTURED_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")

T = TypeVar("T")


class Sysroot:
    """The Source that a directory is. ``/`` is the running machine's files; another root is a captured tree.

    A tree may hold, beside ``proc/``, ``sys/`` and ``etc/``:

    - ``captured/NAME.json``: what a source that is no file said;
    - ``captured/clock.json``: ``{"monotonic_ns", "boottime_ns", "realtime_ns", "read_at_ns": {path or NAME: ns}}``;
    - ``captured/processes.json``: ``{"irqbalance,tuned": [{"pid", "name", "command"}]}``; else ``proc/PID`` is read;
    - ``captured/errors.json``: ``{"files" | "directories" | … | "processes": {path: error}}`` with the errors of the
      capture, in the shape of tuneagent.machine.sample. They win over what lies in the tree.

    Nothing in a tree leads out of it, and nothing but regular files is opened.
    """

    def __init__(self, root: str = "/") -> None:
        self.root = os.path.abspath(root)
        self._live = self.root.strip("/") == ""

    def read(self, path: str) -> Text:
        """The text of a regular file, of at most 16 MiB."""
        return self._answer("files", path, self._read)

    def names(self, path: str) -> tuple[str, ...]:
        """The names in a directory, at most 262,144, in natural order."""
        return self._answer("directories", path, self._names)

    def link(self, path: str) -> str:
        """Where a link leads; the last part of it need not exist."""
        return self._answer("links", path, self._link)

    def writable_mode(self, path: str) -> bool:
        """Whether the file's owner may write it."""
        return self._answer("modes", path, lambda path: bool(self._mode(path) & stat.S_IWUSR))

    def captured(self, name: str) -> Captured:
        """The value in ``captured/NAME.json``; of the running machine nothing is captured."""
        file = f"/captured/{name}.json"
        if self._live or not _CAPTURED_NAME.fullmatch(name):
            raise _not_captured(name)
        self._raise_recorded("captured", name)
        try:
            return Captured(self._document(file), self._read_at.get(name))
        except (FileNotFoundError, NotADirectoryError):
            raise _not_captured(name) from None
        except CapturedJsonError as error:
            raise SourceError(name, Reason.MALFORMED, f"{file[1:]}: {error}") from None
        except OSError as error:
            raise source_error(name, error) from None

    def processes(self, names: frozenset[str]) -> tuple[Process, ...]:
        """The processes with one of these names, by pid."""
        if self._live:
            return processes.running(self, names, None if os.geteuid() == 0 else RUN_AS_ROOT)
        self._raise_recorded("processes", processes_key(names))
        try:
            answers = mapping(self._document(PROCESSES), "$")
            key = processes_key(names)
            return processes_of(answers[key], inside("$", key))
        except (FileNotFoundError, NotADirectoryError, KeyError):
            return processes.captured(self, names)
        except CapturedJsonError as error:
            raise SourceError(PROCESSES, Reason.MALFORMED, str(error)) from None
        except OSError as error:
            raise source_error(PROCESSES, error) from None

    def clock(self) -> Clock | None:
        """The time now, or that in ``captured/clock.json``; SourceError where that file is not what it must be."""
        if self._live:
            return now()
        try:
            return self._clock_file[0]
        except CapturedJsonError as error:
            raise SourceError(CLOCK, Reason.MALFORMED, str(error)) from None
        except OSError as error:
            raise source_error(CLOCK, error) from None

    def _answer(self, section: str, path: str, ask: Callable[[str], T]) -> T:
        if not self._live:
            self._raise_recorded(section, path)
        try:
            return ask(path)
        except OSError as error:
            raise source_error(path, error) from None
        except ValueError:  # a NUL, or half a surrogate pair: names out of captured JSON may hold either
            raise SourceError(path, Reason.FAILED, "no path of a file system") from None

    def _read(self, path: str) -> Text:
        fd = self._open(path)
        try:
            mode = os.fstat(fd).st_mode
            if not stat.S_ISREG(mode):
                rooted.refuse_special(mode)
            read_at_ns = time.monotonic_ns() if self._live else self._read_at.get(path)
            return Text(_read_all(fd, path).decode("utf-8", "backslashreplace"), read_at_ns)
        finally:
            os.close(fd)

    def _open(self, path: str) -> int:
        if self._live:
            return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        return rooted.open_file(self.root, path)

    def _names(self, path: str) -> tuple[str, ...]:
        if self._live:
            return natural(_listed(path, path))
        fd = rooted.open_directory(self.root, path)
        try:
            return natural(_listed(fd, path))
        finally:
            os.close(fd)

    def _link(self, path: str) -> str:
        try:
            if not self._live:
                return rooted.resolve_link(self.root, path)
            os.readlink(path)
            return os.path.realpath(path)
        except OSError as error:
            if error.errno == errno.EINVAL:
                raise SourceError(path, Reason.ABSENT, "not a symbolic link") from None
            raise

    def _mode(self, path: str) -> int:
        return os.stat(path).st_mode if self._live else rooted.mode(self.root, path)

    def _document(self, path: str) -> Any:
        fd = rooted.open_file(self.root, path)
        try:
            rooted.refuse_special(os.fstat(fd).st_mode)
            return decode(_read_all(fd, path).decode("utf-8", "backslashreplace"))
        finally:
            os.close(fd)

    @functools.cached_property
    def _clock_file(self) -> tuple[Clock | None, dict[str, int]]:
        try:
            fields = mapping(self._document(CLOCK), "$")
        except (FileNotFoundError, NotADirectoryError):
            return None, {}
        times = mapping(fields.pop("read_at_ns", {}), "$.read_at_ns")
        read_at = {path: count(value, inside("$.read_at_ns", path)) for path, value in times.items()}
        return clock_of(fields or None, "$"), read_at

    @functools.cached_property
    def _read_at(self) -> dict[str, int]:
        try:
            return self._clock_file[1]
        except (CapturedJsonError, SourceError, OSError):
            return {}  # clock() says what is wrong; the files are good without it

    @functools.cached_property
    def _recorded(self) -> dict[str, dict[str, Any]] | CapturedJsonError | SourceError:
        # A file that is no good is remembered as that: reading it again for every question would take minutes.
        try:
            sections = mapping(self._document(ERRORS), "$")
            return {name: mapping(value, inside("$", name)) for name, value in sections.items()}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (CapturedJsonError, SourceError) as wrong:
            return wrong
        except OSError as wrong:
            return source_error(ERRORS, wrong)

    def _raise_recorded(self, section: str, path: str) -> None:
        recorded = self._recorded
        if isinstance(recorded, SourceError):
            raise SourceError(path, recorded.reason, f"{ERRORS[1:]}: {recorded.detail}")
        if isinstance(recorded, CapturedJsonError):
            raise SourceError(path, Reason.MALFORMED, f"{ERRORS[1:]}: {recorded}")
        try:
            value = recorded.get(section, {}).get(path)
            error = error_of(value, path, inside(inside("$", section), path))
        except CapturedJsonError as wrong:
            raise SourceError(path, Reason.MALFORMED, f"{ERRORS[1:]}: {wrong}") from None
        if error is not None:
            raise error


def now() -> Clock:
    """The three clocks of the running machine."""
    return Clock(
        time.clock_gettime_ns(time.CLOCK_MONOTONIC),
        time.clock_gettime_ns(time.CLOCK_BOOTTIME),
        time.clock_gettime_ns(time.CLOCK_REALTIME),
    )


def _read_all(fd: int, path: str) -> bytes:
    """To the end: files of /proc give less than was asked for while more is to come."""
    chunk = os.read(fd, _FIRST_CHUNK)
    if not (chunk and (more := os.read(fd, _FIRST_CHUNK))):
        return chunk  # nearly every file of /proc and /sys, by the ten thousand on a hypervisor
    chunks = [chunk, more]
    size = len(chunk) + len(more)
    while chunk := os.read(fd, _CHUNK):
        size += len(chunk)
        if size > MAX_FILE_BYTES:
            raise SourceError(path, Reason.TOO_LARGE, f"larger than {MAX_FILE_BYTES} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _listed(directory: str | int, path: str) -> list[str]:
    names: list[str] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if len(names) == MAX_NAMES:
                raise SourceError(path, Reason.TOO_LARGE, f"more than {MAX_NAMES} names")
            names.append(_shown(entry.name))
    return names


def _shown(name: str) -> str:
    """A name whose bytes are not UTF-8 comes escaped, as a text does; nothing in /proc or /sys needs it."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "backslashreplace")


def _not_captured(name: str) -> SourceError:
    return SourceError(name, Reason.NOT_CAPTURED, "not captured: this source is no file")
