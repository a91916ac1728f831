"""Trials as lines of JSON, one a line, to send away and to read in elsewhere: ``tuneagent.trial/1``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import BinaryIO

from tuneagent.model.errors import ParseError
from tuneagent.model.trial import Trial, TrialState
from tuneagent.record import codec, documents
from tuneagent.record.documents import Packed
from tuneagent.record.errors import StoreError, Trouble

SCHEMA = "tuneagent.trial/1"
"""Grows by new keys only; a key that changes its meaning changes this number."""
MOST_LINE_BYTES = 64 * 1024 * 1024
MOST_TRIALS = 100_000
MOST_BYTES = 512 * 1024 * 1024
"""Of all trials of one file, compressed: they are held until the last one is known to be good."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a file's trials."""

    stored: tuple[int, ...]
    """Their ids here."""
    here: int
    """Those that were here already."""


def line(trial: Trial) -> bytes:
    """One trial, with its newline. Where it is taken in, its origin is the file that this makes."""
    fields = {"schema": SCHEMA, **codec.encode(trial)}
    del fields["origin"]
    return codec.dumps(fields) + b"\n"


def read(lines: BinaryIO, name: str) -> list[Packed]:
    """All trials of a file as rows. StoreError with ``name``, and the line, for what is none; blank lines are none."""
    found: list[Packed] = []
    size = 0
    for number, text in enumerate(iter(lambda: lines.readline(MOST_LINE_BYTES + 1), b""), 1):
        try:
            rows = _rows(text, name)
        except ParseError as error:
            raise StoreError(f"{name}:{number}", error.detail, Trouble.REFUSED) from error
        if rows is None:
            continue
        found.append(rows)
        size += rows.size
        if len(found) > MOST_TRIALS or size > MOST_BYTES:
            said = f"more than {MOST_TRIALS} trials or {MOST_BYTES} bytes in one file"
            raise StoreError(f"{name}:{number}", said, Trouble.REFUSED)
    if not found:
        raise StoreError(name, "holds no trial", Trouble.REFUSED)
    return found


def _rows(text: bytes, name: str) -> Packed | None:
    if len(text) > MOST_LINE_BYTES:
        raise ParseError(f"a line of more than {MOST_LINE_BYTES} bytes")
    if not text.strip():
        return None
    value = codec.loads(text)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise ParseError(f'$.schema: expected an object with "schema": "{SCHEMA}"')
    trial = codec.decode(Trial, {key: entry for key, entry in value.items() if key != "origin"})
    # Whoever runs it runs it elsewhere: nobody will end it here.
    state = TrialState.INTERRUPTED if trial.state is TrialState.RUNNING else trial.state
    return documents.packed(replace(trial, state=state), name)
