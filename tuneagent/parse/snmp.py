"""/proc/net/snmp and /proc/net/netstat (net/ipv4/proc.c): a line of names, then a line of values, a protocol each."""

from __future__ import annotations

import re

from tuneagent.model.counters import Protocols
from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import numbered, shown

_VALUE = re.compile(r"-?[0-9]{1,20}")
"""Values are 64-bit counters, but for a few that are signed: Tcp MaxConn is -1."""


def parse(text: str) -> Protocols:
    """Counters by protocol and name, as the kernel spells both.

    ParseError with the line: a line without protocol, names without values, names and values that differ in number,
    a name or protocol that occurs twice, a value that is no number. EMPTY for a text with nothing in it.
    """
    lines = numbered(text)
    counters: dict[str, dict[str, int]] = {}
    for (line, names), (below, values) in zip(lines[::2], lines[1::2], strict=False):
        protocol, heads = _split(names, line)
        same, words = _split(values, below)
        if same != protocol or protocol in counters:
            raise ParseError(f"{shown(same)} where the values of {shown(protocol)} belong", below)
        counters[protocol] = _pairs(heads, words, below)
    if len(lines) % 2:
        raise ParseError("names without a line of values", lines[-1][0])
    return Protocols(counters)


def _split(content: str, line: int) -> tuple[str, list[str]]:
    protocol, colon, rest = content.partition(":")
    if not colon or not protocol or len(protocol.split()) > 1:
        raise ParseError(f"a line without protocol: {shown(content)}", line)
    return protocol, rest.split()


def _pairs(names: list[str], words: list[str], line: int) -> dict[str, int]:
    if len(names) != len(words):
        raise ParseError(f"{len(words)} values for {len(names)} names", line)
    for word in words:
        if not _VALUE.fullmatch(word):
            raise ParseError(f"{shown(word)} is not a number", line)
    pairs = {name: int(word) for name, word in zip(names, words, strict=True)}
    if len(pairs) < len(names):
        raise ParseError("a name occurs twice", line - 1)
    return pairs
