"""What ethtool's generic netlink family says of every interface (Documentation/networking/ethtool-netlink.rst)."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

from tuneagent.machine import ethtool_statistics
from tuneagent.machine.netlink import (
    GenericNetlink,
    NetlinkError,
    attributes,
    malformed,
    nested,
    string,
    text,
    u32,
    unsigned,
    walk,
)
from tuneagent.machine.reasons import reason_of, source_error
from tuneagent.model.missing import Reason

NAME = "ethtool"

STRSET_GET, FEATURES_GET, RINGS_GET, CHANNELS_GET, COALESCE_GET = 1, 11, 15, 17, 19
HEADER, HEADER_DEV_NAME, HEADER_FLAGS = 1, 2, 3
FLAG_COMPACT_BITSETS = 1
FEATURES_HW, FEATURES_ACTIVE = 2, 4
BITSET_SIZE, BITSET_VALUE, BITSET_MASK = 2, 4, 5
STRSET_STRINGSETS, STRINGSETS_STRINGSET, STRINGSET_ID, STRINGSET_STRINGS = 2, 1, 1, 3
STRINGS_STRING, STRING_INDEX, STRING_VALUE = 1, 1, 2
ETH_SS_FEATURES = 4
MAX_BITS = 4096
MANY_INTERFACES = 64

CHANNELS = {
    "combined": 9,
    "combined_max": 5,
    "rx": 6,
    "rx_max": 2,
    "tx": 7,
    "tx_max": 3,
    "other": 8,
    "other_max": 4,
}
RINGS = {"rx": 6, "rx_max": 2, "tx": 9, "tx_max": 5}
COALESCE = {"rx_usecs": 2, "rx_max_frames": 3, "tx_usecs": 6, "tx_max_frames": 7}
ADAPTIVE = {"adaptive_rx": 11, "adaptive_tx": 12}

Answer = dict[int, bytes]
Section = Callable[[Answer], dict[str, Any]]


def read() -> dict[str, dict[str, Any]]:
    """Every interface by name: driver, bus_info, channels, rings, coalesce, features, statistics.

    Taps are left out where there are very many. A section is a dict by the field names of tuneagent.model.nic
    (features and statistics: by the kernel's and the driver's names) with None for what the driver does not report, or
    ``{"error": reason, "detail": text}``. statistics are asked of interfaces with a device behind them only and are
    None elsewhere. Raises SourceError.
    """
    try:
        names = _asked()
        with GenericNetlink("ethtool") as netlink:
            found = {"channels": _section(netlink, CHANNELS_GET, names, channels)}
            found["rings"] = _section(netlink, RINGS_GET, names, rings)
            found["coalesce"] = _section(netlink, COALESCE_GET, names, coalesce)
            found["features"] = _features(netlink, names)
        return {name: _interface(name, found) for name in names}
    except OSError as error:
        raise source_error(NAME, error) from None


def _asked() -> list[str]:
    """The interfaces to ask about: without tuns and taps where there are many, as a hypervisor has for its guests.

    What ethtool says of a tap is the same for all of them, and costs more than all else that is asked of the host.
    """
    names = [name for _, name in socket.if_nameindex()]
    if len(names) <= MANY_INTERFACES:
        return names
    others = [name for name in names if not os.path.exists(f"/sys/class/net/{name}/tun_flags")]
    return others if len(names) - len(others) > MANY_INTERFACES else names


def _interface(name: str, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    sections = {section: by_name[name] for section, by_name in found.items()}
    return ethtool_statistics.read(name, statistics=has_device(name)) | sections


def has_device(name: str) -> bool:
    """Whether a bus device, virtio or physical, is behind the interface: only those have counters worth their cost."""
    return os.path.exists(f"/sys/class/net/{name}/device")


def _section(
    netlink: GenericNetlink, command: int, names: list[str], section: Section, flags: int = 0
) -> dict[str, Any]:
    """One dump for all interfaces; where one of them makes the dump fail, each is asked by itself."""
    try:
        answers = netlink.dump(command, nested(HEADER, u32(HEADER_FLAGS, flags)))
        wanted = set(names)
        found = {name: section(answer) for answer in answers if (name := interface_name(answer)) in wanted}
    except NetlinkError:
        return {name: _one(netlink, command, name, section, flags) for name in names}
    # The kernel leaves out of a dump who answers EOPNOTSUPP (net/ethtool/netlink.c, ethnl_default_dumpit).
    silent = error_value(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    return {name: found.get(name, silent) for name in names}


def _one(netlink: GenericNetlink, command: int, name: str, section: Section, flags: int) -> dict[str, Any]:
    header = nested(HEADER, string(HEADER_DEV_NAME, name), u32(HEADER_FLAGS, flags))
    try:
        answers = netlink.request(command, header)
        return section(answers[0]) if answers else error_value(errno.EBADMSG, "no answer")
    except NetlinkError as error:
        return error_value(error.errno, error.strerror)


def _features(netlink: GenericNetlink, names: list[str]) -> dict[str, Any]:
    try:
        bits = feature_names(netlink.request(STRSET_GET, _STRSET_REQUEST))
    except NetlinkError as error:
        return dict.fromkeys(names, error_value(error.errno, error.strerror))
    return _section(netlink, FEATURES_GET, names, lambda answer: features(answer, bits), FLAG_COMPACT_BITSETS)


def error_value(number: int | None, detail: str | None) -> dict[str, str]:
    """A section that failed."""
    reason = Reason.MALFORMED if number == errno.EBADMSG else reason_of(number)
    return {"error": reason.value, "detail": detail or reason.value}


def interface_name(answer: Answer) -> str:
    """The interface that a message is about."""
    name = attributes(answer.get(HEADER, b"")).get(HEADER_DEV_NAME)
    if name is None:
        raise malformed("an answer that names no interface")
    return text(name)


def channels(answer: Answer) -> dict[str, Any]:
    """ETHTOOL_A_CHANNELS."""
    return _numbers(answer, CHANNELS)


def rings(answer: Answer) -> dict[str, Any]:
    """ETHTOOL_A_RINGS."""
    return _numbers(answer, RINGS)


def coalesce(answer: Answer) -> dict[str, Any]:
    """ETHTOOL_A_COALESCE."""
    adaptive = _numbers(answer, ADAPTIVE)
    return _numbers(answer, COALESCE) | {key: None if on is None else bool(on) for key, on in adaptive.items()}


def _numbers(answer: Answer, fields: dict[str, int]) -> dict[str, int | None]:
    return {field: unsigned(answer[kind]) if kind in answer else None for field, kind in fields.items()}


def features(answer: Answer, names: dict[int, str]) -> dict[str, bool]:
    """ETHTOOL_A_FEATURES: every feature this kernel knows, and whether it is active."""
    active = bitset(answer.get(FEATURES_ACTIVE, b""))[0]
    known = bitset(answer.get(FEATURES_HW, b""))[1]
    return {name: bool(active >> bit & 1) for bit, name in names.items() if (known | active) >> bit & 1}


def bitset(payload: bytes) -> tuple[int, int]:
    """A compact bitset as (value, mask): words of 32 bits in the host's order, the lowest first."""
    found = attributes(payload)
    size = unsigned(found.get(BITSET_SIZE, bytes(4)))
    if size > MAX_BITS:
        raise malformed(f"a bitset of {size} bits")
    return _bits(found.get(BITSET_VALUE, b"")), _bits(found.get(BITSET_MASK, b""))


def _bits(payload: bytes) -> int:
    if len(payload) % 4 or len(payload) * 8 > MAX_BITS:
        raise malformed(f"a bitmap of {len(payload)} bytes")
    words = struct.unpack(f"={len(payload) // 4}I", payload)
    return sum(word << 32 * at for at, word in enumerate(words))


_STRSET_REQUEST = nested(HEADER) + nested(
    STRSET_STRINGSETS, nested(STRINGSETS_STRINGSET, u32(STRINGSET_ID, ETH_SS_FEATURES))
)


def feature_names(answers: list[Answer]) -> dict[int, str]:
    """ETHTOOL_A_STRSET: the names of the feature bits."""
    names: dict[int, str] = {}
    for answer in answers:
        for _, stringset in walk(answer.get(STRSET_STRINGSETS, b"")):
            strings = attributes(stringset).get(STRINGSET_STRINGS, b"")
            names |= dict(_string(item) for kind, item in walk(strings) if kind == STRINGS_STRING)
    return {bit: name for bit, name in names.items() if name and bit < MAX_BITS}


def _string(payload: bytes) -> tuple[int, str]:
    found = attributes(payload)
    if STRING_INDEX not in found or STRING_VALUE not in found:
        raise malformed("a string without index or value")
    return unsigned(found[STRING_INDEX]), text(found[STRING_VALUE])
