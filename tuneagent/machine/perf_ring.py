"""The ring that the kernel writes an event's records into: struct perf_event_mmap_page (perf_event_open(2), MMAP).

The kernel never overwrites what was not taken yet; what finds no room is lost, and counted by the kernel in the next
record that finds some.
"""

from __future__ import annotations

import errno
import mmap

from tuneagent.machine import perf_event
from tuneagent.model.errors import SourceError

PAGE = mmap.PAGESIZE
LEAST_BYTES = 8 * PAGE
_HEAD, _TAIL = 1024 // 8, 1032 // 8
"""data_head and data_tail, as numbers of eight bytes."""


class Ring:
    """The ring of one descriptor; its records, and those of the descriptors that were told to write into it."""

    def __init__(self, source: str, file: int, size: int) -> None:
        """Of ``size`` bytes, a power of two of pages; of less where locked memory is scarce. SourceError if none is."""
        self.file = file
        self._map = _mapped(source, file, size)
        self.size = len(self._map) - PAGE
        self._numbers = memoryview(self._map)[:PAGE].cast("Q")

    @property
    def waiting(self) -> int:
        """Bytes that were written and not taken."""
        return self._numbers[_HEAD] - self._numbers[_TAIL]

    def take(self) -> bytes:
        """What was written since; its room is free again.

        The kernel orders its writes before data_head. Python can give no barrier of its own after reading it: a
        processor that reads ahead may show a record half written, which a parser of these bytes must bear.
        """
        head, tail = self._numbers[_HEAD], self._numbers[_TAIL]
        start, size = tail % self.size, head - tail
        if not 0 < size <= self.size:
            data = b""
        elif start + size <= self.size:
            data = self._map[PAGE + start : PAGE + start + size]
        else:
            data = self._map[PAGE + start :] + self._map[PAGE : PAGE + start + size - self.size]
        self._numbers[_TAIL] = head
        return data

    def close(self) -> None:
        """Gives the memory back. The descriptor is its owner's."""
        self._numbers.release()
        self._map.close()


def size_for(cpus: int, each: int, together: int) -> int:
    """Bytes of each of so many rings: ``each`` at most, ``together`` in all, a power of two of pages."""
    size = min(each, together // max(1, cpus))
    return max(LEAST_BYTES, 1 << (size.bit_length() - 1))


def _mapped(source: str, file: int, size: int) -> mmap.mmap:
    while True:
        try:
            return mmap.mmap(file, PAGE + size)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOMEM) or size <= LEAST_BYTES:
                raise _refused(source, error) from None
        size //= 2  # perf_event_mlock_kb, or RLIMIT_MEMLOCK beyond it


def _refused(source: str, error: OSError) -> SourceError:
    if error.errno in (errno.EPERM, errno.ENOMEM):
        return perf_event.locked_memory(source, error.strerror or "no memory for a ring")
    return perf_event.refused(source, error)
