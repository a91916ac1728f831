"""What ``perf lock contention`` prints (tools/perf/builtin-lock.c: ``print_lock_stat_stdio`` and ``_csv``)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tuneagent.model.contention import Frame, ImportedBy, ImportedLocks, ImportedWaits, LockKind
from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import U64_MAX, natural, numbered, shown
from tuneagent.parse.perf_names import address_of, frame_of, require_bounded, symbol_of

_MAX_ROWS = 65_536
_MAX_DEPTH = 256
_MAX_REMARKS = 8
_MAX_REMARK = 200
_CSV = "# output: "
_STACK = "stacktrace"
_TRAILER = "=== output for debug"
_COUNT = re.compile(r"bad: ([0-9]{1,12}), total: ([0-9]{1,12})")
_CSV_COUNT = re.compile(r"(total|bad)=([0-9]{1,12})")
_DECIMAL = re.compile(r"([0-9]{1,20})(?:\.([0-9]{1,9}))?")
_UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_KEYS = {
    "contended": "waits",
    "total wait": "wait_total_ns",
    "max wait": "wait_max_ns",
    "min wait": "wait_min_ns",
    "avg wait": "wait_avg_ns",
}
_TAILS = {
    ("type", "caller"): ImportedBy.CALLER,
    ("type", "caller", _STACK): ImportedBy.CALLER,
    ("pid", "comm"): ImportedBy.TASK,
    ("pid", "owner"): ImportedBy.OWNER,
    ("address", "symbol"): ImportedBy.LOCK,
    ("address", "symbol", "type"): ImportedBy.LOCK,
    ("cgroup",): ImportedBy.CGROUP,
}
_KINDS: dict[str, LockKind | None] = {
    "spinlock": LockKind.SPIN,
    "rwlock:R": LockKind.RWLOCK_READ,
    "rwlock:W": LockKind.RWLOCK_WRITE,
    "rwlock": None,
    "rwsem:R": LockKind.RWSEM_READ,
    "rwsem:W": LockKind.RWSEM_WRITE,
    "rwsem": None,
    "rt-mutex": LockKind.RT,
    "rwlock-rt:R": LockKind.RT,
    "rwlock-rt:W": LockKind.RT,
    "rwlock-rt": LockKind.RT,
    "pcpu-sem:R": LockKind.PERCPU,
    "pcpu-sem:W": LockKind.PERCPU,
    "percpu-rwsem": LockKind.PERCPU,
    "mutex": LockKind.MUTEX,
    "mutex-spin": LockKind.MUTEX,
}

_Lines = list[tuple[int, str]]
_Stack = tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """What the columns are, and how they are told apart."""

    at: int
    """Index of its line."""
    keys: tuple[str, ...]
    """Fields of ``ImportedWaits``, in the order of the columns."""
    tail: tuple[str, ...]
    separator: str | None
    """Of the columns; None where they are aligned."""

    @property
    def by(self) -> ImportedBy:
        """What a row stands for."""
        return _TAILS[self.tail]


def parse(text: str) -> ImportedLocks:
    """The table in any of its forms: by caller, task, owner, lock or cgroup; with stacks (-v); separated (-x).

    ParseError with the line: no header (another text, or -q), a row that its header does not describe, a row or text
    that is cut off within a row; EMPTY for nothing. Lines of perf's own among it are kept as remarks.
    """
    require_bounded(text)
    lines = numbered(text)
    header = next((found for at, (_, line) in enumerate(lines) if (found := header_of(at, line))), None)
    if header is None:
        raise ParseError(f"no header of perf lock contention (perhaps -q): {shown(lines[0][1])}", lines[0][0])
    remarks = [line for _, line in lines[: header.at]]
    below = lines[header.at + 1 :]
    end = next((at for at, (_, line) in enumerate(below) if line.startswith(_TRAILER)), len(below))
    rows = _rows(header, below[:end], remarks)
    bad, total = _trailer(below[end:]) if header.separator is None else _csv_trailer(below)
    cut = tuple(line[:_MAX_REMARK] for line in remarks[:_MAX_REMARKS])
    return ImportedLocks(header.by, tuple(rows), header.separator is None, bad, total, cut)


def header_of(at: int, line: str) -> Header | None:
    """The header in that line; None where it is none."""
    if line.startswith(_CSV):
        return _csv_header(at, line.removeprefix(_CSV))
    words = line.split(None, 16)
    keys: list[str] = []
    while words:
        taken = 1 if words[0] in _KEYS else 2
        name = _KEYS.get(" ".join(words[:taken]))
        if name is None:
            break
        keys.append(name)
        del words[:taken]
    tail = tuple(words)
    return Header(at, tuple(keys), tail, None) if keys and tail in _TAILS else None


def _csv_header(at: int, names: str) -> Header | None:
    first = next((key for key in _KEYS if names.startswith(key)), None)
    if first is None:
        return None
    others = [*_KEYS, *{tail[0] for tail in _TAILS}]
    starts = [names.find(f" {other}", len(first)) for other in others]
    end = min((start for start in starts if start >= 0), default=-1)
    separator = names[len(first) : end]
    if end < 0 or not separator:
        return None
    columns = [name.strip() for name in names.split(separator)]
    keys = tuple(_KEYS[name] for name in columns if name in _KEYS)
    tail = tuple(columns[len(keys) :])
    return Header(at, keys, tail, separator) if tail in _TAILS and set(columns[: len(keys)]) <= set(_KEYS) else None


def _rows(header: Header, lines: _Lines, remarks: list[str]) -> list[ImportedWaits]:
    rows: list[ImportedWaits] = []
    stack: list[Frame] = []
    for number, line in lines:
        if line.startswith("0x") and header.separator is None:
            _keep_frame(rows, stack, line, number)
        elif line.startswith("#") and header.separator is not None:
            continue
        elif line[0].isdigit():
            _close(rows, stack)
            rows.append(_row(header, line, number))
        else:
            remarks.append(line)
        if len(rows) > _MAX_ROWS:
            raise ParseError(f"more than {_MAX_ROWS} rows", number)
    _close(rows, stack)
    return rows


def _keep_frame(rows: list[ImportedWaits], stack: list[Frame], line: str, number: int) -> None:
    """``0xffffffff81000000  symbol+0x10``, or an address alone."""
    address, _, symbol = line.partition(" ")
    if not rows or address_of(address) is None:
        raise ParseError(f"{shown(line)} is no frame of a row's stack", number)
    if len(stack) < _MAX_DEPTH:
        stack.append(frame_of(symbol.strip()))


def _close(rows: list[ImportedWaits], stack: list[Frame]) -> None:
    if stack:
        rows[-1] = replace(rows[-1], stack=tuple(stack))
        stack.clear()


def _row(header: Header, line: str, number: int) -> ImportedWaits:
    if header.separator is not None:
        return _csv_row(header, header.separator, line, number)
    width = sum(1 if key == "waits" else 2 for key in header.keys)
    words = line.split(None, width)
    if len(words) <= width:
        raise ParseError(f"a row cut off: {shown(line)}", number)
    figures: dict[str, int] = {}
    for key in header.keys:
        figures[key] = natural(words.pop(0), number) if key == "waits" else _ns(words.pop(0), words.pop(0), number)
    return _subject(header, figures, words[0], number)


def _csv_row(header: Header, separator: str, line: str, number: int) -> ImportedWaits:
    keys = len(header.keys)
    width = keys + len(header.tail)
    words = [word.strip() for word in line.split(separator, width - 1)]
    if header.tail[-1] == _STACK and len(words) == width - 1:
        words.append("")
    if len(words) < width:
        raise ParseError(f"{len(words)} columns where the header has {width}: {shown(line)}", number)
    figures = {key: natural(word, number) for key, word in zip(header.keys, words, strict=False)}
    frames = words.pop().split(":", _MAX_DEPTH)[:_MAX_DEPTH] if header.tail[-1] == _STACK else []
    if header.tail[-1] == "type" and words[-1]:
        words[-1] = f"({words[-1]})"
    return _subject(header, figures, " ".join(words[keys:]), number, tuple(_csv_frame(each) for each in frames if each))


def _csv_frame(printed: str) -> Frame:
    _, _, symbol = printed.strip().partition(" ")
    return frame_of(symbol.strip())


def _subject(header: Header, figures: dict[str, int], rest: str, number: int, stack: _Stack = ()) -> ImportedWaits:
    word, _, name = rest.partition(" ")
    name = name.strip()
    match header.by:
        case ImportedBy.CGROUP:
            return _waits(figures, rest, None)
        case ImportedBy.CALLER:
            return _caller(figures, word, name, number, stack)
        case ImportedBy.LOCK:
            return _lock(figures, word, name, number)
        case _:
            tid = None if word == "-1" else natural(word, number, highest=2**31 - 1)
            return _waits(figures, None if tid is None else name or None, None, tid=tid)


def _caller(figures: dict[str, int], kind: str, caller: str, number: int, stack: _Stack) -> ImportedWaits:
    if not caller:
        raise ParseError(f"a row without a caller behind {shown(kind)}", number)
    frame = frame_of(caller)
    address = address_of(caller) if caller.startswith("0x") else None
    name = None if caller == "Unknown" else frame.symbol
    return _waits(figures, name, kind, offset=frame.offset if name else None, address=address, stack=stack)


def _lock(figures: dict[str, int], word: str, name: str, number: int) -> ImportedWaits:
    address = address_of(word)
    if address is None:
        raise ParseError(f"{shown(word)} is no address of a lock", number)
    before, bracket, kind = name.rpartition("(")
    if not bracket or not kind.endswith(")"):
        return _waits(figures, symbol_of(name), None, address=address)
    return _waits(figures, symbol_of(before.strip()), kind[:-1], address=address)


def _waits(
    figures: dict[str, int],
    name: str | None,
    kind: str | None,
    *,
    offset: int | None = None,
    tid: int | None = None,
    address: int | None = None,
    stack: _Stack = (),
) -> ImportedWaits:
    waits, total, longest, shortest, average = (figures.get(key) for key in _KEYS.values())
    known = None if kind is None else _KINDS.get(kind, LockKind.OTHER)
    return ImportedWaits(name, known, kind, waits, total, longest, shortest, average, offset, tid, address, stack)


def _ns(word: str, unit: str, number: int) -> int:
    decimal = _DECIMAL.fullmatch(word)
    if decimal is None or unit not in _UNITS_NS:
        raise ParseError(f"{shown(f'{word} {unit}')} is no time with its unit", number)
    scale, fraction = _UNITS_NS[unit], decimal[2] or "0"
    found: int = int(decimal[1]) * scale + int(fraction) * scale // 10 ** len(fraction)
    if found > U64_MAX:
        raise ParseError(f"{shown(f'{word} {unit}')} is above 64 bits of nanoseconds", number)
    return found


def _trailer(lines: _Lines) -> tuple[int | None, int | None]:
    counts = next((match for _, line in lines if (match := _COUNT.fullmatch(line))), None)
    return (int(counts[1]), int(counts[2])) if counts else (None, None)


def _csv_trailer(lines: _Lines) -> tuple[int | None, int | None]:
    """``# debug: total=9, bad=1, bad_task=1, …``."""
    debug = next((line for _, line in lines if line.startswith("# debug:")), "")
    counts = {match[1]: int(match[2]) for word in debug.split()[:4] if (match := _CSV_COUNT.match(word))}
    return counts.get("bad"), counts.get("total")
