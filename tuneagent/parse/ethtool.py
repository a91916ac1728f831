"""The captured source ``ethtool``: what netlink's ethtool family and ETHTOOL_GSTATS said of each interface.

``{"eth0": {"driver": "virtio_net", "bus_info": "0000:00:03.0", "channels": {"combined": 1, "combined_max": 4},
"rings": {…}, "coalesce": {"error": "unsupported", "detail": "…"}, "features": {"rx-gro": true},
"statistics": {"rx0_kicks": 5}}}``; the fields of a section are those of Channels, Rings and Coalesce, null or left out
where the driver does not report them (Documentation/networking/ethtool-netlink.rst).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.model.nic import Channels, Coalesce, QueueStatistics, Rings
from tuneagent.parse.json_values import boolean, mapping, member, natural, optional_string, string
from tuneagent.parse.lines import U32_MAX, shown

MAX_NICS = 16_384
MAX_QUEUES = 1 << 16

_Section = TypeVar("_Section", Channels, Rings, Coalesce)

_STATISTIC = re.compile(r"(?P<side>rx|tx)(?:_queue_)?(?P<queue>[0-9]{1,5})_(?P<name>\w+)", re.ASCII)
"""drivers/net/virtio_net.c: ``rx_queue_0_kicks`` in the older generation, ``rx0_kicks`` in the newer."""
_FIELDS = {
    "rx_packets": "rx_packets",
    "rx_bytes": "rx_bytes",
    "rx_drops": "rx_drops",
    "rx_kicks": "rx_kicks",
    "tx_packets": "tx_packets",
    "tx_bytes": "tx_bytes",
    "tx_drops": "tx_drops",
    "tx_kicks": "tx_kicks",
    "tx_tx_timeouts": "tx_timeouts",
}


@dataclass(frozen=True, slots=True)
class SectionFault:
    """Why a section could not be had, in the words of who asked."""

    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class EthtoolReport:
    """What is known of one interface; a section is None where it was not asked for or has its entry in ``faults``."""

    driver: str | None
    bus_info: str | None
    channels: Channels | None
    rings: Rings | None
    coalesce: Coalesce | None
    offloads: dict[str, bool] | None
    statistics: dict[str, int] | None
    faults: dict[str, SectionFault]
    """By section: ``channels``, ``rings``, ``coalesce``, ``features``, ``statistics``."""


def parse(value: Any) -> dict[str, EthtoolReport]:
    """Reports by interface name. ParseError with the JSON path of the first value that is not as described."""
    return {
        name: _report(mapping(report, member("$", name)), member("$", name))
        for name, report in mapping(value, "$", MAX_NICS).items()
    }


def queue_statistics(statistics: Mapping[str, int]) -> tuple[QueueStatistics, ...]:
    """Per-queue counters of virtio_net, in the order of the queue pairs.

    Takes the names of both generations and passes over all others.
    """
    found: dict[int, dict[str, int]] = {}
    for name, count in statistics.items():
        match = _STATISTIC.fullmatch(name)
        field = _FIELDS.get(f"{match['side']}_{match['name']}") if match else None
        if match is not None and field is not None and int(match["queue"]) < MAX_QUEUES:
            found.setdefault(int(match["queue"]), {})[field] = count
    return tuple(QueueStatistics(queue, **counts) for queue, counts in sorted(found.items()))


def _report(report: dict[str, Any], where: str) -> EthtoolReport:
    faults: dict[str, SectionFault] = {}
    sections = {
        name: _section(report, name, where, faults)
        for name in ("channels", "rings", "coalesce", "features", "statistics")
    }
    features, statistics = sections["features"], sections["statistics"]
    return EthtoolReport(
        driver=optional_string(report, "driver", where),
        bus_info=optional_string(report, "bus_info", where),
        channels=_fields(Channels, sections["channels"], f"{where}.channels"),
        rings=_fields(Rings, sections["rings"], f"{where}.rings"),
        coalesce=_fields(Coalesce, sections["coalesce"], f"{where}.coalesce"),
        offloads=None if features is None else _each(boolean, features, f"{where}.features"),
        statistics=None if statistics is None else _each(natural, statistics, f"{where}.statistics"),
        faults=faults,
    )


def _section(report: dict[str, Any], name: str, where: str, faults: dict[str, SectionFault]) -> dict[str, Any] | None:
    if report.get(name) is None:
        return None
    where = f"{where}.{name}"
    section = mapping(report[name], where)
    # A driver's statistic may be called anything, also "error": only a word of ours says that there is none.
    if not isinstance(section.get("error"), str):
        return section
    faults[name] = SectionFault(_reason(section["error"], f"{where}.error"), _detail(section, where))
    return None


def _reason(word: str, where: str) -> Reason:
    try:
        return Reason(word)
    except ValueError:
        raise ParseError(f"{where}: {shown(word)} is no reason, such as {Reason.UNSUPPORTED.value}") from None


def _detail(section: dict[str, Any], where: str) -> str:
    return optional_string(section, "detail", where) or string(section["error"], f"{where}.error")


def _fields(kind: type[_Section], section: dict[str, Any] | None, where: str) -> _Section | None:
    """The noun from a section; keys that it does not have are those of later captures and passed over."""
    if section is None:
        return None
    known = {field.name: section.get(field.name) for field in fields(kind)}
    return kind(**{name: _setting(name, value, f"{where}.{name}") for name, value in known.items()})


def _setting(name: str, value: Any, where: str) -> Any:
    if value is None:
        return None
    return boolean(value, where) if name.startswith("adaptive") else natural(value, where, U32_MAX)


def _each(check: Any, section: dict[str, Any], where: str) -> dict[str, Any]:
    return {name: check(value, member(where, name)) for name, value in section.items()}
