"""Driver information and the counters that drivers name themselves: SIOCETHTOOL (include/uapi/linux/ethtool.h).

Netlink has no message for either: ETHTOOL_MSG_STATS_GET gives standard groups only.
"""

from __future__ import annotations

import array
import errno
import fcntl
import os
import socket
import struct
from typing import Any

from tuneagent.machine.reasons import reason_of

SIOCETHTOOL = 0x8946
ETHTOOL_GDRVINFO, ETHTOOL_GSTRINGS, ETHTOOL_GSTATS, ETHTOOL_GSSET_INFO = 0x03, 0x1B, 0x1D, 0x37
ETH_SS_STATS = 1
ETH_GSTRING_LEN = 32
IFNAMSIZ = 16
MAX_STRINGS = 65_536

_IFREQ = struct.Struct(f"{IFNAMSIZ}sP16x")
_DRVINFO = struct.Struct("=I32s32s32s32s32s12xIIIII")
_SSET_INFO = struct.Struct("=IIQI")
_STRINGS = struct.Struct("=III")
_STATS = struct.Struct("=II")


def read(name: str, *, statistics: bool) -> dict[str, Any]:
    """driver, bus_info (None where the driver does not say) and statistics by the driver's names, or their error.

    ``statistics`` is None where it was not asked for. Raises OSError where there is no socket to ask through.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as control:
        driver, bus_info = _driver(control, name)
        counters = _statistics(control, name) if statistics else None
    return {"driver": driver, "bus_info": bus_info, "statistics": counters}


def _driver(control: socket.socket, name: str) -> tuple[str | None, str | None]:
    buffer = bytearray(_DRVINFO.size)
    struct.pack_into("=I", buffer, 0, ETHTOOL_GDRVINFO)
    try:
        _ioctl(control, name, buffer)
    except OSError:
        return None, None
    _, driver, _, _, bus_info, *_ = _DRVINFO.unpack(buffer)
    return _text(driver) or None, _text(bus_info) or None


def _statistics(control: socket.socket, name: str) -> dict[str, Any]:
    try:
        return _counters(control, name)
    except OSError as error:
        return {"error": reason_of(error.errno).value, "detail": error.strerror or str(error)}


def _counters(control: socket.socket, name: str) -> dict[str, int]:
    count = _count(control, name)
    strings = bytearray(_STRINGS.size + count * ETH_GSTRING_LEN)
    _STRINGS.pack_into(strings, 0, ETHTOOL_GSTRINGS, ETH_SS_STATS, count)
    _ioctl(control, name, strings)
    values = bytearray(_STATS.size + count * 8)
    _STATS.pack_into(values, 0, ETHTOOL_GSTATS, count)
    _ioctl(control, name, values)
    if _STRINGS.unpack_from(strings)[2] != count or _STATS.unpack_from(values)[1] != count:
        raise OSError(errno.EAGAIN, "the number of counters changed between two questions")
    return counters(bytes(strings[_STRINGS.size :]), bytes(values[_STATS.size :]))


def _count(control: socket.socket, name: str) -> int:
    """How many counters the driver has; its buffers are ours, so that this decides how much the kernel writes."""
    buffer = bytearray(_SSET_INFO.size)
    _SSET_INFO.pack_into(buffer, 0, ETHTOOL_GSSET_INFO, 0, 1 << ETH_SS_STATS, 0)
    _ioctl(control, name, buffer)
    _, _, mask, count = _SSET_INFO.unpack(buffer)
    if not mask or not count:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    if count > MAX_STRINGS:
        raise OSError(errno.EMSGSIZE, f"{count} counters, more than {MAX_STRINGS}")
    return int(count)


def counters(strings: bytes, values: bytes) -> dict[str, int]:
    """Names of 32 bytes and numbers of 8, in the same order."""
    numbers = struct.unpack(f"={len(values) // 8}Q", values)
    names = (_text(strings[at : at + ETH_GSTRING_LEN]) for at in range(0, len(strings), ETH_GSTRING_LEN))
    return {name: number for name, number in zip(names, numbers, strict=True) if name}


def _ioctl(control: socket.socket, name: str, buffer: bytearray) -> None:
    """Lets the kernel work on ``buffer``, whose address stands in struct ifreq."""
    encoded = os.fsencode(name)
    if len(encoded) >= IFNAMSIZ:
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
    memory = array.array("B", buffer)
    fcntl.ioctl(control, SIOCETHTOOL, _IFREQ.pack(encoded, memory.buffer_info()[0]))
    buffer[:] = memory.tobytes()


def _text(padded: bytes) -> str:
    return padded.split(b"\0", 1)[0].decode("utf-8", "backslashreplace").strip()
