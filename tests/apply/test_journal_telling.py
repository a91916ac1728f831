"""A journal's bytes, whatever they are: the transaction of that moment, or one damage with its file and line."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apply import make
from tuneagent.apply import journal_records as records
from tuneagent.apply import journal_values as values
from tuneagent.apply.journal import load
from tuneagent.apply.journal_telling import MOST_ENTRIES, MOST_FILE_BYTES, Known, is_closed, tell, whole
from tuneagent.apply.journal_values import MOST_LINE_BYTES
from tuneagent.model.errors import ParseError
from tuneagent.model.plan import TunableKind
from tuneagent.model.transaction import Effect, Entry, Lasts, Outcome, State, Transaction

BEGIN = records.begin(
    now_ns=make.BEGAN_NS, boot_id=make.BOOT_ID, version="1.2.3", writer=make.WRITER, command="apply x", policies=["x"]
)
INTENT = records.intent(make.entry(0))
OUTCOME = {"record": "outcome", "index": 0, "outcome": "changed"}
EFFECT = {"record": "effect", "index": 0, "effect": "verified", "detail": "CPU 0: 17"}
COMMIT = {"record": "commit"}
END = {"record": "end"}


def journal(*told: dict[str, Any]) -> bytes:
    return b"".join(map(records.line, told))


def without(record: dict[str, Any], member: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != member}


def damage(data: bytes) -> str:
    """The one line that is said about a damaged journal."""
    transaction = load(data, 12)
    assert transaction is not None
    assert transaction.damage
    assert transaction.damage.isprintable()
    assert len(transaction.damage) < 500
    return transaction.damage


EXACT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\udc80\udcff\x00\x1b\n"), max_size=12)
"""A value that is written again: every character but half of a surrogate pair."""
PRINTABLE = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), max_size=12)
TARGETS = st.builds(
    make.target,
    index=st.integers(0, 2**32),
    bus_address=st.none() | EXACT,
    kernel_thread=st.none() | st.booleans(),
    tid=st.none() | st.integers(0, 2**64 - 1),
)
KEPT = st.builds(
    make.kept, index=st.integers(0, 9), kind=st.sampled_from(TunableKind), target=TARGETS, where=PRINTABLE, value=EXACT
)
ENTRIES = st.builds(
    make.entry,
    index=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(TunableKind),
    target=TARGETS,
    where=PRINTABLE,
    old=EXACT,
    new=EXACT,
    why=PRINTABLE,
    lasts=st.sampled_from(Lasts),
    kept=st.lists(KEPT, max_size=2).map(tuple),
    outcome=st.sampled_from(Outcome),
    detail=PRINTABLE,
    effect=st.none() | st.sampled_from(Effect),
    effect_detail=PRINTABLE,
    previous=EXACT,
)


@given(st.lists(ENTRIES, max_size=4, unique_by=lambda entry: entry.index))
def test_every_entry_comes_back_as_it_was(entries: list[Entry]) -> None:
    told = load(journal(BEGIN, *map(records.intent, entries)), 12)
    assert told is not None
    assert told.damage == ""
    assert list(told.entries) == entries


@st.composite
def stories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The records of a transaction that could have been, in an order that could have been."""
    entries = draw(st.lists(ENTRIES, max_size=3, unique_by=lambda entry: entry.index))
    story = [BEGIN, *([records.deadline(make.DEADLINE)] if draw(st.booleans()) else [])]
    story += map(records.intent, entries)
    outcomes = st.sampled_from(Outcome)
    story += [
        {"record": "outcome", "index": entry.index, "outcome": draw(outcomes), "detail": draw(PRINTABLE)}
        for entry in entries
    ]
    story += [
        {"record": "effect", "index": entry.index, "effect": draw(st.sampled_from(Effect)), "detail": draw(PRINTABLE)}
        for entry in entries
    ]
    story += draw(st.sampled_from([[], [COMMIT], [COMMIT, {"record": "confirm"}]]))
    if draw(st.booleans()):
        story.append({"record": "undo", "why": draw(PRINTABLE)})
        story += [{"record": "given-back", "index": one.index, "outcome": draw(outcomes)} for one in reversed(entries)]
        story.append(END)
    return story


@settings(max_examples=20)  # each is cut at every byte
@given(stories())
def test_every_prefix_is_the_transaction_of_that_moment(story: list[dict[str, Any]]) -> None:
    moments: list[Transaction | None] = [None]
    moments += [load(journal(*story[:count]), 12) for count in range(1, len(story) + 1)]
    assert all(moment is not None and not moment.damage for moment in moments[1:])
    assert len({str(moment) for moment in moments}) >= 2
    data = journal(*story)
    for cut in range(len(data) + 1):
        before = data[:cut]
        assert load(before, 12) == moments[before.count(b"\n")]
        assert whole(before) == len(journal(*story[: before.count(b"\n")]))


def test_each_record_changes_what_is_told() -> None:
    undo = {"record": "undo", "why": "asked"}
    back = {"record": "given-back", "index": 0, "outcome": "given-back", "detail": "it was"}
    confirm = {"record": "confirm"}
    story = [BEGIN, records.deadline(make.DEADLINE), INTENT, OUTCOME, EFFECT, COMMIT, confirm, undo, back, END]
    told = [load(journal(*story[:count]), 12) for count in range(1, len(story) + 1)]
    assert all(one != other for one, other in itertools.pairwise(told))
    assert told[-1] == make.transaction(
        command="apply x",
        entries=(
            make.entry(
                0,
                outcome=Outcome.GIVEN_BACK,
                detail="it was",
                effect=Effect.VERIFIED,
                effect_detail="CPU 0: 17",
            ),
        ),
        state=State.UNDONE,
        deadline=make.DEADLINE,
        confirmed=True,
        undone_why="asked",
    )
    assert [is_closed(journal(*story[:count])) for count in range(1, len(story) + 1)] == [False] * 9 + [True]


def test_what_a_later_version_adds_is_not_looked_at() -> None:
    later = {"record": "commit", "at_ns": 7, "because": {"a": [1]}}
    intent = INTENT | {"colour": "red", "target": {**INTENT["target"], "slot": 3}}
    assert load(journal(BEGIN, intent, later), 12) == load(journal(BEGIN, INTENT, COMMIT), 12)


@pytest.mark.parametrize("torn", [b"", b"{", b'{"record":"commit"}', b"\x00" * 4096, b"\xff\xfe", b"[" * 100_000])
def test_a_torn_end_is_passed_over(torn: bytes) -> None:
    assert load(journal(BEGIN, INTENT) + torn, 12) == load(journal(BEGIN, INTENT), 12)
    assert load(torn, 12) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "not JSON"),
        (b"\x00\x00", "not JSON"),
        (b"{", "not JSON"),
        (b'{"record":"commit"} {}', "something behind its end"),
        (b"\xff", "not JSON"),
        (b"[]", r"\$: not an object"),
        (b"{}", r"\$\.record: not a string"),
        (b'{"record":["commit"]}', r"\$\.record: not a string"),
        (b'{"record":"forget"}', r"'forget' is no record that this version knows"),
        (b'{"record":"\\u001b[2J"}', r"'\\x1b\[2J' is no record"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"record":' * 50_000, "nested too deep"),
        (b'{"record":"commit","x":' + b"9" * 5000 + b"}", "thousands of digits"),
        (b'{"record":"commit","x":NaN}', "NaN is not a JSON number"),
        (b'{"record":"' + b"x" * 10_000_000 + b'"}', "longer than 1048576"),
        (journal(BEGIN).rstrip(), "begins a second time"),
    ],
)
def test_a_bad_line_is_one_damage_with_file_and_line(line: bytes, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(damage(journal(BEGIN, INTENT) + line + b"\n" + journal(COMMIT)))
    told = load(journal(BEGIN, INTENT) + line + b"\n" + journal(COMMIT), 12)
    assert told is not None
    assert told.damage.startswith("00000012.journal: line 3: ")
    assert (told.state, told.entries) == (State.OPEN, (make.entry(0),))  # what came before is told, and nothing after


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (OUTCOME | {"index": 1}, "change 1 was never announced"),
        (OUTCOME | {"index": True}, "true or false, not a whole number"),
        (OUTCOME | {"index": 0.0}, "a number, not a whole number"),
        (OUTCOME | {"index": -1}, "not within"),
        (OUTCOME | {"index": 10**400}, "not within"),
        (without(OUTCOME, "index"), "null, not a whole number"),
        (OUTCOME | {"outcome": "perfect"}, "'perfect' is not known to this version"),
        (OUTCOME | {"outcome": ["changed"]}, "not known to this version"),
        (OUTCOME | {"detail": 7}, r"\$\.detail: a number, not a string"),
        (OUTCOME | {"detail": "\x1b[2J"}, r"\$\.detail: holds the unprintable"),
        (OUTCOME | {"detail": "x" * 4097}, "4097 characters"),
        (EFFECT | {"effect": None}, "not known"),
        (EFFECT | {"index": 2**63}, "not within"),
        (INTENT, "change 0 is announced a second time"),
        (INTENT | {"index": 2**32}, "not within"),
        (INTENT | {"index": 1, "kind": "warp-drive"}, "'warp-drive' is not known"),
        (INTENT | {"index": 1, "lasts": "ever"}, "'ever' is not known"),
        (INTENT | {"index": 1, "old": None}, r"\$\.old: not a string"),
        (INTENT | {"index": 1, "new": "\ud800"}, r"\$\.new: half of a surrogate pair"),
        (INTENT | {"index": 1, "where": "a\nb"}, r"\$\.where: holds the unprintable"),
        (INTENT | {"index": 1, "why": "\udcff"}, r"\$\.why: holds the unprintable"),
        (without(INTENT, "target"), r"\$\.target: null, not an object"),
        (INTENT | {"index": 1, "target": {"queue": "3"}}, r"\$\.target\.queue: a string, not a whole"),
        (INTENT | {"index": 1, "target": {"kernel_thread": 1}}, r"\$\.target\.kernel_thread: a number"),
        (INTENT | {"index": 1, "target": {"mac": ["x"]}}, r"\$\.target\.mac: not a string"),
        (INTENT | {"index": 1, "kept": {}}, r"\$\.kept: an object, not an array"),
        (INTENT | {"index": 1, "kept": [{}] * 4097}, "more than 4096 elements"),
        (INTENT | {"index": 1, "kept": [7]}, r"\$\.kept\[0\]: a number, not an object"),
        (INTENT | {"index": 1, "effect": "maybe"}, "'maybe' is not known"),
        ({"record": "undo", "why": None}, r"\$\.why: null, not a string"),
        (records.deadline(make.DEADLINE) | {"seconds": True}, r"\$\.seconds: not a number"),
        (records.deadline(make.DEADLINE) | {"seconds": 10**400}, r"\$\.seconds: not within"),
        (records.deadline(make.DEADLINE) | {"keeper": 7}, r"\$\.keeper"),
        (records.deadline(make.DEADLINE) | {"keeper": {"pid": 1 << 31, "start_ticks": 1}}, r"\$\.keeper\.pid"),
        (records.deadline(make.DEADLINE) | {"at_boottime_ns": "soon"}, r"\$\.at_boottime_ns: a string"),
    ],
)
def test_a_record_that_cannot_be_is_damage(record: dict[str, Any], message: str) -> None:
    with pytest.raises(AssertionError, match=r"00000012\.journal: line 3: .*" + message):
        raise AssertionError(damage(journal(BEGIN, INTENT, record)))


def test_an_infinite_deadline_is_damage() -> None:
    line = journal(records.deadline(make.DEADLINE)).replace(b"60.5", b"1e999")
    assert "not within" in damage(journal(BEGIN) + line)


@pytest.mark.parametrize("record", [INTENT | {"index": 1}, OUTCOME, COMMIT], ids=lambda record: str(record["record"]))
@pytest.mark.parametrize("last", [COMMIT, END], ids=lambda record: str(record["record"]))
def test_nothing_is_written_any_more_when_it_is_over(last: dict[str, Any], record: dict[str, Any]) -> None:
    assert "already" in damage(journal(BEGIN, INTENT, last, record))


@pytest.mark.parametrize(
    "first",
    [
        INTENT,
        COMMIT,
        END,
        BEGIN | {"at_ns": "yesterday"},
        BEGIN | {"writer": None},
        BEGIN | {"writer": {"pid": -1, "start_ticks": 1, "user": "root"}},
        BEGIN | {"command": "\x07"},
        BEGIN | {"boot_id": 7},
    ],
)
def test_one_that_does_not_begin_tells_its_damage_and_no_more(first: dict[str, Any]) -> None:
    assert damage(journal(first)).startswith("00000012.journal: line 1: ")
    told = load(journal(first, BEGIN), 12)
    assert told is not None
    assert (told.began_ns, told.writer, told.entries) == (None, None, ())
    assert told.stands  # nobody knows that it does not


def test_a_journal_is_bounded() -> None:
    intents = [INTENT | {"index": index} for index in range(MOST_ENTRIES + 1)]
    assert load(journal(BEGIN, *intents[:-1]), 12) == load(journal(BEGIN, *intents[:-1]) + b"torn", 12)
    assert damage(journal(BEGIN, *intents)) == f"00000012.journal: line {MOST_ENTRIES + 2}: more than 4096 changes"
    assert "larger than" in damage(journal(BEGIN) + b" " * MOST_FILE_BYTES)
    room = MOST_LINE_BYTES - len(journal(INTENT | {"previous": ""})) + 1
    assert tell(journal(BEGIN, INTENT | {"previous": "x" * room}), 12)[1] is None
    assert tell(journal(BEGIN, INTENT | {"previous": "x" * (room + 1)}), 12)[1] is not None


MEMBERS = st.sampled_from(sorted({*BEGIN, *INTENT, *EFFECT, *make.DEADLINE.__slots__, "kept", "outcome", "why"}))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([10**400, "changed", "boot", "channels", "verified", "\ud800", 0, 1])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=4), max_leaves=8
)
KINDS = st.sampled_from(
    ["begin", "deadline", "intent", "outcome", "effect", "commit", "confirm", "undo", "given-back", "end", "x"]
)
MUTATED = st.builds(
    lambda base, changes: base | changes,
    st.sampled_from([BEGIN, INTENT, OUTCOME, EFFECT, COMMIT, END, {"record": "undo", "why": "asked"}]),
    st.dictionaries(MEMBERS, VALUES, max_size=2),
)
ODD = MUTATED | st.builds(lambda kind, more: more | {"record": kind}, KINDS, st.dictionaries(MEMBERS, VALUES))


def one_damage_or_none(data: bytes) -> None:
    told = load(data, 12)
    if told is not None and told.damage:
        assert told.damage.isprintable()
        assert told.damage.startswith("00000012.journal: line ")
        assert len(told.damage) < 500


@given(st.lists(ODD, max_size=6))
def test_no_record_breaks_the_reader(odd: list[dict[str, Any]]) -> None:
    one_damage_or_none(journal(BEGIN, *odd))


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    one_damage_or_none(data)
    one_damage_or_none(journal(BEGIN, INTENT) + data + b"\n")


@given(st.data())
def test_no_flipped_byte_breaks_the_reader(data: st.DataObject) -> None:
    flipped = bytearray(journal(BEGIN, INTENT, OUTCOME, EFFECT, COMMIT))
    for place in data.draw(st.lists(st.integers(0, len(flipped) - 1), min_size=1, max_size=3)):
        flipped[place] = data.draw(st.integers(0, 255))
    one_damage_or_none(bytes(flipped))


@given(st.lists(ODD, max_size=4))
def test_what_is_refused_changes_nothing(odd: list[dict[str, Any]]) -> None:
    told, _ = tell(journal(BEGIN, INTENT), 12)
    for record in odd:
        before = told.transaction()
        again = json.loads(json.dumps(record))
        try:
            told.take(values.told(again))
        except ParseError:
            assert told.transaction() == before


@settings(max_examples=30)
@given(st.lists(stories() | st.lists(ODD, max_size=3).map(lambda odd: [BEGIN, *odd]), max_size=4))
def test_what_was_read_before_changes_nothing_that_is_told(stories: list[list[dict[str, Any]]]) -> None:
    known: Known = {}
    for number, story in enumerate([*stories, *stories]):
        assert load(journal(*story), number, known) == load(journal(*story), number)
