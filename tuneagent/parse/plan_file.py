"""A file of changes to make: what ``tuneagent advise --json`` or ``apply --check --json`` wrote, or a list by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from tuneagent.model.apply_report import PlannedChange
from tuneagent.model.errors import ParseError
from tuneagent.model.plan import Change, Target, TunableKind
from tuneagent.parse.json_values import array, boolean, mapping, member, natural
from tuneagent.parse.lines import require_printable, shown
from tuneagent.parse.plan_values import require_complete, require_fit

MOST_CHANGES = 10_000
"""64 pins are many for one interface; of a host's thousand virtual machines each may have a few."""
MOST_FAULTS = 50
LONGEST_TEXT = 65_536
"""Characters of one value: a line that bans a thousand interrupts has 14,000, an interface's element 2,000."""
_OF_A_DOMAIN = "domain "
"""How the subject of a virtual machine begins; no interface's name holds a blank."""
_NUMBERS = frozenset({"queue", "position", "ifindex", "irq", "tid", "start_ticks"})
_TRUTHS = frozenset({"kernel_thread"})
_CHANGE_KEYS = frozenset(one.name for one in fields(Change)) | {"policy", "subject"}
_TARGET_KEYS = tuple(one.name for one in fields(Target))


@dataclass(frozen=True, slots=True)
class PlanFile:
    """What the file asks for, in its order."""

    changes: tuple[PlannedChange, ...]
    inside: tuple[PlannedChange, ...]
    """Those that are made inside a virtual machine of the host that was looked at, and not on this one."""


class PlanFileError(ValueError):
    """The file is no plan. ``faults`` has each with its place: ``$.changes[2].target.queue: …``."""

    def __init__(self, faults: tuple[str, ...]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def parse(value: Any) -> PlanFile:
    """The changes in a JSON value; PlanFileError with every fault. Unknown members of a change are faults too.

    Either ``{"changes": [...]}`` or ``{"advice": [{"changes": [...]}]}``; beside these anything may stand.
    """
    faults: list[str] = []
    found: list[PlannedChange] = []
    inside: list[PlannedChange] = []
    try:
        for one in _places(value):
            _collect(one, faults, inside if one.inside else found)
    except ParseError as error:
        faults.append(error.detail)
    faults += _twice(found)
    if faults:
        raise PlanFileError(tuple(faults))
    return PlanFile(tuple(found), tuple(inside))


@dataclass(frozen=True, slots=True)
class _Place:
    """One member of a list of changes, where it stands, and what the advice around it says."""

    value: Any
    where: str
    policy: str = ""
    subject: str = ""
    inside: bool = False


def _places(value: Any) -> Iterator[_Place]:
    document = mapping(value, "$")
    if "changes" in document:
        lists = [("$.changes", document["changes"], _Place(None, ""))]
    elif "advice" in document:
        lists = list(_advice(array(document["advice"], "$.advice", MOST_CHANGES)))
    else:
        raise ParseError("$: has neither a member changes nor a member advice")
    count = 0
    for where, changes, around in lists:
        for number, one in enumerate(array(changes, where, MOST_CHANGES)):
            count += 1
            if count > MOST_CHANGES:
                raise ParseError(f"{where}: more than {MOST_CHANGES} changes in all")
            yield _Place(one, f"{where}[{number}]", around.policy, around.subject, around.inside)


def _advice(advice: list[Any]) -> Iterator[tuple[str, Any, _Place]]:
    for number, value in enumerate(advice):
        where = f"$.advice[{number}]"
        one = mapping(value, where)
        if "changes" not in one:
            raise ParseError(f"{where}: has no member changes")
        subject = _text(one.get("subject", ""), f"{where}.subject")
        inside = one.get("role") == "guest" and subject.startswith(_OF_A_DOMAIN)
        yield where + ".changes", one["changes"], _Place(None, "", _text(one.get("policy", ""), where), subject, inside)


def _collect(place: _Place, faults: list[str], into: list[PlannedChange]) -> None:
    if len(faults) > MOST_FAULTS:
        raise ParseError("… and more")
    try:
        into.append(_change(place))
    except ParseError as error:
        faults.append(error.detail)


def _change(place: _Place) -> PlannedChange:
    where = place.where
    members = mapping(place.value, where)
    _known(members, _CHANGE_KEYS, where)
    kind = _kind(_required(members, "kind", where), f"{where}.kind")
    target = _target(_required(members, "target", where), f"{where}.target")
    new = _text(_required(members, "new", where), f"{where}.new")
    require_complete(kind, target, f"{where}.target")
    require_fit(kind, target, new, f"{where}.new")
    change = Change(
        kind=kind,
        target=target,
        where=_text(members.get("where", ""), f"{where}.where"),
        old=None if members.get("old") is None else _text(members["old"], f"{where}.old"),
        new=new,
        why=_text(members.get("why", ""), f"{where}.why"),
        do="",
        undo=None,
        elsewhere=tuple(_elsewhere(members, kind, target, where)),
        diff=tuple(_texts(members.get("diff", []), f"{where}.diff")),
    )
    policy = _text(members.get("policy", place.policy), f"{where}.policy")
    return PlannedChange(policy, _text(members.get("subject", place.subject), f"{where}.subject"), change)


def _elsewhere(members: dict[str, Any], kind: TunableKind, target: Target, where: str) -> Iterator[str]:
    for number, value in enumerate(_texts(members.get("elsewhere", []), f"{where}.elsewhere")):
        require_fit(kind, target, value, f"{where}.elsewhere[{number}]")
        yield value


def _texts(value: Any, where: str) -> Iterator[str]:
    return (_text(one, f"{where}[{number}]") for number, one in enumerate(array(value, where, MOST_CHANGES)))


def _known(members: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    for key in members:
        if key not in known:
            raise ParseError(f"{member(where, key)}: not known here; a member is one of {', '.join(sorted(known))}")


def _required(members: dict[str, Any], key: str, where: str) -> Any:
    if key not in members:
        raise ParseError(f"{where}: has no member {key}")
    return members[key]


def _text(value: Any, where: str) -> str:
    """A printable text, possibly empty."""
    if not isinstance(value, str):
        raise ParseError(f"{where}: {_word(value)}, not a string")
    if len(value) > LONGEST_TEXT:
        raise ParseError(f"{where}: longer than {LONGEST_TEXT} characters")
    try:
        require_printable(value, None)
    except ParseError as error:
        raise ParseError(f"{where}: {error.detail}") from error
    return value


def _word(value: Any) -> str:
    names = {dict: "an object", list: "an array", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _kind(value: Any, where: str) -> TunableKind:
    word = _text(value, where)
    try:
        return TunableKind(word)
    except ValueError:
        raise ParseError(f"{where}: {shown(word)} is none of {', '.join(TunableKind)}") from None


def _target(value: Any, where: str) -> Target:
    members = mapping(value, where)
    _known(members, frozenset(_TARGET_KEYS), where)
    return Target(**{key: _part(key, one, f"{where}.{key}") for key, one in members.items() if one is not None})


def _part(key: str, value: Any, where: str) -> Any:
    if key in _NUMBERS:
        return natural(value, where)
    if key in _TRUTHS:
        return boolean(value, where)
    text = _text(value, where)
    if not text:
        raise ParseError(f"{where}: an empty string; null says that it does not apply")
    return text


def _twice(found: list[PlannedChange]) -> Iterator[str]:
    seen: dict[tuple[TunableKind, Target], tuple[int, str]] = {}
    for number, one in enumerate(found):
        key = one.change.kind, one.change.target
        first, value = seen.setdefault(key, (number, one.change.new))
        if value != one.change.new:
            yield (
                f"changes {first} and {number}, counted from 0, want {shown(value)} and {shown(one.change.new)} of "
                f"the same {one.change.kind}"
            )
