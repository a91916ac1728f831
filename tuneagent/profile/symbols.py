"""Names of functions that differ by what the compiler made of them, not by what they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_VARIANT = re.compile(r"(?:\.(?:isra|constprop|part|llvm|lto_priv|specialized)(?:\.[0-9]{1,20})?)+$")
"""Names of copies that GCC and clang make of a function; .cold is another part of its code, and stays."""


def common_names(*profiles: Iterable[str]) -> dict[str, str]:
    """Symbol → the name under which these profiles have it in common.

    Without the dot that ppc64 puts before code. Without ``.isra.0`` and the like too, for each compiler numbers them
    anew; unless one profile has two functions that differ by them only: those are told apart everywhere.
    """
    several: set[str] = set()
    symbols: set[str] = set()
    for profile in profiles:
        own = set(profile)
        symbols |= own
        dotless = {_dotless(symbol) for symbol in own}
        counts = Counter(_plain(symbol) for symbol in dotless)
        several |= {name for name, count in counts.items() if count > 1}
    return {symbol: _dotless(symbol) if _plain(symbol) in several else _plain(symbol) for symbol in symbols}


def _dotless(symbol: str) -> str:
    return symbol.lstrip(".") or symbol


def _plain(symbol: str) -> str:
    name = _dotless(symbol)
    return _VARIANT.sub("", name) or name
