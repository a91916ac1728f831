"""The lines of ``perf script`` (tools/perf/builtin-script.c ``perf_sample__fprintf_start``, util/evsel_fprintf.c)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tuneagent.model.contention import Frame
from tuneagent.model.cpuset import MAX_CPUS
from tuneagent.parse.perf_names import Place, address_of, frame_of, module_of, place_of

MAX_LINE = 8192
"""Longer lines are nothing that perf prints."""
_MAX_COMM_WORDS = 32
_IDS = re.compile(r"-?[0-9]{1,10}(?:/-?[0-9]{1,10})?")
_CPU = re.compile(r"\[([0-9]{1,5})\]")
_MISC = re.compile(r"[A-Za-z-]{1,6}")
_TIME = re.compile(r"([0-9]{1,10})\.([0-9]{6}|[0-9]{9}):")
_MICROSECONDS = 6


@dataclass(frozen=True, slots=True)
class EventLine:
    """``comm pid/tid [cpu] time: period event: payload``; None for what was not printed."""

    comm: str
    tid: int
    cpu: int | None
    time_ns: int | None
    event: str
    payload: str


@dataclass(frozen=True, slots=True)
class FrameLine:
    """``address symbol+0x10 (object)``."""

    frame: Frame
    place: Place
    inlined: bool
    """No function of its own: perf read it from debug information."""


def event_line(line: str) -> EventLine | None:
    """The first line of an event; None for any other line.

    A command's name may hold blanks, brackets and numbers: the first place where a thread, and a CPU or a time, and an
    event follow one another is taken. One pass over the words, whatever they are.
    """
    if len(line) > MAX_LINE:
        return None
    words = line.split()
    for at in range(1, min(len(words) - 2, _MAX_COMM_WORDS) + 1):
        if _IDS.fullmatch(words[at]):
            found = _behind_ids(words, at)
            if found is not None:
                return found
    return None


def _behind_ids(words: list[str], ids: int) -> EventLine | None:
    at, cpu, time_ns = ids + 1, None, None
    match = _CPU.fullmatch(words[at])
    if match:
        at, cpu = at + 1, int(match[1])
    if len(words) > at + 1 and _MISC.fullmatch(words[at]) and _TIME.fullmatch(words[at + 1]):
        at += 1
    match = _TIME.fullmatch(words[at]) if at < len(words) else None
    if match:
        at, time_ns = at + 1, int(match[1]) * 10**9 + int(match[2]) * (1000 if len(match[2]) == _MICROSECONDS else 1)
    if (cpu is None and time_ns is None) or (cpu is not None and cpu >= MAX_CPUS):
        return None
    if at < len(words) and words[at].isdigit():
        at += 1
    if at >= len(words) or not _is_event(words[at]):
        return None
    tid = max(int(words[ids].rpartition("/")[2]), 0)
    return EventLine(" ".join(words[:ids]), tid, cpu, time_ns, words[at].removesuffix(":"), " ".join(words[at + 1 :]))


def _is_event(word: str) -> bool:
    return (word.endswith(":") and len(word) > 1) or word.startswith("PERF_RECORD_")


def frame_line(line: str) -> FrameLine | None:
    """One frame of a stack, or the only one, which stands behind its event; None for any other text."""
    if len(line) > MAX_LINE:
        return None
    word, _, rest = line.strip().partition(" ")
    address = address_of(word)
    if address is None:
        return None
    rest = rest.strip()
    if rest.endswith(" (inlined)"):
        return FrameLine(frame_of(rest.removesuffix(" (inlined)")), place_of(None, address), inlined=True)
    symbol, dso = _split(rest)
    place = place_of(dso, address)
    return FrameLine(frame_of(symbol, module_of(dso)), place, inlined=False)


def _split(rest: str) -> tuple[str, str | None]:
    """Symbol and object: the last bracket begins the object, unless it belongs to it: ``(/tmp/a (deleted))``."""
    if not rest.endswith(")"):
        return rest, None
    at = rest.rfind("(")
    if rest.endswith("))") and at > 0:
        at = rest.rfind("(", 0, at)
    return (rest[:at].strip(), rest[at + 1 : -1]) if at >= 0 else (rest, None)
