"""Names in the order in which people count: ``rx-2`` before ``rx-10``."""

from __future__ import annotations

import re
from collections.abc import Iterable

_DIGITS = re.compile("([0-9]+)")


def natural(names: Iterable[str]) -> tuple[str, ...]:
    """The names, each run of digits compared as a number."""
    return tuple(sorted(names, key=_key))


def _key(name: str) -> tuple[list[str | int], str]:
    # split() with a group alternates text and digits, so that only like is compared with like; the name itself
    # decides between ``1`` and ``01``.
    parts = _DIGITS.split(name)
    return [int(part) if odd % 2 else part for odd, part in enumerate(parts)], name
