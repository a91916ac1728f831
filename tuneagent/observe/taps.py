"""Taps: the host's end of virtual machines' interfaces. By the thousand, so that few files of each are read.

One dump of rtnetlink tells all of it; where that is not there, sysfs is read. A tap's directions are the guest's
mirrored; those of a macvtap are not.
"""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.hypervisor import Tap
from tuneagent.observe.gaps import Gaps, integer
from tuneagent.parse import links, tun_flags
from tuneagent.parse.links import TAP_COUNTERS, TapLink, TapLinks
from tuneagent.parse.tun_flags import TunFlags

NET = "/sys/class/net"
_KINDS = {None, "tun"}
"""Of links that may be taps, by IFLA_INFO_KIND; a capture may lack it."""
_MACVTAP = "macvtap"
_RECEIVE_QUEUE = "rx-"


@dataclass(frozen=True, slots=True)
class Found:
    """An interface that a virtual machine may be behind."""

    name: str
    flags: TunFlags | None
    """None for a macvtap, which has none."""
    link: TapLink | None
    read_at_ns: int | None

    @property
    def is_of_a_monitor(self) -> bool:
        """Whether it speaks virtio's header: a VPN's does not."""
        return self.flags is not None and self.flags.vnet_hdr


def find(gaps: Gaps) -> tuple[Found, ...]:
    """The taps that there are; no note is made, for most machines have none. Tunnels of IP packets are no taps."""
    dump = gaps.captured("nics.link", "links", links.taps, optional=True)
    told, read_at_ns = dump or (TapLinks({}, {}), None)
    found: list[Found] = []
    for name in _interfaces(gaps):
        link, kind = told.taps.get(name), told.kinds.get(name)
        if kind == _MACVTAP or (kind is None and not link and _has_macvtap(gaps, name)):
            found.append(Found(name, None, None, None))
        elif kind in _KINDS:
            flags = link.flags if link else _flags(gaps, name)
            found += [Found(name, flags, link, read_at_ns)] if flags and flags.tap else []
    return tuple(found)


def observe(gaps: Gaps, found: tuple[Found, ...]) -> tuple[Tap, ...]:
    """Their counters and queues."""
    return tuple(_dumped(one, one.link) if one.link else _read(gaps, one) for one in found)


def again(gaps: Gaps, tap: Tap) -> Tap:
    """A known tap with its packets counted now; another device of its name has another ifindex."""
    what, path = f"tap.{tap.name}", f"{NET}/{tap.name}"
    counters, read_at_ns = _counters(gaps, what, path)
    return Tap(
        name=tap.name,
        ifindex=gaps.integer(f"{what}.ifindex", f"{path}/ifindex"),
        multi_queue=tap.multi_queue,
        queues=tap.queues,
        master=tap.master,
        tx_queue_len=tap.tx_queue_len,
        read_at_ns=read_at_ns,
        **counters,
    )


def _interfaces(gaps: Gaps) -> tuple[str, ...]:
    try:
        return gaps.source.names(NET)
    except SourceError:
        return ()  # the collector of NICs says so


def _has_macvtap(gaps: Gaps, name: str) -> bool:
    """Whether an interface of unknown kind has a macvtap's character device (drivers/net/macvtap.c)."""
    try:
        return bool(gaps.source.names(f"{NET}/{name}/{_MACVTAP}"))
    except SourceError:
        return False


def _flags(gaps: Gaps, name: str) -> TunFlags | None:
    try:
        return tun_flags.parse(gaps.source.read(f"{NET}/{name}/tun_flags").text)
    except (SourceError, ParseError):
        return None


def _dumped(one: Found, link: TapLink) -> Tap:
    return Tap(
        name=one.name,
        ifindex=link.ifindex,
        multi_queue=link.flags.multi_queue,
        queues=link.queues if link.flags.multi_queue else 1,
        master=link.master,
        tx_queue_len=link.tx_queue_len,
        read_at_ns=one.read_at_ns,
        **link.counters,
    )


def _read(gaps: Gaps, one: Found) -> Tap:
    what, path = f"tap.{one.name}", f"{NET}/{one.name}"
    counters, read_at_ns = _counters(gaps, what, path)
    return Tap(
        name=one.name,
        ifindex=gaps.integer(f"{what}.ifindex", f"{path}/ifindex"),
        multi_queue=one.flags.multi_queue if one.flags else None,
        queues=_queues(gaps, path),
        master=_master(gaps, path),
        tx_queue_len=gaps.integer(f"{what}.tx_queue_len", f"{path}/tx_queue_len"),
        read_at_ns=read_at_ns,
        **counters,
    )


def _counters(gaps: Gaps, what: str, path: str) -> tuple[dict[str, int | None], int | None]:
    values: dict[str, int | None] = {}
    read_at_ns: int | None = None
    for name in TAP_COUNTERS:
        source = f"{path}/statistics/{name}"
        text = gaps.text(f"{what}.{name}", source, optional=True)
        values[name] = gaps.understood(f"{what}.{name}", source, text.text, integer) if text else None
        read_at_ns = read_at_ns or (text.read_at_ns if text else None)
    return values, read_at_ns


def _queues(gaps: Gaps, path: str) -> int | None:
    try:
        return sum(name.startswith(_RECEIVE_QUEUE) for name in gaps.source.names(f"{path}/queues"))
    except SourceError:
        return None


def _master(gaps: Gaps, path: str) -> str | None:
    target = gaps.link(f"{path}/master")
    return target.rsplit("/", 1)[-1] if target else None
