"""/sys/bus/virtio/devices/virtioN/features (drivers/virtio/virtio.c ``features_show``)."""

from __future__ import annotations

from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import shown, single

MAX_BITS = 4096
"""Kernels print 64 bits, newer ones 128; later ones may print more."""


def parse(text: str) -> frozenset[int]:
    """Bits negotiated: character *i*, from the left, is bit *i*. It is no binary number, and no zero may be stripped.

    ParseError for another character than 0 and 1, for more than MAX_BITS and, EMPTY, for none.
    """
    bits = single(text)
    if len(bits) > MAX_BITS or not set(bits) <= {"0", "1"}:
        raise ParseError(f"{shown(bits)} is not a string of up to {MAX_BITS} bits", 1)
    return frozenset(index for index, bit in enumerate(bits) if bit == "1")
