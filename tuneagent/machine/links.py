"""Network interfaces as rtnetlink lists them (rtnetlink(7), include/uapi/linux/if_link.h)."""

from __future__ import annotations

import struct
from typing import Any

from tuneagent.machine.netlink import NETLINK_ROUTE, Netlink, attributes, malformed, text, u32, unsigned
from tuneagent.machine.reasons import source_error

NAME = "links"

RTM_GETLINK = 18
IFLA_IFNAME, IFLA_QDISC, IFLA_LINKINFO = 3, 6, 18
IFLA_EXT_MASK, IFLA_NUM_TX_QUEUES, IFLA_NUM_RX_QUEUES = 29, 31, 32
IFLA_INFO_KIND = 1
RTEXT_FILTER_SKIP_STATS = 1 << 3

_IFINFO = struct.Struct("=BxHiII")  # struct ifinfomsg


def read() -> list[dict[str, Any]]:
    """Every interface: ifindex, name, kind (None for a device that is not virtual), qdisc, tx_queues, rx_queues.

    Raises SourceError.
    """
    body = _IFINFO.pack(0, 0, 0, 0, 0) + u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS)
    try:
        with Netlink(NETLINK_ROUTE) as netlink:
            return [link(answer) for answer in netlink.dump(RTM_GETLINK, body)]
    except OSError as error:
        raise source_error(NAME, error) from None


def link(body: bytes) -> dict[str, Any]:
    """One RTM_NEWLINK message; NetlinkError where it is not well formed."""
    if len(body) < _IFINFO.size:
        raise malformed("an ifinfomsg is cut off")
    found = attributes(body[_IFINFO.size :])
    information = attributes(found.get(IFLA_LINKINFO, b""))
    return {
        "ifindex": _IFINFO.unpack_from(body)[2],
        "name": _text(found.get(IFLA_IFNAME)),
        "kind": _text(information.get(IFLA_INFO_KIND)),
        "qdisc": _text(found.get(IFLA_QDISC)),
        "tx_queues": _number(found.get(IFLA_NUM_TX_QUEUES)),
        "rx_queues": _number(found.get(IFLA_NUM_RX_QUEUES)),
    }


def _text(payload: bytes | None) -> str | None:
    return None if payload is None else text(payload)


def _number(payload: bytes | None) -> int | None:
    return None if payload is None else unsigned(payload)
