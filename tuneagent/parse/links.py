"""The captured source ``links``: RTM_GETLINK's answers (Documentation/netlink/specs/rt_link.yaml).

``[{"ifindex": 2, "name": "eth0", "kind": null, "qdisc": "mq", "tx_queues": 4, "rx_queues": 4}]``

A tun or tap may have ``tap`` besides: ``{"type": 2, "vnet_hdr": true, "multi_queue": true, "queues": 2, "master": 5,
"tx_queue_len": 1000, "statistics": {"rx_packets": 1, …}}`` (drivers/net/tun.c, tun_fill_info()).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tuneagent.model.errors import ParseError
from tuneagent.model.nic import Link
from tuneagent.parse.json_values import array, boolean, natural, optional_natural, optional_string, record, string
from tuneagent.parse.lines import U32_MAX, shown
from tuneagent.parse.tun_flags import IFF_TAP, TunFlags

TAP_COUNTERS = ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_dropped", "tx_dropped")
"""What is wanted of a tap; the same names as in sysfs."""


@dataclass(frozen=True, slots=True)
class TapLinks:
    """Which links are taps, as far as they tell."""

    kinds: dict[str, str | None]
    """By interface name."""
    taps: dict[str, TapLink]


@dataclass(frozen=True, slots=True)
class TapLink:
    """What rtnetlink says of a tun or tap."""

    ifindex: int
    flags: TunFlags
    queues: int | None
    """Queues that are open; None where it was made for one."""
    master: str | None
    tx_queue_len: int | None
    counters: dict[str, int | None]
    """By :data:`TAP_COUNTERS`."""


def parse(value: Any) -> dict[str, Link]:
    """Links by interface name. ParseError with the JSON path of the first value that is not as described."""
    links: dict[str, Link] = {}
    for index, element in enumerate(array(value, "$")):
        where = f"$[{index}]"
        fields = record(element, where)
        name = string(fields.get("name"), f"{where}.name")
        if name in links:
            raise ParseError(f"{where}.name: {shown(name)} occurs twice")
        natural(fields.get("ifindex"), f"{where}.ifindex", U32_MAX)
        links[name] = Link(
            kind=optional_string(fields, "kind", where),
            qdisc=optional_string(fields, "qdisc", where),
            tx_queue_count=optional_natural(fields, "tx_queues", where, U32_MAX),
            rx_queue_count=optional_natural(fields, "rx_queues", where, U32_MAX),
        )
    return links


def taps(value: Any) -> TapLinks:
    """Tuns and taps, where the kernel and the capture told of them. ParseError as in parse()."""
    kinds: dict[str, str | None] = {}
    names: dict[Any, str] = {}
    found: dict[str, tuple[int, dict[str, Any], str]] = {}
    for index, element in enumerate(array(value, "$")):
        where = f"$[{index}]"
        fields = record(element, where)
        name = string(fields.get("name"), f"{where}.name")
        number = natural(fields.get("ifindex"), f"{where}.ifindex", U32_MAX)
        names[number] = name
        kinds[name] = optional_string(fields, "kind", where)
        if fields.get("tap") is not None:
            found[name] = number, record(fields["tap"], f"{where}.tap"), f"{where}.tap"
    told = {name: _tap(number, fields, names, where) for name, (number, fields, where) in found.items()}
    return TapLinks(kinds, told)


def _tap(number: int, fields: dict[str, Any], names: dict[Any, str], where: str) -> TapLink:
    statistics = record(fields.get("statistics"), f"{where}.statistics")
    multi_queue = boolean(fields.get("multi_queue"), f"{where}.multi_queue")
    return TapLink(
        ifindex=number,
        flags=TunFlags(
            tap=natural(fields.get("type"), f"{where}.type", U32_MAX) == IFF_TAP,
            multi_queue=multi_queue,
            vnet_hdr=boolean(fields.get("vnet_hdr"), f"{where}.vnet_hdr"),
        ),
        queues=optional_natural(fields, "queues", where, U32_MAX),
        master=names.get(optional_natural(fields, "master", where, U32_MAX)),
        tx_queue_len=optional_natural(fields, "tx_queue_len", where, U32_MAX),
        counters={name: optional_natural(statistics, name, f"{where}.statistics") for name in TAP_COUNTERS},
    )
