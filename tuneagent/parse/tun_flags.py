"""/sys/class/net/NAME/tun_flags of tuns and taps, a hexadecimal number (include/uapi/linux/if_tun.h)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import shown, single

IFF_TAP = 0x2
IFF_MULTI_QUEUE = 0x100
IFF_VNET_HDR = 0x4000
TYPE_MASK = 0xF
_NUMBER = re.compile(r"0x[0-9a-fA-F]{1,8}")


@dataclass(frozen=True, slots=True)
class TunFlags:
    """What of the flags tells a virtual machine's tap."""

    tap: bool
    """It carries Ethernet frames; False for a tunnel of IP packets."""
    multi_queue: bool
    vnet_hdr: bool
    """Packets come with virtio's header: who opened it is a virtual machine monitor, and no VPN."""


def parse(text: str) -> TunFlags:
    """The flags; ParseError where they are no number of the kernel's."""
    word = single(text)
    if not _NUMBER.fullmatch(word):
        raise ParseError(f"{shown(word)} is not a hexadecimal number", 1)
    return of(int(word, 16))


def of(flags: int) -> TunFlags:
    """The flags as a number."""
    return TunFlags(flags & TYPE_MASK == IFF_TAP, bool(flags & IFF_MULTI_QUEUE), bool(flags & IFF_VNET_HDR))
