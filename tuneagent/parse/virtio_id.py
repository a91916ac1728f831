"""/sys/bus/virtio/devices/virtioN/device: the VIRTIO_ID_* in hexadecimal (drivers/virtio/virtio.c ``device_show``)."""

from __future__ import annotations

import re

from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import shown, single

_ID = re.compile(r"0x([0-9a-fA-F]{1,8})")


def parse(text: str) -> int:
    """``0x0001`` is 1; ParseError for anything else than one hexadecimal number of 32 bits."""
    word = single(text)
    match = _ID.fullmatch(word)
    if match is None:
        raise ParseError(f"{shown(word)} is not 0x and up to eight hexadecimal digits", 1)
    return int(match[1], 16)
