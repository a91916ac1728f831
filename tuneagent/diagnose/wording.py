"""Numbers and names in sentences: exact, short, and without anything that a hostile file put into them."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.model.cpuset import MAX_CPUS, CpuSet

NAMES_SHOWN = 6
NAME_LENGTH = 64
SENTENCE_LENGTH = 200


def counted(count: int, noun: str) -> str:
    """``1 queue``, ``1,024 queues``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def named(numbers: Iterable[int], noun: str) -> str:
    """``IRQ 31``, ``IRQs 31, 33 and 3 more``."""
    every = list(numbers)
    return f"{noun} {listed(map(str, every))}" if len(every) == 1 else f"{noun}s {listed(map(str, every))}"


def listed(names: Iterable[str]) -> str:
    """The first names, each on one line and of bounded length, and how many more there are."""
    every = list(names)
    shown = ", ".join(clean(name) for name in every[:NAMES_SHOWN])
    return shown if len(every) <= NAMES_SHOWN else f"{shown} and {len(every) - NAMES_SHOWN:,} more"


def clean(text: str, length: int = NAME_LENGTH) -> str:
    """The text without control characters, cut to a length."""
    if len(text) <= length and text.isprintable():
        return text
    printable = "".join(char if char.isprintable() else "?" for char in text[:length])
    return printable if len(text) <= length else f"{printable}…"


def cpu_list(cpus: Iterable[int]) -> str:
    """``CPU 0``, ``CPUs 0-3,8``; ``no CPU`` for none."""
    members = CpuSet.of(cpu for cpu in cpus if 0 <= cpu < MAX_CPUS)
    if not members:
        return "no CPU"
    return f"CPU {members}" if len(members) == 1 else f"CPUs {members}"
