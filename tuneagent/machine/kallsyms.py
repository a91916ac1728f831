"""Names of the kernel's code addresses, its modules' too: /proc/kallsyms (proc(5), kernel/kallsyms.c).

Without the right to see addresses the file holds zeros (kptr_restrict): that is found out, and gives no names at all
rather than wrong ones. 200,000 symbols are loaded in 0.2 s and kept in two arrays and one string of bytes.
"""

from __future__ import annotations

import io
import operator
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from typing import BinaryIO

from tuneagent.machine.reasons import source_error
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

PATH = "/proc/kallsyms"
CODE = frozenset(b"tTwW")
"""Types of symbols that are code (nm(1)); data would only be in the way."""
MOST_BYTES = 64 * 1024 * 1024
MOST_LINE_BYTES = 1024
MOST_CODE_BYTES = 64 * 1024
"""How far behind its start an address can lie in a function: what is behind the last one of a module is none of it."""
NEEDS = "run as root (CAP_SYSLOG) with the sysctl kernel.kptr_restrict at 0 or 1"
_CHUNK = 1 << 18
_DIGITS = 16


class Symbols:
    """Addresses of code and their names."""

    def __init__(self, addresses: array[int], places: array[int], names: bytes) -> None:
        """Sorted addresses, where the line of each (type, name, tab, module) begins in ``names``, and these lines."""
        self._addresses = addresses
        self._places = places
        self._names = names

    def __len__(self) -> int:
        return len(self._addresses)

    def resolve(self, address: int) -> tuple[str, str | None, int] | None:
        """(symbol, module, bytes into it); None where no symbol covers the address. The kernel's own module is None.

        Of several names of one address a global one is taken, then the one with the fewest leading underscores, then
        the first, as perf does.
        """
        after = bisect_right(self._addresses, address)
        if not after:
            return None
        start = self._addresses[after - 1]
        if address - start >= MOST_CODE_BYTES:
            return None
        first = after - 1
        while first and self._addresses[first - 1] == start:
            first -= 1
        name, module = min((self._line(place) for place in range(first, after)), key=_rank)[1:]
        return name, module, address - start

    def _line(self, index: int) -> tuple[str, str, str | None]:
        place = self._places[index]
        line = self._names[place : self._names.index(b"\n", place)].decode("ascii", "backslashreplace")
        name, _, module = line[2:].partition("\t")
        return line[0], name, module.strip("[]") or None


def load() -> Symbols:
    """All of the running kernel's. SourceError: no such file, or addresses that are hidden from us."""
    try:
        with open(PATH, "rb", buffering=0) as file:
            return parsed(file)
    except OSError as error:
        raise source_error(PATH, error) from None


def parsed(file: BinaryIO) -> Symbols:
    """The symbols of a file in this form. SourceError: MALFORMED, EMPTY, TOO_LARGE, or PERMISSION for zeros."""
    addresses, sizes, names = bytearray(), array("I"), io.BytesIO()
    for lines in _chunks(file):
        code = [line for line in lines if line[17] in CODE]
        try:
            addresses += bytes.fromhex(b"".join([line[:_DIGITS] for line in code]).decode("ascii"))
        except ValueError:
            raise _malformed() from None
        sizes.extend([len(line) - _DIGITS for line in code])  # its newline for its blank
        names.writelines([line[_DIGITS + 1 :] + b"\n" for line in code])
    return _sorted(addresses, sizes, names.getvalue())


def _chunks(file: BinaryIO) -> Iterator[list[bytes]]:
    """Lines of at least a type and a name, some thousand at a time."""
    rest, size = b"", 0
    while chunk := file.read(_CHUNK):
        size += len(chunk)
        if size > MOST_BYTES:
            raise SourceError(PATH, Reason.TOO_LARGE, f"larger than {MOST_BYTES} bytes")
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        if len(rest) > MOST_LINE_BYTES or min(map(len, lines), default=_DIGITS + 4) < _DIGITS + 4:
            raise _malformed()
        yield lines
    if rest:
        raise _malformed()


def _sorted(packed: bytearray, sizes: array[int], names: bytes) -> Symbols:
    addresses = array("Q")
    addresses.frombytes(packed)
    if sys.byteorder == "little":
        addresses.byteswap()  # it was written as digits, the highest first
    if not addresses:
        raise SourceError(PATH, Reason.EMPTY, "no symbol of code in it")
    if not any(addresses):
        raise SourceError(PATH, Reason.PERMISSION, "all addresses are 0: they are hidden from this process", NEEDS)
    places = array("I", accumulate(sizes[:-1], initial=0))
    unsorted = _first_unsorted(addresses)
    if unsorted == len(addresses):
        return Symbols(addresses, places, names)
    # The kernel proper is sorted, its modules are not. Indices of all would take as much memory as everything else.
    known = bisect_right(addresses, min(addresses[unsorted:]), 0, unsorted)
    order = sorted(range(known, len(addresses)), key=addresses.__getitem__)
    return Symbols(_ordered(addresses, known, order), _ordered(places, known, order), names)


def _first_unsorted(addresses: array[int]) -> int:
    """How many of them are sorted from the first on."""
    falls = map(operator.gt, addresses, islice(addresses, 1, None))
    return next((place for place, fall in enumerate(falls, 1) if fall), len(addresses))


def _ordered(numbers: array[int], known: int, order: Sequence[int]) -> array[int]:
    """The first ``known``, then those at these places."""
    return numbers[:known] + array(numbers.typecode, map(numbers.__getitem__, order))


def _rank(line: tuple[str, str, str | None]) -> tuple[bool, bool, int]:
    kind, name, _ = line
    return kind in "wW", kind == "t", len(name) - len(name.lstrip("_"))


def _malformed() -> SourceError:
    return SourceError(PATH, Reason.MALFORMED, "a line is not an address of 16 digits, a type and a name")
