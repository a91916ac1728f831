"""/proc/lock_stat (kernel/locking/lockdep_proc.c ``lock_stat_show``, Documentation/locking/lockstat.rst)."""

from __future__ import annotations

import re
from dataclasses import replace

from tuneagent.model.contention import LockClass, LockStat
from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import natural, numbered, shown, single

_VERSION = re.compile(r"lock_stat version ([0-9]{1,4}\.[0-9]{1,4})")
_TIME = re.compile(r"[0-9]{1,20}\.[0-9]{2}")
_COUNTS = ("contentions", "con-bounces", "acquisitions", "acq-bounces")
_TIMES = ("waittime-min", "waittime-max", "waittime-total", "holdtime-min", "holdtime-max", "holdtime-total")
_AVERAGES = ("waittime-avg", "holdtime-avg")
_MAX_COLUMNS = 64
_MAX_CLASSES = 65_536
_MAX_POINTS = 64
_MAX_NAME = 512

_Lines = list[tuple[int, str]]


def parse(text: str) -> LockStat:
    """All classes in their order, without knowing whether the kernel counts now: see ``enabled``.

    Columns go by the names of the header, so that a version of later kernels is read where it still has those of 0.3.
    ParseError with the line: another file, a column missing, a row with fewer or more numbers than columns, a row that
    is cut off; EMPTY for nothing.
    """
    lines = numbered(text)
    version = _VERSION.fullmatch(lines[0][1])
    if version is None:
        raise ParseError(f"not a table of lock_stat: {shown(lines[0][1])}", lines[0][0])
    warning = any(line.startswith("*WARNING*") for _, line in lines[1:3])
    head = next((at for at, (_, line) in enumerate(lines[:8]) if line.startswith("class name")), None)
    if head is None:
        raise ParseError(f"version {version[1]} without a line of column names", lines[-1][0])
    return LockStat(version[1], None, warning, _classes(_columns(*lines[head], version[1]), lines[head + 1 :]))


def enabled(text: str) -> bool:
    """/proc/sys/kernel/lock_stat: whether the kernel counts now. Switched off, zeros and old values say nothing."""
    word = single(text)
    if word not in {"0", "1"}:
        raise ParseError(f"{shown(word)} is neither 0 nor 1", 1)
    return word == "1"


def _columns(number: int, line: str, version: str) -> list[str]:
    columns = line.removeprefix("class name").split()
    if len(columns) > _MAX_COLUMNS or len(set(columns)) < len(columns):
        raise ParseError(f"version {version} names a column twice, or more than {_MAX_COLUMNS}", number)
    lacking = [name for name in (*_COUNTS, *_TIMES) if name not in columns]
    if lacking:
        raise ParseError(f"version {version} has no column {lacking[0]}", number)
    return columns


def _classes(columns: list[str], lines: _Lines) -> tuple[LockClass, ...]:
    classes: list[LockClass] = []
    blocks: list[list[tuple[str, int]]] = []
    first = 0
    for number, line in lines:
        if set(line) <= {"-"}:
            blocks.append([])
        elif set(line) <= {"."} or _is_point(line):
            _keep_point(line, number, blocks, named=first < len(classes))
        else:
            if blocks:
                classes[first:] = _with_points(classes[first:], blocks)
                first, blocks = len(classes), []
            classes.append(_class(columns, line, number))
        if len(classes) > _MAX_CLASSES:
            raise ParseError(f"more than {_MAX_CLASSES} classes", number)
    classes[first:] = _with_points(classes[first:], blocks)
    return tuple(classes)


def _is_point(line: str) -> bool:
    return "[<" in line


def _keep_point(line: str, number: int, blocks: list[list[tuple[str, int]]], *, named: bool) -> None:
    """``name  count  [<address>] symbol+0x1/0x2``: no class, though it begins with a class's name."""
    if not _is_point(line):
        return
    if not named or not blocks:
        raise ParseError("a contention point without its class", number)
    before, _, place = line.rpartition("[<")
    _, _, symbol = place.partition(">]")
    words = before.rsplit(None, 1)
    if not symbol.strip() or not words:
        raise ParseError(f"{shown(line)} is no contention point: a count and a place are expected", number)
    if len(blocks[-1]) >= _MAX_POINTS or len(symbol) > _MAX_NAME:
        raise ParseError(f"more than {_MAX_POINTS} contention points, or one of more than {_MAX_NAME} letters", number)
    blocks[-1].append((symbol.strip(), natural(words[-1], number)))


def _with_points(classes: list[LockClass], blocks: list[list[tuple[str, int]]]) -> list[LockClass]:
    # The line above the classes is a separator too, so the last two blocks are meant. One block alone is the first
    # kind: kernels print the places that waited before those that held.
    kept = [block for block in blocks if block]
    points = tuple(kept[0]) if kept else ()
    holders = tuple(kept[1]) if len(kept) > 1 else ()
    return [replace(each, points=points, holders=holders) for each in classes] if kept else classes


def _class(columns: list[str], line: str, number: int) -> LockClass:
    # A name may hold colons and blanks; numbers hold no colon, but fourteen digits touch it.
    name, colon, rest = line.rpartition(":")
    words = rest.split(None, _MAX_COLUMNS + 1)
    name = name.strip()
    if not colon or not name or len(name) > _MAX_NAME:
        raise ParseError(f"{shown(line)} is no lock class: a name and a colon are expected", number)
    if len(words) != len(columns):
        raise ParseError(f"{shown(name)} has {len(words)} numbers for {len(columns)} columns", number)
    row = dict(zip(columns, words, strict=True))
    contentions, con_bounces, acquisitions, acq_bounces = (natural(row[column], number) for column in _COUNTS)
    wait_min, wait_max, wait_total, hold_min, hold_max, hold_total = (_us(row[column], number) for column in _TIMES)
    wait_avg, hold_avg = (_us(row[column], number) if column in row else None for column in _AVERAGES)
    return LockClass(
        name,
        contentions,
        con_bounces,
        wait_min,
        wait_max,
        wait_total,
        wait_avg,
        acquisitions,
        acq_bounces,
        hold_min,
        hold_max,
        hold_total,
        hold_avg,
        (),
    )


def _us(word: str, number: int) -> float:
    if _TIME.fullmatch(word) is None:
        raise ParseError(f"{shown(word)} is no time in microseconds with two decimals", number)
    return float(word)
