"""Whether an XDP program is loaded on an interface (IFLA_XDP, include/uapi/linux/if_link.h)."""

from __future__ import annotations

import struct

from tuneagent.machine.links import RTM_GETLINK
from tuneagent.machine.netlink import NETLINK_ROUTE, Netlink, attributes, malformed, unsigned

IFLA_XDP, IFLA_XDP_ATTACHED = 43, 2
_IFINFO = struct.Struct("=BxHiII")  # struct ifinfomsg


def loaded(index: int) -> bool:
    """Whether one is, by the interface's number, in whatever mode. Raises NetlinkError."""
    with Netlink(NETLINK_ROUTE) as netlink:
        answers = netlink.request(RTM_GETLINK, _IFINFO.pack(0, 0, index, 0, 0))
    if not answers or len(answers[0]) < _IFINFO.size:
        raise malformed("an ifinfomsg is cut off")
    told = attributes(attributes(answers[0][_IFINFO.size :]).get(IFLA_XDP, b""))
    return bool(unsigned(told[IFLA_XDP_ATTACHED])) if IFLA_XDP_ATTACHED in told else False
