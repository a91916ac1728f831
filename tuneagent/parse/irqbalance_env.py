"""The environment file of irqbalance: systemd.exec(5) ``EnvironmentFile=``, or a shell's, in /etc.

Debian has /etc/default/irqbalance with IRQBALANCE_ARGS (before: OPTIONS), RHEL /etc/sysconfig/irqbalance with
IRQBALANCE_ARGS, Gentoo and Arch /etc/conf.d/irqbalance with IRQBALANCE_OPTS. Where both are set,
IRQBALANCE_BANNED_CPULIST counts here, as its successor, although there are versions whose cputree.c looks at the
deprecated IRQBALANCE_BANNED_CPUS first. Those test both for their length: an empty one yields to the other.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.model.irqbalance import IrqbalanceConfig
from tuneagent.parse import cpulist, cpumask
from tuneagent.parse.irqbalance_arguments import IrqbalanceArguments, parse_arguments
from tuneagent.parse.irqbalance_plain_line import plain_line
from tuneagent.parse.lines import require_printable

MAX_LENGTH = 1 << 18
_OPTION_KEYS = ("IRQBALANCE_ARGS", "IRQBALANCE_OPTS", "OPTIONS")
_CPULIST = "IRQBALANCE_BANNED_CPULIST"
_CPUS = "IRQBALANCE_BANNED_CPUS"
_ASSIGNMENT = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


class _Value(NamedTuple):
    line: int
    text: str


def parse(text: str, path: str) -> IrqbalanceConfig:
    """What the file sets; ``path`` is only copied into the result. An empty file sets nothing.

    Faults become entries of ``errors``, each with its line, and never stop the rest. Where a variable is set twice
    the later wins. ParseError for a text that is no environment file at all: unprintable or above MAX_LENGTH.
    """
    if len(text) > MAX_LENGTH:
        raise ParseError(f"more than {MAX_LENGTH} characters")
    errors: list[str] = []
    values = _values(text, errors)
    key = next((key for key in _OPTION_KEYS if key in values), None)
    options, arguments = _options(values.get(key or ""), errors)
    keys = [key for key in (_CPULIST, _CPUS) if key in values]
    cpus_key = next((key for key in keys if values[key].text.strip()), keys[0] if keys else None)
    cpus = _banned_cpus(cpus_key, values[cpus_key], errors) if cpus_key else None
    line, hand_only = plain_line(text, key)
    return IrqbalanceConfig(
        path=path,
        key=key,
        options=options,
        banned_irqs=arguments.banned_irqs,
        banned_modules=arguments.banned_modules,
        policy_script=arguments.policy_script,
        banned_cpus=cpus,
        banned_cpus_key=cpus_key,
        errors=tuple(errors),
        deprecated_keys=(_CPUS,) if _CPUS in values else (),
        plain_line=line,
        hand_only=hand_only,
    )


def _values(text: str, errors: list[str]) -> dict[str, _Value]:
    values: dict[str, _Value] = {}
    for line, content in _logical_lines(text):
        match = _ASSIGNMENT.fullmatch(content)
        if match is None:
            errors.append(f"line {line}: neither a comment nor KEY=VALUE")
            continue
        try:
            values[match[1]] = _Value(line, _unquoted(match[2]))
        except ValueError as error:
            errors.append(f"line {line}: {str(error).lower()}")
    return values


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that are neither blank nor comments; one that ends in a backslash goes on in the next."""
    started, joined = 0, ""
    for line, raw in enumerate(text.split("\n"), 1):
        content = raw.strip()
        require_printable(content, line)
        if not joined and content[:1] in {"", "#", ";"}:
            continue
        started = started if joined else line
        joined += content.removesuffix("\\")
        if content.endswith("\\"):
            joined += " "
            continue
        yield started, joined.strip()
        joined = ""
    if joined.strip():
        yield started, joined.strip()


def _unquoted(value: str) -> str:
    """The value without its quotes and without a comment behind it; ValueError for a quote that is not closed."""
    lexer = shlex.shlex(value, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    for word in lexer:
        if word.startswith("#"):
            break
        words.append(word)
    return " ".join(words)


def _options(value: _Value | None, errors: list[str]) -> tuple[tuple[str, ...], IrqbalanceArguments]:
    if value is None:
        return (), parse_arguments(())
    try:
        options = tuple(shlex.split(value.text))
    except ValueError as error:
        errors.append(f"line {value.line}: {str(error).lower()}")
        options = tuple(value.text.split())
    arguments = parse_arguments(options)
    errors.extend(f"line {value.line}: {fault}" for fault in arguments.errors)
    return options, arguments


def _banned_cpus(key: str, value: _Value, errors: list[str]) -> CpuSet | None:
    if not value.text.strip():
        return CpuSet()
    try:
        return cpulist.parse(value.text) if key == _CPULIST else cpumask.parse(value.text)
    except ParseError as error:
        errors.append(f"line {value.line}: {key}: {error.detail}")
        return None
