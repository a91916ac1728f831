"""QEMU's command line, as far as it says which virtual machine it runs (qemu(1), ``-name`` and ``-uuid``)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

MAX_NAME = 1024
"""Characters; libvirt's names are at most 255 bytes where they become file names."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_COMMA = "\0"
"""Stands for an escaped comma while options are parted; no word of a command line holds it."""


@dataclass(frozen=True, slots=True)
class QemuCommand:
    """What a command line calls its virtual machine; None where it does not, or not in a way that can be used."""

    uuid: str | None
    """Lower case."""
    name: str | None


def parse(words: Sequence[str]) -> QemuCommand:
    """UUID and name of a command line's words, the first of which is the program. As in QEMU, the last one counts."""
    uuid = name = None
    for option, value in pairwise(words[1:]):
        if option in {"-uuid", "--uuid"}:
            uuid = value.lower() if _UUID.fullmatch(value.lower()) else None
        elif option in {"-name", "--name"}:
            name = _guest(value) or name
    return QemuCommand(uuid, name)


def _guest(value: str) -> str | None:
    """``guest=`` of the options, or the first one where it has no key (QEMU's util/qemu-option.c)."""
    guest = None
    for position, option in enumerate(value.replace(",,", _COMMA).split(",")):
        key, equals, told = option.partition("=")
        if position == 0 and (not equals or _COMMA in key):
            guest = option
        elif equals and key == "guest":
            guest = told
    guest = guest.replace(_COMMA, ",") if guest else None
    return guest if guest and guest.isprintable() and len(guest) <= MAX_NAME else None
