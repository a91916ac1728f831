"""One interface's channels, rings and coalescing, read and set (Documentation/networking/ethtool-netlink.rst).

Every function raises NetlinkError, an OSError with the kernel's errno and its own words where it gives any.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass

from tuneagent.machine import ethtool
from tuneagent.machine.ethtool import Section
from tuneagent.machine.netlink import GenericNetlink, NetlinkError, attribute, nested, string, u32

RINGS_SET, CHANNELS_SET, COALESCE_SET = 16, 18, 20
HEADER_DEV_INDEX = 1
U32_MAX = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface by its name and number; where both are given and do not mean the same one, the kernel refuses."""

    name: str
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """One pair of messages, and what can be set by it: field names of tuneagent.model.nic → attribute types."""

    get: int
    set: int
    section: Section
    fields: Mapping[str, int]


CHANNELS = Setting(
    ethtool.CHANNELS_GET,
    CHANNELS_SET,
    ethtool.channels,
    {field: ethtool.CHANNELS[field] for field in ("combined", "rx", "tx")},
)
RINGS = Setting(ethtool.RINGS_GET, RINGS_SET, ethtool.rings, {field: ethtool.RINGS[field] for field in ("rx", "tx")})
COALESCE = Setting(ethtool.COALESCE_GET, COALESCE_SET, ethtool.coalesce, ethtool.COALESCE | ethtool.ADAPTIVE)


def read(setting: Setting, interface: Interface) -> dict[str, int | None]:
    """What the driver reports, with its maxima; None for what it does not report."""
    with GenericNetlink(ethtool.NAME) as netlink:
        answers = netlink.request(setting.get, _header(interface))
    if not answers:
        raise NetlinkError(errno.EBADMSG, "no answer")
    return setting.section(answers[0])


def write(setting: Setting, interface: Interface, values: Mapping[str, int]) -> None:
    """Sets these fields in one request and leaves all others as they are; the kernel takes all of them or none."""
    body = b"".join(_value(setting.fields[field], value) for field, value in values.items())
    with GenericNetlink(ethtool.NAME) as netlink:
        netlink.request(setting.set, _header(interface) + body)


def _header(interface: Interface) -> bytes:
    index = () if interface.index is None else (u32(HEADER_DEV_INDEX, interface.index),)
    return nested(ethtool.HEADER, *index, string(ethtool.HEADER_DEV_NAME, interface.name))


def _value(kind: int, value: int) -> bytes:
    if isinstance(value, bool):
        return attribute(kind, bytes([value]))
    if not 0 <= value <= U32_MAX:
        raise NetlinkError(errno.ERANGE, f"{value} is no number of 32 bits")
    return u32(kind, value)
