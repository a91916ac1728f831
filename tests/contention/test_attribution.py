"""Whose lock it is: told by what happens beside it, or said to be unknown."""

from __future__ import annotations

import pytest

from tests.make_contention import (
    AFTER_HANDLER,
    DESCRIPTOR,
    EDGE,
    PLACED,
    SHOWN,
    SLOWPATH,
    TRANSMIT,
    VLAN_TRANSMIT,
    Story,
)
from tuneagent.contention import report
from tuneagent.contention.attribution import ALL_INTERRUPTS, NO_OBJECT, SOME_DEVICE, SOME_INTERRUPT
from tuneagent.model.contention import Contended

ACTIONS = {31: "virtio0-input.0", 33: "virtio0-input.1"}
MS = 1_000_000


def rows(story: Story) -> dict[str, Contended]:
    """By caller; a caller has one row in these stories."""
    found = report(story.record(), ACTIONS).rows
    assert len({row.caller for row in found}) == len(found)
    return {row.caller: row for row in found}


def after_handler(story: Story, at_ns: int, cpu: int, irq: int, address: int = DESCRIPTOR) -> Story:
    return story.handled(at_ns, 4_000, cpu, irq).wait(at_ns + 4_300, 900, cpu, 0, address, AFTER_HANDLER)


def test_the_lock_behind_a_handler_is_of_its_interrupt() -> None:
    row = rows(after_handler(Story(), 10_000, 0, 31))["handle_irq_event"]
    assert (row.subject, row.irq) == ("IRQ 31 (virtio0-input.0)", 31)
    assert row.subject_reason == "beside the handler of this interrupt: 1 of the 1 waits at this lock"


def test_an_interrupt_without_a_name_has_its_number() -> None:
    assert rows(after_handler(Story(), 10_000, 0, 40))["handle_irq_event"].subject == "IRQ 40"


def test_the_address_keeps_its_name_wherever_it_is_waited_for() -> None:
    story = after_handler(Story(), 10_000, 0, 31)
    story.wait(3 * MS, 700, 1, 102, DESCRIPTOR, SHOWN).wait(5 * MS, 600, 1, 101, DESCRIPTOR, PLACED)
    found = rows(story)
    assert {row.subject for row in found.values()} == {"IRQ 31 (virtio0-input.0)"}
    assert found["show_interrupts"].subject_reason.endswith("1 of the 3 waits at this lock")


def test_another_address_is_another_lock() -> None:
    story = after_handler(Story(), 10_000, 0, 31).wait(3 * MS, 700, 1, 102, DESCRIPTOR + 256, SHOWN)
    row = rows(story)["show_interrupts"]
    assert (row.subject, row.irq, row.subject_reason) == (None, None, SOME_INTERRUPT)


def test_two_handlers_behind_the_lock_tell_as_well() -> None:
    story = Story()
    for at_ns in (10_000, 5 * MS):
        story.wait(at_ns, 900, 0, 0, DESCRIPTOR, EDGE).handled(at_ns + 1_200, 4_000, 0, 31)
    assert rows(story)["handle_edge_irq"].irq == 31


def test_one_handler_behind_the_lock_may_be_that_of_the_next_interrupt() -> None:
    story = Story().wait(10_000, 900, 0, 0, DESCRIPTOR, EDGE).handled(11_200, 4_000, 0, 31)
    assert rows(story)["handle_edge_irq"].subject_reason == SOME_INTERRUPT


def test_what_is_sure_goes_before_what_is_likely() -> None:
    story = after_handler(Story(), 10_000, 0, 31)
    for at_ns in (2 * MS, 3 * MS, 4 * MS):  # its handler runs elsewhere; the next interrupt on this CPU is another
        story.wait(at_ns, 900, 1, 0, DESCRIPTOR, EDGE).handled(at_ns + 50_000, 4_000, 1, 33)
    assert {row.irq for row in rows(story).values()} == {31}


def test_handlers_that_disagree_tell_nothing() -> None:
    story = Story()
    for at_ns, irq in ((10_000, 31), (2 * MS, 33), (4 * MS, 31)):
        after_handler(story, at_ns, 0, irq)
    row = rows(story)["handle_irq_event"]
    assert (row.subject, row.irq) == (None, None)
    assert row.subject_reason == "some interrupt: beside the waits at this lock are handlers of IRQ 31 (2), 33 (1)"


@pytest.mark.parametrize(
    "story",
    [
        Story().handled(10_000, 4_000, 1, 31).wait(14_300, 900, 0, 0, DESCRIPTOR, AFTER_HANDLER),
        Story().handled(10_000, 4_000, 0, 31).wait(14_000 + 2 * MS, 900, 0, 0, DESCRIPTOR, AFTER_HANDLER),
        Story().handled(10_000, 4_000, 0, 31).sent(14_100, 0, "eth0").wait(14_300, 9, 0, 0, DESCRIPTOR, AFTER_HANDLER),
        Story().wait(14_300, 900, 0, 0, DESCRIPTOR, AFTER_HANDLER),
    ],
    ids=["another CPU", "long ago", "not the last", "none"],
)
def test_a_handler_elsewhere_says_nothing(story: Story) -> None:
    assert rows(story)["handle_irq_event"].subject_reason == SOME_INTERRUPT


def test_the_lock_of_all_interrupts_is_of_none() -> None:
    names = (*SLOWPATH, "irq_do_set_affinity", "irq_set_affinity_locked", "irq_set_affinity")
    story = after_handler(Story(), 10_000, 0, 31).wait(3 * MS, 80, 1, 101, DESCRIPTOR + 512, names)
    row = rows(story)["irq_do_set_affinity"]
    assert (row.subject, row.subject_reason) == (None, ALL_INTERRUPTS)


FORWARDED = (*SLOWPATH, "__dev_queue_xmit", "ip_finish_output2", "ip_forward", "ip_rcv", "handle_softirqs")


def test_the_packet_behind_a_transmit_lock_tells_the_device() -> None:
    story = Story().wait(10_000, 900, 1, 103, TRANSMIT, FORWARDED).sent(11_100, 1, "eth0.7", 103)
    row = rows(story)["__dev_queue_xmit"]
    assert (row.subject, row.device) == ("eth0.7", "eth0.7")
    assert row.subject_reason == "right before a packet given to this device: 1 of the 1 waits at this lock"


def test_below_a_vlan_the_lock_is_of_the_lower_device() -> None:
    story = Story()
    for at_ns in (10_000, 90_000, 170_000):
        story.sent(at_ns, 1, "eth0.7", 103).wait(at_ns + 200, 900, 1, 103, TRANSMIT, VLAN_TRANSMIT)
        if at_ns == 10_000:  # the others are only queued
            story.sent(at_ns + 1_300, 1, "eth0", 103)
    assert rows(story)["__dev_queue_xmit"].device == "eth0"


def test_a_lock_before_packets_of_several_devices_is_of_none() -> None:
    story = Story()
    for place, device in enumerate(("eth0", "eth1")):
        at_ns = 10_000 + place * MS
        story.wait(at_ns, 900, 1, 103, TRANSMIT, FORWARDED).sent(at_ns + 1_300, 1, device, 103)
    row = rows(story)["__dev_queue_xmit"]
    assert (row.subject, row.device) == (None, None)
    assert row.subject_reason == "some device: beside the waits at this lock are packets to eth0 (1), eth1 (1)"


@pytest.mark.parametrize(
    "story",
    [
        Story().wait(10_000, 900, 1, 103, TRANSMIT, FORWARDED),
        Story().begin(10_000, 1, 103, TRANSMIT, FORWARDED).sent(11_000, 1, "eth0"),
        Story().wait(10_000, 900, 1, 103, TRANSMIT, FORWARDED).sent(11_100, 0, "eth0"),
        Story().wait(10_000, 900, 1, 103, TRANSMIT, FORWARDED).sent(MS, 1, "eth0"),
        Story().wait(10_000, 900, 1, 103, TRANSMIT, FORWARDED).handled(11_000, 50, 1, 31).sent(11_100, 1, "eth0"),
    ],
    ids=["none", "no end", "another CPU", "long after", "not the first"],
)
def test_a_packet_elsewhere_says_nothing(story: Story) -> None:
    assert rows(story)["__dev_queue_xmit"].subject_reason == SOME_DEVICE


def test_of_other_locks_the_events_name_nothing() -> None:
    story = Story().handled(10_000, 4_000, 0, 31).wait(14_100, 90, 0, 101, 0xABC0, (*SLOWPATH, "futex_wake"))
    assert rows(story)["futex_wake"].subject_reason == NO_OBJECT
