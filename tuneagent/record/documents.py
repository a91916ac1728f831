"""Parts of a trial as the compressed JSON that a row holds, and back."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, TypeVar

from tuneagent.model.errors import ParseError
from tuneagent.model.trial import Question, Round, Trial, TrialState, Verdict
from tuneagent.record import codec

MOST_BYTES = 32 * 1024 * 1024
"""Of one document, uncompressed: 256 queues on 256 CPUs take 1 MB a round."""
LONGEST_COLUMN = 400
I64_MAX = 2**63 - 1

_Noun = TypeVar("_Noun")


@dataclass(frozen=True, slots=True)
class Beginning:
    """What is known before the first round."""

    question: Question
    facts: dict[str, str]


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known after the last."""

    state: TrialState
    verdict: Verdict | None
    why: str


@dataclass(frozen=True, slots=True)
class Packed:
    """A trial as rows: the columns of the list, and the documents."""

    columns: dict[str, Any]
    beginning: bytes
    ending: bytes | None
    rounds: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """Bytes of the documents."""
        return len(self.beginning) + len(self.ending or b"") + sum(map(len, self.rounds))


Nouns = tuple[Beginning, Ending | None, tuple[Round, ...]]
"""The same as nouns."""


def pack(noun: Any) -> bytes:
    """ParseError for what could not be read back: a number that JSON lacks, or too much."""
    try:
        text = codec.dumps(noun)
    except ValueError as error:
        raise ParseError(str(error)) from error
    if len(text) > MOST_BYTES:
        raise ParseError(f"more than {MOST_BYTES} bytes")
    codec.decode(type(noun), codec.loads(text))
    return zlib.compress(text)


def unpack(noun: type[_Noun], body: bytes) -> _Noun:
    """ParseError for what is damaged."""
    inflating = zlib.decompressobj()
    try:
        text = inflating.decompress(body, MOST_BYTES)
    except zlib.error as error:
        raise ParseError(f"not compressed: {error}") from error
    if not inflating.eof:
        raise ParseError("cut off, or too large")
    return codec.decode(noun, codec.loads(text))


def packed(trial: Trial, origin: str = "") -> Packed:
    """The rows of a whole trial."""
    ended = trial.state is not TrialState.RUNNING
    return Packed(
        columns={**begun_columns(trial), **(ended_columns(trial) if ended else {}), "origin": column(origin)},
        beginning=pack(Beginning(trial.question, trial.facts)),
        ending=pack(Ending(trial.state, trial.verdict, trial.why)) if ended else None,
        rounds=tuple(map(pack, trial.rounds)),
    )


def begun_columns(trial: Trial) -> dict[str, Any]:
    """Of a trial that begins."""
    question = trial.question
    return {
        "began_ns": _signed(trial.began_ns, "began_ns"),
        "version": column(trial.version),
        "policy": column(question.policy),
        "subject": column(question.subject),
        "title": column(question.title),
        "primary_metric": column(question.primary),
        "state": TrialState.RUNNING.value,
    }


def ended_columns(trial: Trial) -> dict[str, Any]:
    """Of a trial that has ended."""
    primary = trial.verdict.primary if trial.verdict is not None else None
    return {
        "ended_ns": None if trial.ended_ns is None else _signed(trial.ended_ns, "ended_ns"),
        "state": trial.state.value,
        "decision": None if trial.verdict is None else trial.verdict.decision.value,
        "kept": trial.kept,
        "transaction_id": None if trial.transaction is None else _signed(trial.transaction, "transaction"),
        "percent": None if primary is None else primary.percent,
        "low_percent": None if primary is None else primary.low_percent,
        "high_percent": None if primary is None else primary.high_percent,
        "pairs": None if primary is None else _signed(primary.pairs, "pairs"),
    }


def column(text: str) -> str:
    """A text as SQLite takes it, in UTF-8; the document has it whole."""
    return text[:LONGEST_COLUMN].encode("utf-8", "backslashreplace").decode("utf-8")


def _signed(value: int, name: str) -> int:
    if value > I64_MAX:
        raise ParseError(f"$.{name}: not within 0 to {I64_MAX}")
    return value


def nouns(beginning: bytes, ending: bytes | None, rounds: tuple[bytes, ...]) -> Nouns:
    """What the documents of a trial say. ParseError for what is damaged.

    A round that is stored again under its number says what it is now: that it does not count may be known later only.
    """
    by_number = {one.number: one for one in (unpack(Round, body) for body in rounds)}
    return (
        unpack(Beginning, beginning),
        None if ending is None else unpack(Ending, ending),
        tuple(by_number.values()),
    )
