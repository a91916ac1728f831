"""Policy texts → policies, or every fault of every file with its line and column."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tuneagent.model.policy import Policy
from tuneagent.plan.fault import Fault, PolicyError, shown
from tuneagent.plan.policy_yaml import Document, Path, read

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_FILES = 1000
_LIST = "; `tuneagent explain` lists them"


def load(texts: Mapping[str, str], rules: frozenset[str]) -> tuple[Policy, ...]:
    """The policies of these files (path → text), ordered by name.

    ``rules`` are the names that ``when`` may hold. Raises :class:`PolicyError` with all faults, sorted by place; then
    no policy is to be used. Never opens a file.
    """
    if len(texts) > MAX_FILES:
        raise PolicyError(
            [Fault(next(iter(texts)), 1, 1, f"{len(texts)} policy files", f"expected at most {MAX_FILES}")]
        )
    faults: list[Fault] = []
    policies: list[Policy] = []
    for path in sorted(texts):
        policy, found = _load_one(path, texts[path], rules)
        faults.extend(found)
        if policy is not None:
            policies.append(policy)
    faults.extend(_same_names(policies))
    if faults:
        raise PolicyError(faults)
    return tuple(sorted(policies, key=lambda policy: policy.name))


def _load_one(path: str, text: str, rules: frozenset[str]) -> tuple[Policy | None, list[Fault]]:
    document = read(path, text)
    if document.value is None and document.faults:
        return None, document.faults
    policy, faults = _validate(path, document)
    faults.extend(_unknown_rules(path, document, rules))
    faults.extend(_wrong_name(path, document))
    faults.extend(_repeated_actions(path, document))
    told = {(fault.line, fault.column) for fault in document.faults}
    later = [fault for fault in faults if (fault.line, fault.column) not in told]
    return policy, [*document.faults, *later]


def _validate(path: str, document: Document) -> tuple[Policy | None, list[Fault]]:
    # pydantic costs some 40 ms to import, and only loading policies needs it.
    from pydantic import ValidationError  # noqa: PLC0415

    from tuneagent.plan.policy_schema import PolicyFile  # noqa: PLC0415

    try:
        return PolicyFile.model_validate(document.value).policy(path), []
    except ValidationError as error:
        details = error.errors(include_url=False)
        meant = set(_meant(details))
        return None, [
            _translate(path, document, detail)
            for detail in details
            if detail["type"] != "missing" or detail["loc"] not in meant
        ]


def _meant(details: Iterable[ErrorDetails]) -> Iterator[tuple[int | str, ...]]:
    """Keys that unknown ones nearly spell: that they are missing is told with the unknown one already."""
    for detail in details:
        close = _close(detail["loc"][-1], _known_keys(detail["loc"])) if detail["type"] == "extra_forbidden" else ()
        yield from ((*detail["loc"][:-1], name) for name in close)


def _translate(path: str, document: Document, detail: ErrorDetails) -> Fault:
    """Pydantic's error as one of ours: its ``loc`` without the union tags that are no place in the file."""
    where: Path = ()
    for step in detail["loc"]:
        if (*where, step) in document.values:
            where = (*where, step)
    kind = detail["type"]
    if kind == "missing":
        place = document.place(where)
        return Fault(path, place.line, place.column, f"no key {shown(detail['loc'][-1])}", "expected it here")
    if kind == "extra_forbidden":
        place = document.place(where, key=True)
        return Fault(path, place.line, place.column, f"unknown key {shown(where[-1])}", _allowed(detail["loc"]))
    if kind.startswith("union_tag") and (*where, "action") in document.values:
        where = (*where, "action")
    place = document.place(where)
    return Fault(path, place.line, place.column, _found(document, where), _expected(detail))


def _found(document: Document, where: Path) -> str:
    value = document.value
    for step in where:
        value = value[step]
    if isinstance(value, dict | list):
        kind = "mapping" if isinstance(value, dict) else f"list of {len(value)}"
        return f"found a {kind}"
    if value is None:
        return "found nothing"
    return f"found {str(value).lower() if isinstance(value, bool) else shown(value)}"


_WORDS = {
    "string_type": "expected text",
    "int_type": "expected a whole number",
    "float_type": "expected a number",
    "list_type": "expected a list",
    "model_type": "expected a mapping",
    "model_attributes_type": "expected a mapping",
    "union_tag_not_found": "expected a mapping with the key 'action'",
}
_BOUNDS = {
    "too_short": ("at least", "min_length", "items"),
    "too_long": ("at most", "max_length", "items"),
    "string_too_short": ("at least", "min_length", "characters"),
    "string_too_long": ("at most", "max_length", "characters"),
}
_PATTERNS = {
    "^[a-z][a-z0-9]*(-": "expected small letters, digits and single dashes between them",
    "^[a-z][a-z0-9]*(_": "expected small letters, digits and single underscores between them",
    r"^\S": "expected one line without blanks around it",
}


def _expected(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern", ""))
        return next((text for start, text in _PATTERNS.items() if pattern.startswith(start)), f"expected {pattern}")
    if kind in {"literal_error", "union_tag_invalid"}:
        names = str(context.get("expected", context.get("expected_tags", ""))).replace("'", "").replace(" or ", ", ")
        return _one_of(detail["input"], [name.strip() for name in names.split(",")])
    if kind in _BOUNDS:
        word, bound, of = _BOUNDS[kind]
        return f"expected {word} {context.get(bound)} {of}"
    if kind == "value_error":
        return f"expected {context.get('error', detail['msg'])}"
    return _WORDS.get(kind) or detail["msg"].replace("Input should be", "expected")


def _one_of(given: Any, names: Sequence[str]) -> str:
    text = given.get("action") if isinstance(given, dict) else given
    return f"expected one of {', '.join(names)}{_nearest(text, names)}"


def _nearest(given: object, names: Iterable[str]) -> str:
    close = _close(given, names)
    return f"; did you mean {close[0]}?" if close else ""


def _close(given: object, names: Iterable[str]) -> list[str]:
    """The nearest name, if any is near; capitals and the wrong dash are the nearest misses of all."""
    if not isinstance(given, str):
        return []
    spelled = {name.lower().replace("_", "-"): name for name in sorted(names)}
    close = difflib.get_close_matches(given[:80].strip().lower().replace("_", "-"), list(spelled), n=1)
    return [spelled[name] for name in close]


def _allowed(loc: tuple[int | str, ...]) -> str:
    return _one_of(loc[-1], _known_keys(loc))


def _known_keys(loc: tuple[int | str, ...]) -> list[str]:
    """The keys of the mapping that this key stands in."""
    from tuneagent.plan import policy_schema  # noqa: PLC0415 - see _validate

    models: dict[str | int, Any] = {
        "changes": next(
            (model for action, model in policy_schema.WITH_VALUES.items() if action in loc), policy_schema.PlainChange
        ),
        "expects": policy_schema.FileExpectation,
        "guards": policy_schema.FileGuard,
    }
    inner = len(loc) > 1
    model: Any = models[loc[0]] if inner else policy_schema.PolicyFile
    return list(model.model_fields)


def _rule_names(document: Document) -> Iterator[tuple[Path, str]]:
    """Every rule that the file names, and where: in its own ``when`` and in those of its figures."""
    root = document.value if isinstance(document.value, dict) else {}
    expects = root.get("expects")
    holders: list[tuple[Path, object]] = [((), root)]
    holders.extend((("expects", index), one) for index, one in enumerate(expects if isinstance(expects, list) else []))
    for where, holder in holders:
        when = holder.get("when") if isinstance(holder, dict) else None
        for index, rule in enumerate(when if isinstance(when, list) else []):
            if isinstance(rule, str):
                yield (*where, "when", index), rule


def _unknown_rules(path: str, document: Document, rules: frozenset[str]) -> Iterator[Fault]:
    for where, rule in _rule_names(document):
        if rule not in rules:
            place = document.place(where)
            yield Fault(
                path,
                place.line,
                place.column,
                f"found {shown(rule)}",
                f"expected the name of a rule{_nearest(rule, rules) or _LIST}",
            )


def _wrong_name(path: str, document: Document) -> Iterator[Fault]:
    name = document.value.get("name") if isinstance(document.value, dict) else None
    stem = path.rsplit("/", 1)[-1].removesuffix(".yaml").removesuffix(".yml")
    if isinstance(name, str) and name != stem:
        place = document.place(("name",))
        yield Fault(
            path, place.line, place.column, f"found {shown(name)}", f"expected {shown(stem)}, the file's own name"
        )


def _repeated_actions(path: str, document: Document) -> Iterator[Fault]:
    changes = document.value.get("changes") if isinstance(document.value, dict) else None
    seen: set[str] = set()
    for index, change in enumerate(changes if isinstance(changes, list) else []):
        action = change.get("action") if isinstance(change, dict) else None
        if isinstance(action, str) and action in seen:
            place = document.place(("changes", index, "action"))
            yield Fault(path, place.line, place.column, f"found {shown(action)} again", "expected each action once")
        elif isinstance(action, str):
            seen.add(action)


def _same_names(policies: Sequence[Policy]) -> Iterator[Fault]:
    first: dict[str, str] = {}
    for policy in policies:
        if policy.name in first:
            yield Fault(
                policy.path, 1, 1, f"a second policy {shown(policy.name)}", f"the first is {first[policy.name]}"
            )
        first.setdefault(policy.name, policy.path)
