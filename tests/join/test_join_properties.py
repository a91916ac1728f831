"""Whatever a host and a guest show or lack: no figure is negative or endless, none is None without its reason."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests import make as guests
from tests import make_hypervisor as make
from tests.join.test_join import NAMES, counted, identity
from tuneagent.join import GuestSeen, join
from tuneagent.model.clock import Clock
from tuneagent.model.counters import Interrupts
from tuneagent.model.domain_view import DomainView
from tuneagent.model.nic import Nic
from tuneagent.model.view import NicRate, View

NUMBER = st.none() | st.floats() | st.integers(-5, 10**12) | st.just(10**400)
MACS = st.sampled_from([make.MAC, make.MAC.upper(), "00:00:00:00:00:00", "", None])
ADDRESSES = st.sampled_from(["0000:00:03.0", "0000:00:04.0", None])
INTERVAL = st.none() | st.floats(0.05, 3.0) | st.just(2.0)
HOST = st.none() | st.floats(0, 1e12)


@st.composite
def nics(draw: st.DrawFn) -> Nic:
    return guests.nic(
        draw(st.integers(1, 2)),
        name=draw(st.sampled_from(["eth0", "eth1"])),
        mac=draw(MACS),
        bus_address=draw(ADDRESSES),
        lower=draw(st.sampled_from([(), ("eth1",)])),
    )


def any_of(value: Any, draw: st.DrawFn) -> Any:
    """The same rate with whatever numbers a guest may tell."""
    numbers = {field.name: draw(NUMBER) for field in dataclasses.fields(value) if "per_sec" in field.name}
    return replace(value, **numbers)


@st.composite
def nic_rates(draw: st.DrawFn) -> NicRate:
    rate: NicRate = any_of(guests.nic_rate(2), draw)
    queues = rate.queues[: draw(st.integers(0, 2))]
    return replace(rate, queues=tuple(any_of(queue, draw) for queue in queues))


TABLES: st.SearchStrategy[Interrupts | None] = st.none() | st.builds(
    counted, st.integers(0, 2**32) | st.integers(0, 999), st.integers(0, 999)
)


@st.composite
def guest_views(draw: st.DrawFn) -> View:
    uuid = draw(st.sampled_from([make.UUID, make.UUID[::-1], "not set", "", None]))
    clock = draw(st.none() | st.builds(Clock, *[st.integers(0, 10**19)] * 3))
    after = guests.snapshot(
        queues=2,
        identity=draw(st.none() | st.just(identity(uuid))),
        interrupts=draw(TABLES),
        nics=draw(st.none() | st.lists(nics(), max_size=3).map(tuple)),
        clock=clock,
    )
    before = draw(st.none() | st.just(replace(after, interrupts=draw(TABLES))))
    rates = draw(st.dictionaries(st.sampled_from(["eth0", "eth1"]), nic_rates(), max_size=2))
    return replace(guests.view(after=after, queues=2), before=before, nics=rates, interval_s=draw(INTERVAL))


@st.composite
def domain_views(draw: st.DrawFn) -> DomainView:
    interfaces = tuple(
        make.domain_interface(
            position=place,
            mac=draw(MACS),
            address=draw(ADDRESSES),
            model=draw(st.sampled_from(["virtio", "e1000e", None])),
        )
        for place in range(draw(st.integers(0, 2)))
    )
    taps = tuple(
        make.tap_rate(
            interface=draw(st.sampled_from([*interfaces, None])),
            to_guest_packets_per_sec=draw(HOST),
            from_guest_packets_per_sec=draw(HOST),
        )
        for _ in range(draw(st.integers(0, 2)))
    )
    names = st.sampled_from(["exits", "io_exits", "mmio_exits", "irq_injections"])
    kvm = draw(
        st.none() | st.builds(lambda told: make.kvm_rate(per_sec=told), st.dictionaries(names, st.floats(0, 1e9)))
    )
    return make.domain_view(
        definition=draw(st.none() | st.just(make.domain(interfaces=interfaces))),
        taps=taps,
        kvm=kvm,
        kvm_reason=draw(st.none() | st.just("why")),
        threads=tuple(
            make.thread_rate(cpu_percent=draw(st.none() | st.floats(0, 100))) for _ in range(draw(st.integers(0, 2)))
        ),
    )


SEEN = st.builds(
    GuestSeen,
    st.sampled_from(["guest agent (guest-exec)", "snapshot a.json"]),
    st.none() | guest_views(),
    st.none() | st.just("blocked"),
)


@st.composite
def numbers_only(draw: st.DrawFn) -> GuestSeen:
    """The guest of the domain in every respect, whatever its numbers are."""
    after = guests.snapshot(queues=2, interrupts=draw(TABLES))
    view = replace(guests.view(after=after, queues=2), nics={"eth0": draw(nic_rates())}, interval_s=2.0)
    return GuestSeen("guest agent (guest-exec)", replace(view, before=replace(after, interrupts=draw(TABLES))))


@given(domain_views(), SEEN, INTERVAL)
def test_every_figure_is_possible_or_has_its_reason(
    domain: DomainView, seen: GuestSeen, interval_s: float | None
) -> None:
    reason = None if interval_s is not None else "one sample only"
    host = make.host_view(domain, interval_s=interval_s, rates_reason=reason)

    hold(join(host, {domain.key: seen}), domain)


@given(numbers_only())
def test_no_number_of_a_guest_makes_an_impossible_figure(seen: GuestSeen) -> None:
    domain = make.domain_view()

    hold(join(make.host_view(domain), {domain.key: seen}), domain)


def hold(view: View, domain: DomainView) -> None:
    """A joined view of this one virtual machine, whose guest may have said anything."""
    assert view.hypervisor is not None
    (found,) = view.hypervisor.domains
    guest = found.guest
    assert replace(found, guest=None) == domain
    assert guest is not None
    assert (guest.joined_by is None) == (guest.rates is None)
    assert guest.joined_by is not None or guest.reason
    for name in NAMES if guest.rates is not None else ():
        figure = getattr(guest.rates, name)
        assert figure is None or (figure >= 0 and math.isfinite(figure))
        assert bool(guest.rates is not None and guest.rates.reasons.get(name)) == (figure is None), name
    assert len({one.interface.position for one in guest.nics}) == len(guest.nics)
