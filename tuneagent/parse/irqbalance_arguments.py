"""The options of irqbalance that decide what it leaves alone (irqbalance.c ``parse_command_line``, irqbalance(1))."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuneagent.parse.lines import U32_MAX, shown

_LONG = {
    "banirq": "i",
    "banmod": "m",
    "debug": "d",
    "deepestcache": "c",
    "foreground": "f",
    "hintpolicy": "h",
    "interval": "t",
    "journal": "J",
    "migrateval": "e",
    "oneshot": "o",
    "pid": "s",
    "policyscript": "l",
    "powerthresh": "p",
    "usage": "u",
    "version": "V",
}
_WITH_VALUE = frozenset("cehilmpst")
_MAX_TOKENS = 65_536


@dataclass(frozen=True, slots=True)
class IrqbalanceArguments:
    """What a command line or an options variable of irqbalance asks for."""

    banned_irqs: frozenset[int]
    banned_modules: tuple[str, ...]
    policy_script: str | None
    """The last one given, as getopt_long's loop keeps it."""
    errors: tuple[str, ...]


def parse_arguments(tokens: Sequence[str]) -> IrqbalanceArguments:
    """The bans among the options, in every spelling of getopt_long: ``--banirq=3``, ``--banirq 3``, ``-i 3``, ``-fi3``.

    A fault becomes an entry of ``errors``: irqbalance itself reads an empty ``--banirq=`` as IRQ 0.
    """
    irqs: set[int] = set()
    modules: list[str] = []
    script: str | None = None
    errors: list[str] = []
    for option, value in _options(tokens[:_MAX_TOKENS]):
        if option == "i":
            fault = _ban(value, irqs)
            errors.extend([fault] if fault else [])
        elif option in {"m", "l"} and not value:
            errors.append(f"{'--banmod' if option == 'm' else '--policyscript'} without a value")
        elif option == "m" and value:
            modules.append(value)
        elif option == "l":
            script = value
    return IrqbalanceArguments(frozenset(irqs), tuple(modules), script, tuple(errors))


def irqbalance_command(argv: Sequence[str]) -> IrqbalanceArguments:
    """The same for the command line of a running irqbalance, whose first word is its own name."""
    return parse_arguments(argv[1:])


def _ban(value: str | None, irqs: set[int]) -> str | None:
    if not value or value.isspace():
        return "--banirq without a number, which irqbalance takes as IRQ 0"
    word = value.strip()
    if not (word.isascii() and word.isdigit() and len(word) <= len(str(U32_MAX)) and int(word) <= U32_MAX):
        return f"--banirq {shown(word)} is not one interrupt number"
    irqs.add(int(word))
    return None


def _options(tokens: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Option letters with their values; None where a value is missing. Words that are no options are passed over."""
    rest = iter(tokens)
    for word in rest:
        if word == "--":
            return
        if word.startswith("--"):
            yield from _long(word[2:], rest)
        elif word.startswith("-"):
            yield from _short(word[1:], rest)


def _long(word: str, rest: Iterator[str]) -> Iterator[tuple[str, str | None]]:
    name, equals, value = word.partition("=")
    # getopt_long takes any beginning that fits one option only.
    fits = [name] if name in _LONG else [option for option in _LONG if name and option.startswith(name)]
    if len(fits) != 1:
        return
    letter = _LONG[fits[0]]
    if letter not in _WITH_VALUE:
        yield letter, None
    else:
        yield letter, value if equals else next(rest, None)


def _short(letters: str, rest: Iterator[str]) -> Iterator[tuple[str, str | None]]:
    for index, letter in enumerate(letters):
        if letter in _WITH_VALUE:
            yield letter, letters[index + 1 :] or next(rest, None)
            return
        yield letter, None
