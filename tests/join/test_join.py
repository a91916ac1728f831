from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import make as guests
from tests import make_hypervisor as make
from tuneagent.join import GuestSeen, join
from tuneagent.model.clock import Clock
from tuneagent.model.counters import InterruptRow, Interrupts
from tuneagent.model.domain_view import DomainView, Guest, JoinedRates
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.identity import Identity
from tuneagent.model.missing import Missing, Reason
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View

AGENT = "guest agent (guest-exec)"
OTHER_MAC = "52:54:00:aa:bb:cc"
OTHER_UUID = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"


def identity(uuid: str | None) -> Identity:
    base = guests.snapshot().identity
    assert base is not None
    return replace(base, product_uuid=uuid)


def counted(local: int, *network: int) -> Interrupts:
    """A guest's table on two CPUs: IRQs from 31 on, the local timer, and rows that are no interrupts of this kind."""
    rows = [
        InterruptRow(str(31 + place), 31 + place, (count, 0), count, None, None, None, ("h",), None, "")
        for place, count in enumerate(network)
    ]
    for label, count in (("LOC", local), ("TLB", 70 * local), ("NMI", 900 * local)):
        rows.append(InterruptRow(label, None, (count, 2 * count), 3 * count, None, None, None, (), "of a CPU", ""))
    return Interrupts((0, 1), tuple(rows))


def guest_view(uuid: str | None = make.UUID, **changes: Any) -> View:
    """A guest whose four interrupts of two queues are counted, over the host's own interval."""
    after = guests.snapshot(cpus=2, queues=2, identity=identity(uuid), interrupts=counted(1500, 9, 9, 9, 9))
    before = replace(after, interrupts=counted(1000, 5, 5, 5, 5))
    after, before = changes.pop("after", after), changes.pop("before", before)
    base = guests.view(after=after, before=before, queues=2)
    irqs = {31: guests.irq_rate(31, {0: 4000}), 32: guests.irq_rate(32, {1: 2000})}
    return replace(base, **{"irqs": irqs, **changes})


def seen(view: View | None = None, origin: str = AGENT, **changes: Any) -> GuestSeen:
    return GuestSeen(origin, view or guest_view(), **changes)


def joined(guest: GuestSeen | None = None, domain: DomainView | None = None, **changes: Any) -> Guest:
    domain = domain or make.domain_view()
    view = join(make.host_view(domain, **changes), {domain.key: guest or seen()})
    assert view.hypervisor is not None
    (with_guest,) = view.hypervisor.domains
    assert replace(with_guest, guest=None) == domain, "a guest changes nothing of the host's side"
    assert with_guest.guest is not None
    return with_guest.guest


def rates(guest: GuestSeen | None = None, domain: DomainView | None = None, **changes: Any) -> JoinedRates:
    found = joined(guest, domain, **changes).rates
    assert found is not None
    return found


def with_nic(**changes: Any) -> GuestSeen:
    """The guest with other rates of eth0."""
    return seen(guest_view(nics={"eth0": replace(guests.nic_rate(2), **changes)}))


# Who is who


def test_a_view_without_guests_or_virtual_machines_is_left_as_it_is() -> None:
    host, plain = make.host_view(), guests.view()

    assert join(host, {}) is host
    assert join(plain, {make.UUID: seen()}) is plain
    assert join(host, {"pid 1": seen()}) == host


def test_a_guest_that_was_not_seen_keeps_its_reason_and_remedy() -> None:
    guest = joined(GuestSeen(AGENT, None, "guest-exec is blocked", "allow it in qemu-ga.conf"))

    assert guest == Guest(AGENT, None, "guest-exec is blocked", "allow it in qemu-ga.conf")


def test_only_the_domain_that_was_asked_has_a_guest() -> None:
    other = make.domain_view(key=OTHER_UUID, name="db1")

    view = join(make.host_view(make.domain_view(), other), {make.UUID: seen()})

    assert view.hypervisor is not None
    assert [one.guest is not None for one in view.hypervisor.domains] == [True, False]


@pytest.mark.parametrize(
    ("uuid", "joined_by"),
    [
        (make.UUID, "product UUID"),
        (f" {make.UUID.upper()}\n", "product UUID"),
        (None, "MAC address"),
        ("00000000-0000-0000-0000-000000000000", "MAC address"),
        ("Not Settable", "MAC address"),
        (OTHER_UUID, f"MAC address (its product UUID {OTHER_UUID} is another)"),
    ],
)
def test_a_guest_is_known_by_product_uuid_or_mac(uuid: str | None, joined_by: str) -> None:
    guest = joined(seen(guest_view(uuid)))

    assert (guest.joined_by, guest.reason) == (joined_by, None)
    assert guest.rates is not None


def test_a_product_uuid_in_the_other_byte_order_is_the_same_and_said() -> None:
    definition = make.domain(uuid="01234567-89ab-cdef-8123-456789abcdef")
    domain = make.domain_view(definition=definition, key=definition.uuid)

    guest = joined(seen(guest_view("67452301-ab89-efcd-8123-456789abcdef")), domain)

    assert guest.joined_by == "product UUID (the bytes of its first three fields in the other order)"


def test_another_machine_that_an_agent_tells_of_is_kept_and_not_joined() -> None:
    after = guests.snapshot(identity=identity(OTHER_UUID), nics=(guests.nic(mac=OTHER_MAC),))

    guest = joined(seen(guest_view(after=after)))

    assert guest.view is not None
    assert (guest.joined_by, guest.nics, guest.rates) == (None, (), None)
    assert guest.reason == (
        f"the guest has the product UUID {OTHER_UUID} and none of the MAC addresses of this domain ({make.UUID})"
    )


def test_a_snapshot_of_another_machine_is_not_taken_for_the_guest() -> None:
    after = guests.snapshot(identity=identity(OTHER_UUID), nics=(guests.nic(mac=OTHER_MAC),))

    guest = joined(seen(guest_view(after=after), origin="snapshot g.json"))

    assert (guest.view, guest.joined_by) == (None, None)
    assert OTHER_UUID in (guest.reason or "")
    assert "in this virtual machine" in (guest.remedy or "")


def test_loopbacks_address_joins_nothing() -> None:
    zero = "00:00:00:00:00:00"
    definition = make.domain(interfaces=(make.domain_interface(mac=zero),))
    after = guests.snapshot(identity=identity(None), nics=(guests.nic(mac=zero),))

    guest = joined(seen(guest_view(after=after)), make.domain_view(definition=definition))

    assert guest.joined_by is None


def test_a_machine_without_a_definition_cannot_know_its_guest() -> None:
    assert "no definition" in str(joined(None, make.domain_view(definition=None)).reason)


# Interfaces


def nics_of(guest: Guest) -> list[tuple[int, str, bool]]:
    return [(one.interface.position, one.nic.name, one.tap is not None) for one in guest.nics]


def test_an_interface_is_joined_by_mac_with_its_tap_and_rate() -> None:
    definition = make.domain(interfaces=(make.domain_interface(mac=make.MAC.upper()),))
    tap = make.tap_rate(interface=definition.interfaces[0])

    (nic,) = joined(None, make.domain_view(definition=definition, taps=(tap,))).nics

    assert (nic.interface, nic.tap, nic.nic.name) == (definition.interfaces[0], tap, "eth0")
    assert nic.rate == guests.nic_rate(2)


def test_a_bond_with_the_mac_of_its_port_is_not_the_port() -> None:
    bond = guests.nic(name="bond0", bus_address=None, virtio=None, lower=("eth0",))

    guest = joined(seen(guest_view(after=guests.snapshot(nics=(bond, guests.nic(2))))))

    assert nics_of(guest) == [(0, "eth0", True)]


def test_a_team_of_one_mac_is_told_apart_by_address() -> None:
    transient = make.domain_interface(
        position=1, type="hostdev", model=None, target=None, address="0000:02:00.0", teaming="transient"
    )
    definition = make.domain(interfaces=(make.domain_interface(teaming="persistent"), transient))
    master = guests.nic(name="ens3", lower=("ens3nsby", "ens4"))
    standby = guests.nic(name="ens3nsby", upper=("ens3",))
    function = guests.nic(name="ens4", virtio=None, bus_address="0000:02:00.0", upper=("ens3",))
    tap = make.tap_rate(interface=definition.interfaces[0])

    guest = joined(
        seen(guest_view(after=guests.snapshot(nics=(master, standby, function)))),
        make.domain_view(definition=definition, taps=(tap,)),
    )

    assert nics_of(guest) == [(0, "ens3nsby", True), (1, "ens4", False)]


def test_two_that_cannot_be_told_apart_are_left_out() -> None:
    twins = (guests.nic(name="eth0"), guests.nic(name="eth1"))

    assert nics_of(joined(seen(guest_view(after=guests.snapshot(nics=twins))))) == []


# Rates


def test_exits_are_divided_by_the_packets_that_the_guest_counted() -> None:
    guest = with_nic(rx_packets_per_sec=30_000.0, tx_packets_per_sec=18_000.0)

    assert rates(guest).exits_per_packet == 60_000 / 48_000


def test_receive_interrupts_are_divided_by_the_packets_that_the_tap_delivered() -> None:
    tap = make.tap_rate(to_guest_packets_per_sec=16_000.0, to_guest_drops_per_sec=900.0)

    # make.nic_rate has 2,000 receive interrupts a second, and 40,000 packets that the guest says it received.
    assert rates(None, make.domain_view(taps=(tap,))).guest_interrupts_per_delivered_packet == 2000 / 16_000


def test_injections_are_divided_by_device_interrupts_and_vectors_of_the_cpus() -> None:
    # (4000 + 2000) / 2 s of devices; the local timer grew by 500 and 1000 in 2 s; TLB and NMI rows are not counted.
    assert rates().injections_per_interrupt == 9000 / (3000 + 750)


def test_a_vector_that_wrapped_is_unwrapped() -> None:
    guest = guest_view()
    assert guest.before is not None
    before = replace(guest.before, interrupts=counted(1000))
    assert before.interrupts is not None
    wrapped = replace(before.interrupts.rows[0], counts=(2**32 - 100, 2000))
    before = replace(before, interrupts=replace(before.interrupts, rows=(wrapped,)))
    after = replace(guest.after, interrupts=counted(900))

    # CPU 0: from 2^32 - 100 to 900 are 1000; CPU 1: from 2000 to 1800 is no wrap that can be.
    assert rates(seen(replace(guest, before=before, after=after))).injections_per_interrupt is None
    after = replace(guest.after, interrupts=counted(1500))
    assert rates(seen(replace(guest, before=before, after=after))).injections_per_interrupt == 9000 / (3000 + 1300)


def test_kicks_are_divided_by_the_exits_for_io() -> None:
    queues = tuple(
        replace(queue, rx_kicks_per_sec=10.0 + place, tx_kicks_per_sec=4000.0 + 100 * place)
        for place, queue in enumerate(guests.nic_rate(2).queues)
    )

    # make.kvm_rate: 3,500 io and 250 mmio exits a second.
    assert rates(with_nic(queues=queues)).kicks_per_io_exit == (10 + 11 + 4000 + 4100) / 3750


def test_the_time_of_all_workers_is_divided_by_the_packets_of_all_vhost_taps() -> None:
    worker = make.thread_rate()
    second = replace(worker, thread=make.domain_thread(tid=4261), cpu_percent=20.0)
    emulated = make.tap_rate(interface=make.domain_interface(model="e1000e"), to_guest_packets_per_sec=7e6)
    domain = make.domain_view(threads=(worker, second), taps=(make.tap_rate(), emulated))

    # 60 % of a CPU are 600,000 µs a second, over 60,000 packets.
    assert rates(None, domain).vhost_cpu_us_per_packet == pytest.approx(10.0)


# What cannot be told

NAMES = {
    "exits_per_packet",
    "guest_interrupts_per_delivered_packet",
    "injections_per_interrupt",
    "kicks_per_io_exit",
    "vhost_cpu_us_per_packet",
}


@pytest.mark.parametrize(("guest_s", "apart"), [(2.0, False), (2.1, False), (1.9, False), (2.2, True), (1.0, True)])
def test_intervals_that_differ_are_not_divided_by_each_other(guest_s: float, *, apart: bool) -> None:
    found = rates(seen(guest_view(interval_s=guest_s)))

    assert (found.exits_per_packet is None) == apart
    assert found.vhost_cpu_us_per_packet is not None, "both halves of it are the host's"
    if apart:
        assert f"{guest_s:g} s and the host's of 2 s" in found.reasons["exits_per_packet"]


def test_a_file_of_another_time_is_not_divided_by() -> None:
    guest = guest_view()
    later = replace(guest, after=replace(guest.after, clock=Clock(10**9, 10**9, 10**18 + 7 * 10**9)))

    assert rates(seen(later)).exits_per_packet is not None, "an agent answers now, whatever its clock says"
    found = rates(seen(later, origin="snapshot web1.json"))
    assert found.exits_per_packet is None
    assert found.reasons["exits_per_packet"].endswith("are 7 s apart")


def test_without_rates_on_one_side_its_reason_is_given() -> None:
    alone = guest_view(interval_s=None, rates_reason="one sample only")
    assert rates(seen(alone)).reasons["exits_per_packet"] == "the guest: one sample only"

    host = rates(None, None, interval_s=None, rates_reason="the machine was suspended")
    assert host.reasons == dict.fromkeys(NAMES, "the machine was suspended")


def test_each_figure_is_known_or_has_its_reason() -> None:
    # make.nic_rate has no kicks of its queues, as through a guest agent.
    found = rates()

    assert set(found.reasons) == {"kicks_per_io_exit"}
    assert "a guest agent does not" in found.reasons["kicks_per_io_exit"]


@pytest.mark.parametrize(
    ("domain", "name", "reason"),
    [
        (make.domain_view(kvm=None, kvm_reason="it came"), "exits_per_packet", "it came"),
        (
            make.domain_view(kvm=make.kvm_rate(per_sec={"exits": 5.0})),
            "injections_per_interrupt",
            "KVM tells no irq_injections here",
        ),
        (
            make.domain_view(taps=()),
            "guest_interrupts_per_delivered_packet",
            "no tap of the domain's interfaces was seen",
        ),
        (
            make.domain_view(taps=(make.tap_rate(to_guest_packets_per_sec=None),)),
            "vhost_cpu_us_per_packet",
            "the packets of vnet0 are not known",
        ),
        (
            make.domain_view(taps=(make.tap_rate(to_guest_packets_per_sec=0.0),)),
            "guest_interrupts_per_delivered_packet",
            "no packets passed within the interval",
        ),
        (
            make.domain_view(threads=(make.thread_rate(make.domain_thread(ThreadRole.EMULATOR)),)),
            "vhost_cpu_us_per_packet",
            "no vhost worker serves it",
        ),
        (
            make.domain_view(threads=(make.thread_rate(cpu_percent=None),)),
            "vhost_cpu_us_per_packet",
            f"the CPU time of vhost worker {make.VHOST_TID} is not known",
        ),
    ],
)
def test_what_the_host_lacks_is_the_reason(domain: DomainView, name: str, reason: str) -> None:
    found = rates(None, domain)

    assert getattr(found, name) is None
    assert found.reasons[name] == reason


def test_an_interrupt_whose_place_is_not_known_is_counted_all_the_same() -> None:
    hidden = Missing("irq.31", "/proc/irq/31/smp_affinity_list", Reason.PERMISSION, "Permission denied")

    assert rates(seen(guest_view(missing=(hidden,)))).injections_per_interrupt == 2.4


def without_interrupts(after: Snapshot) -> View:
    return guest_view(after=replace(after, interrupts=None))


@pytest.mark.parametrize(
    ("guest", "name", "reason"),
    [
        (with_nic(rx_packets_per_sec=None), "exits_per_packet", "the guest does not tell eth0's packets"),
        (
            with_nic(rx_packets_per_sec=0.0, tx_packets_per_sec=0.0),
            "exits_per_packet",
            "no packets passed within the interval",
        ),
        (
            seen(guest_view(after=guests.snapshot(nics=()))),
            "exits_per_packet",
            "none of the guest's virtio NICs was found among the domain's interfaces",
        ),
        (
            with_nic(queues=()),
            "guest_interrupts_per_delivered_packet",
            "eth0 has no receive interrupt of its own in the guest",
        ),
        (
            seen(without_interrupts(guests.snapshot())),
            "injections_per_interrupt",
            "the guest tells no /proc/interrupts",
        ),
        (
            seen(guest_view(irqs_new=(77,))),
            "injections_per_interrupt",
            "not every interrupt of the guest can be counted over the interval",
        ),
        (
            seen(guest_view(missing=(Missing("irq.31", "/proc/interrupts", Reason.UNKNOWABLE, "it fell"),))),
            "injections_per_interrupt",
            "not every interrupt of the guest can be counted over the interval",
        ),
    ],
)
def test_what_the_guest_lacks_is_the_reason(guest: GuestSeen, name: str, reason: str) -> None:
    found = rates(guest)

    assert getattr(found, name) is None
    assert found.reasons[name] == reason


@pytest.mark.parametrize("lie", [-1.0, 2e9, float("inf"), float("nan"), 10**400])
def test_numbers_that_cannot_be_are_not_believed(lie: float) -> None:
    found = rates(with_nic(rx_packets_per_sec=lie))

    assert found.exits_per_packet is None
    assert found.reasons["exits_per_packet"].endswith("of eth0's packets a second, which cannot be")
    assert found.guest_interrupts_per_delivered_packet is not None
