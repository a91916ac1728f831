"""Interrupts put off: the two numbers of an interface, on a real veth and on trees."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apply.machines import Faulty, eth0, in_namespace, machine, veth
from tests.observe.looking import put
from tests.trees import guest
from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.nic_files import NicFile
from tuneagent.model.plan import TunableKind
from tuneagent.model.transaction import Effect

DEFER, FLUSH = TunableKind.NAPI_DEFER_HARD_IRQS, TunableKind.GRO_FLUSH_TIMEOUT


def look() -> dict[str, Any]:
    """Runs inside the namespace."""
    actuator = NicFile(machine("/"))
    defer, flush = actuator.locate(DEFER, veth("v0")), actuator.locate(FLUSH, veth("v0"))
    before = [actuator.read(defer), actuator.read(flush)]
    actuator.write(defer, "10")
    alone = actuator.effect(defer, "10", None)
    actuator.write(flush, "20000")
    said = {
        "before": before,
        "where": [defer.where, flush.where],
        "alone": [alone.effect, alone.detail],
        "both": [actuator.effect(defer, "10", None).effect, actuator.effect(flush, "20000", None).effect],
        "set": [actuator.read(defer), actuator.read(flush)],
        "too much": _refused(actuator, defer, str(1 << 40)),
    }
    actuator.write(flush, before[1])
    actuator.write(defer, before[0])
    return said | {"after": [actuator.read(defer), actuator.read(flush)]}


def _refused(actuator: NicFile, place: Any, value: str) -> list[str]:
    try:
        actuator.write(place, value)
    except Refusal as refusal:
        return [refusal.why, refusal.detail]
    return []


@pytest.mark.namespaces
def test_both_on_the_running_kernel() -> None:
    said = in_namespace("tests.apply.test_nic_files")
    assert said["where"] == ["/sys/class/net/v0/napi_defer_hard_irqs", "/sys/class/net/v0/gro_flush_timeout"]
    assert said["set"] == ["10", "20000"]
    assert said["both"] == ["verified", "verified"]
    assert said["alone"] == ["not-yet", "it is 10, and counts for nothing while gro_flush_timeout is 0"]
    assert said["after"] == said["before"] == ["0", "0"]
    why, detail = said["too much"]
    assert (why, "napi_defer_hard_irqs" in detail) == ("failed", True)


def test_each_kind_has_its_file(tmp_path: Path) -> None:
    actuator = NicFile(machine(guest(tmp_path)))
    defer, flush = actuator.locate(DEFER, eth0()), actuator.locate(FLUSH, eth0())
    assert (actuator.read(defer), actuator.read(flush)) == ("4", "2000")
    assert defer.target.interface == "eth0"
    actuator.write(defer, "11")
    assert (actuator.read(defer), actuator.read(flush)) == ("11", "2000")
    assert actuator.by_hand(flush, "7000") == "echo 7000 > /sys/class/net/eth0/gro_flush_timeout"
    assert actuator.effect(defer, "11", None).effect is Effect.VERIFIED
    assert actuator.effect(defer, "12", None).effect is Effect.CONTRADICTED
    actuator.write(defer, "0")
    assert actuator.effect(flush, "2000", None).effect is Effect.NOT_YET
    actuator.write(flush, "0")
    assert actuator.effect(defer, "0", None).effect is Effect.VERIFIED


def test_a_kernel_without_the_files(tmp_path: Path) -> None:
    guest(tmp_path)
    actuator = NicFile(machine(tmp_path))
    place = actuator.locate(DEFER, eth0())
    (tmp_path / "sys/class/net/eth0/napi_defer_hard_irqs").unlink()
    for attempt in (lambda: actuator.read(place), lambda: actuator.write(place, "3")):
        with pytest.raises(Refusal) as refused:
            attempt()
        assert refused.value.why is Why.FACT
        assert "no such setting" in refused.value.detail


def test_what_people_would_notice_is_not_asked_for(tmp_path: Path) -> None:
    actuator = NicFile(machine(guest(tmp_path)))
    defer, flush = actuator.locate(DEFER, eth0()), actuator.locate(FLUSH, eth0())
    assert actuator.check(defer, "10000") is None
    assert actuator.check(defer, "10001")
    assert actuator.check(flush, "1000000000") is None
    assert actuator.check(flush, "1000000001")


@pytest.mark.parametrize("value", ["", "-1", "ten", "1 2", "1\n2", "0x10", "1e3", "9" * 21, "\u0664"])
def test_what_is_no_number_is_never_written(tmp_path: Path, value: str) -> None:
    files = Faulty(str(guest(tmp_path)), {})
    actuator = NicFile(machine(tmp_path, files))
    place = actuator.locate(DEFER, eth0())
    assert actuator.check(place, value)
    with pytest.raises(Refusal):
        actuator.write(place, value)
    assert files.tried == []


def test_what_an_administrator_chose_is_given_back_whatever_it_is(tmp_path: Path) -> None:
    guest(tmp_path)
    put(tmp_path, "/sys/class/net/eth0/gro_flush_timeout", "18446744073709551615\n")
    actuator = NicFile(machine(tmp_path))
    place = actuator.locate(FLUSH, eth0())
    old = actuator.read(place)
    actuator.write(place, "20000")
    actuator.write(place, old)
    assert (tmp_path / place.where[1:]).read_text() == "18446744073709551615\n"


def test_no_right(tmp_path: Path) -> None:
    path = "/sys/class/net/eth0/napi_defer_hard_irqs"
    actuator = NicFile(machine(tmp_path, Faulty(str(guest(tmp_path)), {path: errno.EPERM})))
    with pytest.raises(Refusal) as refused:
        actuator.write(actuator.locate(DEFER, eth0()), "3")
    assert refused.value.why is Why.FORBIDDEN


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 3))
def test_numbers_and_not_texts(one: int, other: int, zeros: int) -> None:
    actuator = NicFile(machine("/nonexistent"))
    assert actuator.same(str(one), str(other)) == (one == other)
    assert actuator.same(f"{'0' * zeros}{one % 10**9}\n", str(one % 10**9))


@given(st.text(max_size=8), st.text(max_size=8))
def test_texts_of_any_kind_can_be_compared(one: str, other: str) -> None:
    actuator = NicFile(machine("/nonexistent"))
    assert actuator.same(one, other) == actuator.same(other, one)


if __name__ == "__main__":
    json.dump(look(), sys.stdout)
