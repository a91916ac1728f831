"""Which trials of a file are here already: each trial is read once, however many began at the same moment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable

from tuneagent.record import codec, documents
from tuneagent.record.documents import Nouns, Packed


class Known:
    """The trials of a store while those of a file are taken in.

    ``began_at`` names the trials that are stored and began then, ``told`` gives what the documents of one say.
    """

    def __init__(self, began_at: Callable[[int], Iterable[int]], told: Callable[[int], Nouns]) -> None:
        self._began_at, self._told = began_at, told
        self._digests: dict[int, set[bytes]] = {}

    def has(self, rows: Packed) -> bool:
        """Whether the same trial is stored. One that is not must be stored before the next is asked for."""
        began_ns = rows.columns["began_ns"]
        digests = self._digests.get(began_ns)
        if digests is None:
            numbers = tuple(self._began_at(began_ns))
            if not numbers:  # as nearly always: then there is nothing to compare with
                return False
            digests = self._digests[began_ns] = {_digest(self._told(number)) for number in numbers}
        given = _digest(documents.nouns(rows.beginning, rows.ending, rows.rounds))
        if given in digests:
            return True
        digests.add(given)
        return False


def _digest(told: Nouns) -> bytes:
    """The same for nouns that are equal: the bytes of a document may differ by its version, or by a map's order."""
    text = json.dumps(codec.encode(told), ensure_ascii=True, sort_keys=True)
    return hashlib.blake2b(text.encode("ascii"), digest_size=32).digest()
