from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import make, make_contention
from tests.diagnose.views import clear, finding, plain_nic, unjudged, value
from tuneagent.diagnose.transmit_lock_contention import judge
from tuneagent.model.contention import Contended, LockGroup, SpinVisibility
from tuneagent.model.finding import Finding
from tuneagent.model.nic import Link, Nic
from tuneagent.model.view import View

VLAN = plain_nic("eth0.5", link=Link("vlan", "pfifo_fast", 1), lower=("eth0",), tx_queues=make.nic(1).tx_queues)


def waits(device: str | None = "eth0.5", **changes: Any) -> Contended:
    base = {"group": LockGroup.TRANSMIT, "caller": "__dev_queue_xmit", "irq": None, "subject": device}
    reason = "right before a packet given to this device" if device else "some device"
    return make_contention.contended(device=device, subject_reason=reason, **(base | changes))


def view(*rows: Contended, nics: tuple[Nic, ...] = (make.nic(4), VLAN), **changes: Any) -> View:
    after = replace(make.snapshot(), nics=nics)
    return make.view(after, contention=make_contention.contention(*rows, **({"rows": rows} | changes)))


def test_a_vlan_with_one_queue_above_four_is_the_cause() -> None:
    found = finding(judge, view(waits()))
    assert (found.subject, found.cpus) == ("eth0.5", (0, 1))
    assert found.title == "CPUs 0-1 wait for the transmit queue lock of eth0.5"
    assert "eth0.5 has one transmit queue above several: see stacked-device-queues" in found.explanation
    assert value(found, "waits_per_sec") == 450.0
    assert value(found, "waits_in___dev_queue_xmit") == 900


def test_the_device_below_says_what_lies_above_it() -> None:
    below = make.nic(4, upper=("eth0.5",))
    assert "eth0.5 has one transmit queue" in finding(judge, view(waits("eth0"), nics=(below, VLAN))).explanation


def test_fewer_queues_than_cpus_are_told() -> None:
    said = finding(judge, view(waits("eth0"), nics=(make.nic(1),))).explanation
    assert "eth0 has 1 transmit queue for 4 CPUs" in said
    assert "meet at one of them" in finding(judge, view(waits("eth0"), nics=(make.nic(4),))).explanation


def test_a_queueing_discipline_is_called_so_and_both_are_one_finding() -> None:
    qdisc = waits("eth0", group=LockGroup.QDISC, caller="__dev_xmit_skb", waits=400, per_cpu={2: 400})
    found = finding(judge, view(waits("eth0"), qdisc))
    assert "transmit queue and queueing discipline lock of eth0" in found.title
    assert found.cpus == (0, 1, 2)


def test_devices_are_told_apart_and_some_device_is_no_name() -> None:
    found = [one for one in judge(view(waits(None), waits("eth1"), waits("eth0"))) if isinstance(one, Finding)]
    assert [one.subject for one in found] == ["eth0", "eth1", "devices"]
    assert "not among the interfaces" in found[1].explanation
    assert "do not tell which device" in found[2].explanation


@pytest.mark.parametrize(("count", "found"), [(199, False), (200, True)])
def test_a_hundred_waits_a_second_are_too_many(count: int, *, found: bool) -> None:
    (said,) = judge(view(waits(waits=count, per_cpu={0: count}, wait_total_ns=900)))
    assert isinstance(said, Finding) is found


def test_descriptor_locks_are_no_transmit_locks() -> None:
    assert value(clear(judge, view(make_contention.contended())), "waits_per_sec") == 0.0


def test_what_cannot_be_seen_is_not_clear() -> None:
    assert "third CPU" in unjudged(judge, view(spin=SpinVisibility.FROM_THIRD)).reason


def test_where_nothing_was_asked_nothing_is_said() -> None:
    assert judge(make.view()) == ()
