from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.model.plan import Target, TunableKind
from tuneagent.parse import plan_file
from tuneagent.parse.plan_file import PlanFileError, parse

MAC = "52:54:00:12:34:56"
UUID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
QUEUE = {"bus_address": "0000:00:03.0", "virtio": None, "mac": MAC, "queue": 2, "interface": "eth0"}


def pin(**changes: Any) -> dict[str, Any]:
    base = {
        "kind": "irq-affinity",
        "target": {**QUEUE, "queue_role": "input", "irq": 35},
        "where": "/proc/irq/35/smp_affinity_list",
        "old": "0-3",
        "new": "2",
        "why": "a CPU of its own",
        "do": "rm -rf /",
        "undo": "reboot",
        "elsewhere": ["3", "1"],
        "diff": [],
    }
    return base | changes


def of(kind: str, new: str, **target: Any) -> dict[str, Any]:
    return {"kind": kind, "target": target, "new": new}


def one(change: Any) -> Any:
    return {"changes": [change]}


def test_a_change_comes_back_as_the_advice_had_it() -> None:
    found = parse({"advice": [{"policy": "pin", "subject": "eth0", "role": "guest", "changes": [pin()]}], "more": 1})

    (planned,) = found.changes
    assert (planned.policy, planned.subject, found.inside) == ("pin", "eth0", ())
    change = planned.change
    assert change.target == Target("0000:00:03.0", None, MAC, 2, "input", interface="eth0", irq=35)
    assert (change.kind, change.old, change.new) == (TunableKind.IRQ_AFFINITY, "0-3", "2")
    assert change.elsewhere == ("3", "1")


def test_shell_lines_of_a_file_are_never_kept() -> None:
    (planned,) = parse(one(pin())).changes

    assert (planned.change.do, planned.change.undo) == ("", None)


def test_what_is_done_inside_a_virtual_machine_is_set_apart() -> None:
    advice = [
        {"policy": "off", "subject": "domain web", "role": "guest", "changes": [pin()]},
        {"policy": "off", "subject": "domain web", "role": "hypervisor", "changes": [of("kvm-parameter", "0",
         parameter="kvm.halt_poll_ns")]},
    ]  # fmt: skip

    found = parse({"advice": advice})

    assert [planned.change.kind for planned in found.changes] == [TunableKind.KVM_PARAMETER]
    assert [planned.change.kind for planned in found.inside] == [TunableKind.IRQ_AFFINITY]


@pytest.mark.parametrize(
    "change",
    [
        of("irqbalance-unit", "inactive", unit="irqbalance.service"),
        of("irqbalance-ban", "", **QUEUE),
        of("channels", "4", mac=MAC, interface="eth0"),
        of("rings", "rx=512", **QUEUE),
        of("xps-cpus", "0000000f,ffffffff", **QUEUE),
        of("rps-cpus", "0", **QUEUE),
        of("rps-flow-count", "4096", **QUEUE),
        of("rps-sock-flow-entries", "32768"),
        of("gro-flush-timeout", "0", **QUEUE),
        of("emulator-pin", "0,2-3", domain_uuid=UUID),
        of("vhost-affinity", "3", thread_role="vhost", kernel_thread=False, tid=4711),
        of("domain-interface-driver", "on", domain_uuid=UUID, mac=MAC, parameter="event_idx"),
        of("domain-interface-live", "4", domain_uuid=UUID, position=0, parameter="queues"),
    ],
    ids=lambda change: str(change["kind"]),
)
def test_each_kind_with_what_it_needs(change: dict[str, Any]) -> None:
    (planned,) = parse(one(change)).changes

    assert (planned.change.kind, planned.change.new, planned.change.old) == (change["kind"], change["new"], None)


def without(key: str, **target: Any) -> dict[str, Any]:
    changed = copy.deepcopy(pin())
    changed["target"] |= target
    del (changed if key in changed else changed["target"])[key]
    return changed


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "$: an array, not an object"),
        (None, "$: null, not an object"),
        ({}, "$: has neither a member changes nor a member advice"),
        ({"changes": {}}, "$.changes: an object, not an array"),
        ({"changes": ["x"]}, "$.changes[0]: a string, not an object"),
        ({"advice": [{}]}, "$.advice[0]: has no member changes"),
        ({"advice": [{"changes": [pin(kind="nonsense")]}]}, "$.advice[0].changes[0].kind: 'nonsense' is none of"),
        (one(pin(kind=None)), "$.changes[0].kind: null, not a string"),
        (one(without("kind")), "$.changes[0]: has no member kind"),
        (one(without("target")), "$.changes[0]: has no member target"),
        (one(without("new")), "$.changes[0]: has no member new"),
        (one(without("mac")), "$.changes[0].target: has no mac, which irq-affinity needs"),
        (one(without("queue_role")), "$.changes[0].target: has no queue_role"),
        (one(without("bus_address", interface=None)), "has neither bus_address nor interface"),
        (one(pin(target={**QUEUE, "queue": -1})), "$.changes[0].target.queue: not within 0 to"),
        (one(pin(target={**QUEUE, "queue": True})), "$.changes[0].target.queue: true or false"),
        (one(pin(target={**QUEUE, "queue": 10**400})), "$.changes[0].target.queue: not within 0 to"),
        (one(pin(target={**QUEUE, "quueue": 1})), "$.changes[0].target.quueue: not known here"),
        (one(pin(target={**QUEUE, "mac": ""})), "$.changes[0].target.mac: an empty string"),
        (one(pin(target={**QUEUE, "\x1b[2J": 1})), "$.changes[0].target: the key: holds the unprintable"),
        (one(pin(extra=1)), "$.changes[0].extra: not known here"),
        (one(pin(new="")), "$.changes[0].new: an empty CPU list"),
        (one(pin(new="all")), "$.changes[0].new: names the last CPU"),
        (one(pin(new="3-1")), "$.changes[0].new: '3-1' runs backwards"),
        (one(pin(new="1\n2")), "$.changes[0].new: holds the unprintable character"),
        (one(pin(new="\ud800")), "$.changes[0].new: holds the unprintable character"),
        (one(pin(new=3)), "$.changes[0].new: a number, not a string"),
        (one(pin(new="1" * 65_537)), "$.changes[0].new: longer than 65536 characters"),
        (one(pin(old=3)), "$.changes[0].old: a number, not a string"),
        (one(pin(elsewhere=["x"])), "$.changes[0].elsewhere[0]: 'x' is not a number"),
        (one(of("xps-cpus", "xyz", **QUEUE)), "$.changes[0].new: 'xyz' is not a CPU mask"),
        (one(of("channels", "0", **QUEUE)), "$.changes[0].new: 0, and at least 1"),
        (one(of("kvm-parameter", "-1", parameter="kvm.halt_poll_ns")), "$.changes[0].new: '-1' is not a number"),
        (one(of("gro-flush-timeout", "9999999999", **QUEUE)), "is not a number of 0 to"),
        (one(of("irqbalance-unit", "masked", unit="irqbalance.service")), "'masked' is none of active, inactive"),
        (one(of("emulator-pin", "1", tid=3)), "has no domain_uuid, which emulator-pin needs"),
        (one(of("vhost-affinity", "1", thread_role="vhost")), "has neither domain_uuid nor tid"),
        (one(of("domain-interface-driver", "on", domain_uuid=UUID, mac=MAC, parameter="iommu")), "'iommu' is none of"),
        (one(of("domain-interface-driver", "yes", domain_uuid=UUID, mac=MAC, parameter="event_idx")), "'yes' is none"),
        (one(of("domain-interface-driver", "on", domain_uuid=UUID, parameter="event_idx")), "which interface is meant"),
    ],
)
def test_a_fault_is_told_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(PlanFileError) as raised:
        parse(value)

    assert any(message in fault for fault in raised.value.faults), raised.value.faults


def test_every_fault_is_told() -> None:
    with pytest.raises(PlanFileError) as raised:
        parse({"changes": [pin(new=""), pin(), pin(kind="x")]})

    assert [fault.partition(":")[0] for fault in raised.value.faults] == ["$.changes[0].new", "$.changes[2].kind"]


def test_two_values_for_one_thing_are_a_fault_and_one_twice_is_none() -> None:
    with pytest.raises(PlanFileError, match="changes 0 and 1, counted from 0, want '2' and '3' of the same"):
        parse({"changes": [pin(), pin(new="3")]})

    assert len(parse({"changes": [pin(), pin()]}).changes) == 2


@pytest.mark.parametrize(
    "made",
    [
        lambda: {"changes": [pin()] * (plan_file.MOST_CHANGES + 1)},
        lambda: {"advice": [{"changes": [pin()] * 100}] * 101},
        lambda: {"changes": [pin(new="")] * 1000},
    ],
)
def test_a_file_of_too_much_has_an_end(made: Callable[[], Any]) -> None:
    with pytest.raises(PlanFileError) as raised:
        parse(made())

    assert len(raised.value.faults) <= plan_file.MOST_FAULTS + 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)
MEMBERS = st.sampled_from(["kind", "target", "new", "old", "elsewhere", "where", "why", "policy"])


def faults_of(value: Any) -> tuple[str, ...]:
    try:
        parse(value)
    except PlanFileError as error:
        return error.faults
    return ()


@given(MEMBERS, JSON)
def test_whatever_a_member_is_it_is_a_plan_or_a_fault_that_can_be_printed(key: str, value: Any) -> None:
    assert all(fault.startswith("$") and fault.isprintable() for fault in faults_of(one(pin(**{key: value}))))


@given(JSON)
def test_whatever_a_file_is_it_is_a_plan_or_a_fault(value: Any) -> None:
    for told in (value, {"changes": value}, {"advice": value}, {"advice": [{"changes": value}]}):
        assert all(fault.startswith("$") and fault.isprintable() for fault in faults_of(told))
