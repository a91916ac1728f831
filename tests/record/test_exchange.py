"""Files of trials that somebody sent: what is none is refused with its line, and nothing of the file is taken in."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import make_trials
from tuneagent.model.trial import TrialState
from tuneagent.record import documents, exchange
from tuneagent.record.errors import StoreError, Trouble
from tuneagent.record.store import Store

GOOD = exchange.line(make_trials.e1())
FIELDS: dict[str, Any] = json.loads(GOOD)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(str(tmp_path / "state" / "trials.db")) as opened:
        yield opened


def line(**changes: Any) -> bytes:
    fields = {key: value for key, value in (FIELDS | changes).items() if value is not ...}
    return json.dumps(fields).encode() + b"\n"


def first_round(**changes: Any) -> list[dict[str, Any]]:
    return [FIELDS["rounds"][0] | changes, *FIELDS["rounds"][1:]]


def test_a_line_says_its_schema_first() -> None:
    assert GOOD.startswith(b'{"schema":"tuneagent.trial/1","id":1,"began_ns":')
    assert GOOD.count(b"\n") == 1
    assert GOOD.isascii()


BAD: dict[str, tuple[bytes, str]] = {
    "no json": (b"PK\x03\x04\n", "not JSON at character 1"),
    "binary": (b"\xff\xfe\x00\n", "not UTF-8"),
    "list": (b"[]\n", r'\$\.schema: expected an object with "schema": "tuneagent\.trial/1"'),
    "schema": (line(schema="tuneagent.snapshot/1"), r"\$\.schema"),
    "no schema": (line(schema=...), r"\$\.schema"),
    "missing": (line(question=...), r"\$: question is missing"),
    "kind": (line(rounds={}), r"\$\.rounds: an object, not an array"),
    "deep": (line(rounds=first_round(seconds="6")), r"\$\.rounds\[0\]\.seconds: a string, not a number"),
    "arm": (line(rounds=first_round(arm="c")), r"\$\.rounds\[0\]\.arm: 'c', not one of a, b"),
    "state": (line(state="asleep"), r"\$\.state: 'asleep'"),
    "time": (line(began_ns=2**63), r"\$\.began_ns: not within 0 to 9223372036854775807"),
    "end": (line(ended_ns=2**64 - 1), r"\$\.ended_ns: not within"),
    "huge": (line(began_ns=10**100), r"\$\.began_ns: not within"),
    "negative": (line(id=-1), r"\$\.id: not within"),
    "infinite": (GOOD.replace(b'"seconds":6.0', b'"seconds":1e999', 1), r"seconds: too large a number"),
    "nan": (GOOD.replace(b'"seconds":6.0', b'"seconds":NaN', 1), "NaN is not a JSON number"),
    "digits": (GOOD.replace(b'"seconds":6.0', b'"seconds":' + b"9" * 5000, 1), "thousands of digits"),
    "twice": (GOOD.replace(b'"id":1', b'"id":1,"id":2', 1), "the key 'id' twice in one object"),
    "nested": (b'{"schema":"tuneagent.trial/1","facts":' + b"[" * 200_000 + b"\n", "nested too deep"),
    "half": (line(facts={"kernel": "\ud800"}), r"\$\.facts\['kernel'\]: half of a surrogate pair"),
    "cut": (GOOD[: len(GOOD) // 2], "not JSON at character"),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD.keys())
def test_what_is_no_trial_is_refused_with_its_line(store: Store, text: bytes, said: str) -> None:
    with pytest.raises(StoreError, match=said) as caught:
        store.import_(io.BytesIO(GOOD + b"\n" + text + GOOD), "sent.jsonl")

    assert str(caught.value).startswith("sent.jsonl:3: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert caught.value.trouble is Trouble.REFUSED
    assert store.count() == 0


@pytest.mark.parametrize("text", [b"", b"\n \n"], ids=["empty", "blank"])
def test_a_file_without_a_trial_is_refused(store: Store, text: bytes) -> None:
    with pytest.raises(StoreError, match="sent: holds no trial"):
        store.import_(io.BytesIO(text), "sent")


def test_a_line_without_an_end_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MOST_LINE_BYTES", len(GOOD))
    assert store.import_(io.BytesIO(GOOD), "x").stored == (1,)

    with pytest.raises(StoreError, match=f"x:1: a line of more than {len(GOOD)} bytes"):
        store.import_(io.BytesIO(GOOD[:-1] + b"  \n"), "x")


@pytest.mark.parametrize(("name", "most"), [("MOST_TRIALS", 2), ("MOST_BYTES", 3000)])
def test_a_file_of_too_much_is_refused_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    monkeypatch.setattr(exchange, name, most)
    text = b"".join(exchange.line(make_trials.e1(number=number)) for number in range(40))

    with pytest.raises(StoreError, match=r"x:\d+: more than"):
        store.import_(io.BytesIO(text), "x")
    assert store.count() == 0


def test_a_document_that_inflates_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    body = documents.pack(make_trials.e1().rounds[0])
    monkeypatch.setattr(documents, "MOST_BYTES", 100)

    with pytest.raises(ValueError, match="cut off, or too large"):
        documents.unpack(type(make_trials.e1().rounds[0]), body)


def test_a_later_versions_keys_are_passed_over(store: Store) -> None:
    store.import_(io.BytesIO(line(colour="red", rounds=first_round(weight=3))), "x")

    assert store.load(1) == replace(make_trials.e1(), origin="x")


def test_an_earlier_versions_file_has_the_defaults(store: Store) -> None:
    store.import_(io.BytesIO(line(why=..., kept=..., transaction=...)), "x")

    assert store.load(1) == replace(make_trials.e1(), why="", kept=None, transaction=None, origin="x")


def test_the_origin_is_the_file_and_not_what_it_says(store: Store) -> None:
    store.import_(io.BytesIO(line(origin="")), "there.jsonl")

    assert store.load(1).origin == "there.jsonl"
    assert b'"origin"' not in b"".join(store.export())


def test_the_second_of_two_equal_lines_is_not_stored(store: Store) -> None:
    done = store.import_(io.BytesIO(GOOD + line(id=5)), "x")

    assert (done.stored, done.here) == ((1,), 1)


def test_trials_that_began_at_once_are_two(store: Store) -> None:
    other = exchange.line(replace(make_trials.pin(), began_ns=make_trials.e1().began_ns))

    assert store.import_(io.BytesIO(GOOD + other), "x").stored == (1, 2)


def test_however_many_began_at_once_each_is_read_a_few_times(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 12
    lines = b"".join(line(why=f"the {number}th") for number in range(count))
    store.import_(io.BytesIO(lines), "first")
    nouns, reads = documents.nouns, list[None]()

    def counted(*bodies: Any) -> documents.Nouns:
        reads.append(None)
        return nouns(*bodies)

    monkeypatch.setattr(documents, "nouns", counted)
    done = store.import_(io.BytesIO(lines + line(why="one more") * 2), "second")

    assert (len(done.stored), done.here) == (1, count + 1)
    assert len(reads) <= 2 * count + 2


def test_the_order_of_a_map_makes_no_other_trial(store: Store) -> None:
    facts = {"kernel": "6.1", "cpus": "4"}
    done = store.import_(io.BytesIO(line(facts=facts) + line(facts=dict(reversed(facts.items())))), "x")

    assert (done.stored, done.here) == ((1,), 1)


def test_one_that_ran_on_is_another(store: Store) -> None:
    whole = make_trials.pin()
    earlier = replace(whole, rounds=whole.rounds[:3], state=TrialState.RUNNING, verdict=None, kept=None, ended_ns=None)

    assert store.import_(io.BytesIO(exchange.line(earlier) + exchange.line(whole)), "x").stored == (1, 2)
    assert [store.load(number).state for number in (1, 2)] == [TrialState.INTERRUPTED, TrialState.DONE]
