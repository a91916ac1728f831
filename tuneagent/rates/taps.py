"""Taps against themselves, in the guest's directions, and the interfaces that they carry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter, sub

from tuneagent.model.domain import DomainInterface
from tuneagent.model.domain_view import TapRate
from tuneagent.model.hypervisor import Tap
from tuneagent.rates.comparison import Comparison
from tuneagent.rates.counters import PLAUSIBLE_64_PER_SEC

Owner = tuple[str, DomainInterface]
"""The key of a virtual machine, and the interface of it that a tap carries."""
_NAMES = ("tx_packets", "tx_bytes", "tx_dropped", "rx_packets", "rx_bytes", "rx_dropped")
_COUNTS = attrgetter(*_NAMES)
_Counts = tuple[float | None, float | None, float | None]


def compare(
    both: Comparison | None, before: Iterable[Tap], after: Iterable[Tap], owners: Mapping[str, Owner]
) -> tuple[dict[str, list[TapRate]], tuple[TapRate, ...]]:
    """(taps by the key of their virtual machine, taps of nobody known); without ``both`` there are no rates."""
    old = {tap.name: tap for tap in before}
    owned: dict[str, list[TapRate]] = {}
    stray: list[TapRate] = []
    for tap in after:
        key, interface = owners.get(tap.name, (None, None))
        rate = _rate(both, old.get(tap.name), tap, interface)
        (stray if key is None else owned.setdefault(key, [])).append(rate)
    return owned, tuple(stray)


def _rate(both: Comparison | None, old: Tap | None, tap: Tap, interface: DomainInterface | None) -> TapRate:
    if both is not None and old is not None and old.ifindex != tap.ifindex:
        both.unknown(f"tap.{tap.name}", "taps", "another device has this name now")
        old = None
    if both is None or old is None:
        return TapRate(tap, interface, None, None, None, None, None, None)
    sent, received = _directions(both, old, tap)
    to_guest, from_guest = (sent, received) if _mirrored(tap, interface) else (received, sent)
    return TapRate(
        tap,
        interface,
        to_guest_packets_per_sec=to_guest[0],
        from_guest_packets_per_sec=from_guest[0],
        to_guest_bytes_per_sec=to_guest[1],
        from_guest_bytes_per_sec=from_guest[1],
        to_guest_drops_per_sec=to_guest[2],
        from_guest_drops_per_sec=from_guest[2],
    )


def _directions(both: Comparison, old: Tap, tap: Tap) -> tuple[_Counts, _Counts]:
    """(packets, bytes and drops a second that the host transmitted, those that it received)."""
    seconds = both.between(old.read_at_ns, tap.read_at_ns)
    first, last = _COUNTS(old), _COUNTS(tap)
    growth = () if None in first or None in last else tuple(map(sub, last, first))
    if growth and min(growth) >= 0 and max(growth) <= PLAUSIBLE_64_PER_SEC * seconds:
        rates: list[float | None] = [grown / seconds for grown in growth]
    else:
        rates = [
            both.rate(f"tap.{tap.name}.{name}", f"statistics/{name}", counts, seconds)
            for name, counts in zip(_NAMES, zip(first, last, strict=True), strict=True)
        ]
    return (rates[0], rates[1], rates[2]), (rates[3], rates[4], rates[5])


def _mirrored(tap: Tap, interface: DomainInterface | None) -> bool:
    """Whether the device's directions are the guest's mirrored.

    So they are with a tap. A macvtap (``type='direct'``) has no tun_flags and counts what it hands to the guest as
    received (drivers/net/macvtap.c, macvlan_count_rx).
    """
    if interface is not None:
        return interface.type != "direct"
    return tap.multi_queue is not None
