"""Hundreds of a guest's files in a handful of commands: grep for texts, find for directories and modes, realpath.

Only GNU grep and find can separate what they print by NUL; :func:`usable` finds out. An answer is kept only for a path
that was asked for, so that a guest can tell of nothing else.

``grep -Z ""`` prints each line after its file's name and a NUL, which keeps the files apart as cat would not. A file of
which it prints nothing is in its errors, or is empty.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from tuneagent.machine import guest_exec
from tuneagent.machine.guest_agent import NAME, CommandFailedError, GuestAgent, failed
from tuneagent.machine.guest_answers import Answers, Wanted
from tuneagent.machine.guest_clock import UPTIME, clock_of
from tuneagent.machine.natural import natural
from tuneagent.machine.source import Text
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

MOST_PATHS_A_COMMAND = 1_000
MOST_BYTES_A_COMMAND = 100_000
"""Below MAX_ARG_STRLEN and far below what libvirt passes on; JSON escapes none of these paths."""
MOST_NAMES = 1 << 16

_GREP = ("-aZH", "-D", "skip", "", "--")
_LISTED = ("-maxdepth", "1", "-printf", r"%H\0%P\0%y\0%m\0")
_LINKED = ("-maxdepth", "0", "-type", "l", "-printf", r"%p\0")
_FIRST = re.compile(r"/proc/(interrupts|softirqs|stat|net/)|.*/statistics/")
"""What counts: read right after the clock, and together."""
_LONGEST_NAME = 255  # NAME_MAX


def usable(agent: GuestAgent) -> bool:
    """Whether the guest has a grep and a find that separate by NUL. SourceError when it may not be asked."""
    probe = "/proc/sys/kernel/ostype"
    try:
        grep = guest_exec.run(agent, "grep", (*_GREP, probe)).out
        found = guest_exec.run(agent, "find", ("-H", probe, *_LISTED)).out
    except CommandFailedError:
        return False
    return grep == f"{probe}\0Linux\n".encode() and found.startswith(f"{probe}\0\0f\0".encode())


def fetch(agent: GuestAgent, wanted: Wanted) -> Answers:
    """The answers of one moment to all questions. SourceError when the guest does not play by the rules."""
    answers = _refused(wanted)
    for paths in _chunks(sorted(_askable(wanted.files), key=lambda path: not _FIRST.match(path))):
        _read(agent, paths, answers)
    for paths in _chunks(dict.fromkeys([*_askable(wanted.directories), *_askable(wanted.modes)])):
        _list(agent, paths, wanted, answers)
    for paths in _chunks(_askable(wanted.links)):
        _resolve(agent, paths, answers)
    return answers


def _askable(paths: Iterable[str]) -> Iterator[str]:
    # Names from the guest become parts of paths: what is no plain path is never sent back. A name cannot be an option
    # or a part of find's expression either, since every path begins with a slash.
    return filter(_is_plain, paths)


def _is_plain(path: str) -> bool:
    return path.startswith("/") and path.isascii() and path.isprintable()


def _refused(wanted: Wanted) -> Answers:
    """The answers to questions that are not sent, so that nobody asks them again."""

    def errors(paths: Iterable[str]) -> dict[str, Any]:
        odd = (path for path in paths if not _is_plain(path))
        return {path: SourceError(path, Reason.MALFORMED, "no path that a guest is asked for") for path in odd}

    return Answers(None, *map(errors, (wanted.files, wanted.directories, wanted.links, wanted.modes)))


def _chunks(paths: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    size = 0
    for path in paths:
        if chunk and (len(chunk) == MOST_PATHS_A_COMMAND or size + len(path) > MOST_BYTES_A_COMMAND):
            yield chunk
            chunk, size = [], 0
        chunk.append(path)
        size += len(path) + 1
    if chunk:
        yield chunk


def _read(agent: GuestAgent, paths: list[str], answers: Answers) -> None:
    output = guest_exec.run(agent, "grep", (*_GREP, UPTIME, *paths))
    realtime_ns = time.time_ns()
    asked = {path.encode(): path for path in (UPTIME, *paths)}
    lines: dict[str, list[bytes]] = {}
    for line in output.out.split(b"\n")[:-1]:
        name, _, rest = line.partition(b"\0")
        if name in asked:
            lines.setdefault(asked[name], []).append(rest)
    texts = {path: _text(found) for path, found in lines.items()}
    clock = clock_of(texts.get(UPTIME, ""), realtime_ns)
    answers.clock = answers.clock or clock
    errors = _errors(output.err, r"grep: (/.*): ([^:]*)")
    for path in paths:
        text = texts.get(path)
        error = None if text is not None else errors.get(path)
        answers.files[path] = error or Text(text or "", clock.monotonic_ns)


def _text(lines: list[bytes]) -> str:
    text = b"\n".join([*lines, b""]).decode("utf-8", "backslashreplace")
    # grep ends each line, and the words of a command line or of a device tree end in a NUL and no line.
    return text[:-1] if text.endswith("\0\n") else text


def _errors(err: bytes, pattern: str) -> dict[str, SourceError]:
    """Errors by path, from messages such as ``grep: PATH: Permission denied``."""
    errors: dict[str, SourceError] = {}
    for line in err.decode("ascii", "backslashreplace").split("\n"):
        match = re.fullmatch(pattern, line)
        if match is not None:
            errors[match[1]] = failed(match[1], match[2])
    return errors


def _list(agent: GuestAgent, paths: list[str], wanted: Wanted, answers: Answers) -> None:
    output = guest_exec.run(agent, "find", ("-H", *paths, *_LISTED))
    fields = output.out.decode("utf-8", "backslashreplace").split("\0")
    names: dict[str, list[str]] = {}
    kinds: dict[str, tuple[str, str]] = {}
    for start, name, kind, mode in zip(*[iter(fields)] * 4, strict=False):
        if name:
            names.setdefault(start, []).append(name)
        else:
            kinds[start] = (kind, mode)
        if len(names.get(start, ())) > MOST_NAMES:
            raise SourceError(NAME, Reason.TOO_LARGE, f"more than {MOST_NAMES} names in a directory of the guest")
    errors = _errors(output.err, r"find: '?(/.*?)'?: ([^:]*)")
    for path in paths:
        error = errors.get(path) or failed(path, "No such file or directory")
        kind, mode = kinds.get(path, ("", ""))
        if path in wanted.directories:
            entries = natural(name for name in names.get(path, ()) if _is_name(name))
            answers.directories[path] = (
                error if not kind else entries if kind == "d" else failed(path, "Not a directory")
            )
        if path in wanted.modes:
            answers.modes[path] = bool(int(mode, 8) & 0o200) if re.fullmatch("[0-7]{1,6}", mode) else error


def _is_name(name: str) -> bool:
    return name not in (".", "..") and "/" not in name and len(name) <= _LONGEST_NAME


def _resolve(agent: GuestAgent, paths: list[str], answers: Answers) -> None:
    output = guest_exec.run(agent, "find", (*paths, *_LINKED)).out.decode("ascii", "backslashreplace")
    found = set(output.split("\0"))
    links = [path for path in paths if path in found]
    for path in paths:
        answers.links[path] = SourceError(path, Reason.ABSENT, "not a symbolic link (in the guest)")
    if links:
        answers.links |= _targets(agent, links)


def _targets(agent: GuestAgent, links: list[str]) -> dict[str, str | SourceError]:
    # -m resolves what is there and takes the rest as written: one answer for each link, in their order.
    output = guest_exec.run(agent, "realpath", ("-mz", "--", *links)).out
    ends = [-1, *(index for index, byte in enumerate(output) if byte == 0)]
    targets = [output[start + 1 : end].decode("utf-8", "backslashreplace") for start, end in pairwise(ends)]
    if len(targets) != len(links):
        # A link to itself, or one that went meanwhile: which of the answers is missing cannot be told.
        return {path: SourceError(path, Reason.FAILED, "could not be resolved (in the guest)") for path in links}
    return {
        path: target if target.startswith("/") else SourceError(path, Reason.MALFORMED, "no absolute path")
        for path, target in zip(links, targets, strict=True)
    }
