"""Network interfaces as rtnetlink lists them (rtnetlink(7), include/uapi/linux/if_link.h)."""

from __future__ import annotations

import struct
from typing import Any

from tuneagent.machine.netlink import NETLINK_ROUTE, Netlink, attributes, malformed, text, unsigned
from tuneagent.machine.reasons import source_error

NAME = "links"

RTM_GETLINK = 18
IFLA_IFNAME, IFLA_QDISC, IFLA_MASTER, IFLA_TXQLEN, IFLA_LINKINFO = 3, 6, 10, 13, 18
IFLA_STATS64, IFLA_NUM_TX_QUEUES, IFLA_NUM_RX_QUEUES = 23, 31, 32
IFLA_INFO_KIND, IFLA_INFO_DATA = 1, 2
IFLA_TUN_TYPE, IFLA_TUN_VNET_HDR, IFLA_TUN_MULTI_QUEUE, IFLA_TUN_NUM_QUEUES = 3, 5, 7, 8

_IFINFO = struct.Struct("=BxHiII")  # struct ifinfomsg
_STATS64 = struct.Struct("=8Q")  # the first members of struct rtnl_link_stats64
_COUNTERS = ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped")


def read() -> list[dict[str, Any]]:
    """Every interface: ifindex, name, kind (None for a device that is not virtual), qdisc, tx_queues, rx_queues.

    A tun or tap has ``tap`` besides, with all that a hypervisor wants of it: a host may have thousands of them, and one
    dump tells what would take a dozen files each. Raises SourceError.
    """
    body = _IFINFO.pack(0, 0, 0, 0, 0)
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
    kind = _text(information.get(IFLA_INFO_KIND))
    tap = {"tap": _tap(found, attributes(information[IFLA_INFO_DATA]))} if _tells_tap(kind, found, information) else {}
    return tap | {
        "ifindex": _IFINFO.unpack_from(body)[2],
        "name": _text(found.get(IFLA_IFNAME)),
        "kind": kind,
        "qdisc": _text(found.get(IFLA_QDISC)),
        "tx_queues": _number(found.get(IFLA_NUM_TX_QUEUES)),
        "rx_queues": _number(found.get(IFLA_NUM_RX_QUEUES)),
    }


def _tells_tap(kind: str | None, found: dict[int, bytes], information: dict[int, bytes]) -> bool:
    # Kernels before 4.20 tell nothing of a tun but its kind (drivers/net/tun.c, tun_fill_info()).
    return kind == "tun" and IFLA_INFO_DATA in information and len(found.get(IFLA_STATS64, b"")) >= _STATS64.size


def _tap(found: dict[int, bytes], data: dict[int, bytes]) -> dict[str, Any]:
    return {
        "type": _number(data.get(IFLA_TUN_TYPE)),
        "vnet_hdr": bool(_number(data.get(IFLA_TUN_VNET_HDR))),
        "multi_queue": bool(_number(data.get(IFLA_TUN_MULTI_QUEUE))),
        "queues": _number(data.get(IFLA_TUN_NUM_QUEUES)),
        "master": _number(found.get(IFLA_MASTER)),
        "tx_queue_len": _number(found.get(IFLA_TXQLEN)),
        "statistics": dict(zip(_COUNTERS, _STATS64.unpack_from(found[IFLA_STATS64]), strict=True)),
    }


def _text(payload: bytes | None) -> str | None:
    return None if payload is None else text(payload)


def _number(payload: bytes | None) -> int | None:
    return None if payload is None else unsigned(payload)
