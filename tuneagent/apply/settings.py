"""Several numbers and switches as one text: ``adaptive-rx=off rx-usecs=50``."""

from __future__ import annotations

import re
from collections.abc import Mapping

MOST = 0xFFFFFFFF
"""What is a u32 in the kernel."""
LONGEST = 200
_NUMBER = re.compile(r"[0-9]{1,10}")
_SWITCH = {"on": True, "off": False}

Values = dict[str, int]
"""By key; a switch is a bool, which is an int."""


class SettingsError(ValueError):
    """A text that is no such settings."""


def parse(text: str, keys: Mapping[str, type[int]]) -> Values:
    """The values by key, in the order of ``keys``, which says what is a number and what is on or off.

    SettingsError for an unknown or repeated key, a number beyond 32 bits, anything that is not ``key=value`` with
    single blanks between, and for nothing at all.
    """
    if len(text) > LONGEST:
        raise SettingsError(f"a text of {len(text)} characters; at most {LONGEST} are read")
    found: Values = {}
    for word in text.strip(" ").split(" "):
        key, _, value = word.partition("=")
        if key not in keys:
            raise SettingsError(f"{word[:40]!r} where one of {', '.join(keys)} is set, as in {_example(keys)}")
        if key in found:
            raise SettingsError(f"{key} twice")
        found[key] = _value(key, value, keys[key])
    return {key: found[key] for key in keys if key in found}


def spell(values: Mapping[str, int]) -> str:
    """The text that ``parse`` takes."""
    return " ".join(f"{key}={word(value)}" for key, value in values.items())


def word(value: int) -> str:
    """A number in decimal, a switch as on or off."""
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _value(key: str, text: str, kind: type[int]) -> int:
    if kind is bool:
        if text not in _SWITCH:
            raise SettingsError(f"{key} is on or off, and not {text[:40]!r}")
        return _SWITCH[text]
    if not _NUMBER.fullmatch(text) or int(text) > MOST:
        raise SettingsError(f"{key} is a number up to {MOST}, and not {text[:40]!r}")
    return int(text)


def _example(keys: Mapping[str, type[int]]) -> str:
    key, kind = next(iter(keys.items()))
    return f"{key}={'on' if kind is bool else 64}"
