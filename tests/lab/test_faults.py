"""The lab's faults are told apart from what a test finds. Boots nothing."""

from __future__ import annotations

import pytest

from tests.lab.faults import LabFaultError, Ledger, Pulse, hangs, tried

START = Pulse(100.0, 5_000_000, 40_000)


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (Pulse(104.0, 5_080_000, 40_000), True),  # 20,000 exits a second and no halt
        (Pulse(104.0, 5_080_000, 40_001), False),  # busy, but it did halt
        (Pulse(104.0, 5_039_000, 40_000), False),  # 9,750 exits a second
        (Pulse(104.0, 5_000_000, 40_000), False),  # a guest that spins without exits hangs in itself
        (START, False),  # no time has passed
    ],
)
def test_the_signature_of_a_hang(later: Pulse, *, expected: bool) -> None:
    assert hangs(START, later) is expected


def test_the_ledger_says_nothing_of_a_lab_that_was_not_booted() -> None:
    assert Ledger().rows() == []


def test_the_ledger_counts_boots_and_names_faults() -> None:
    ledger = Ledger(faults=["domain q2: hangs"], times=[("hypervisor: boot", 24.06)], boots=3)
    assert ledger.rows() == [
        "hypervisor: boot: 24.1 s",
        "domains booted or restored: 3; faults of the lab: 1",
        "fault: domain q2: hangs",
    ]


def test_what_broke_is_not_timed() -> None:
    ledger = Ledger()
    with pytest.raises(LabFaultError), ledger.timed("boot"):
        raise LabFaultError("gone")
    assert ledger.times == []


def test_a_lab_that_breaks_twice_is_tried_a_third_time() -> None:
    faults: list[LabFaultError] = []

    def breaks_twice() -> str:
        if len(faults) < 2:
            raise LabFaultError("hangs")
        return "through"

    assert tried(breaks_twice, faults.append) == "through"
    assert len(faults) == 2


def test_a_lab_that_always_breaks_is_given_up() -> None:
    faults: list[LabFaultError] = []

    def breaks() -> None:
        raise LabFaultError(f"fault {len(faults)}")

    with pytest.raises(LabFaultError, match="fault 2"):
        tried(breaks, faults.append)
    assert len(faults) == 3


def test_an_assertion_is_never_tried_again() -> None:
    calls: list[None] = []

    def fails() -> None:
        calls.append(None)
        raise AssertionError("found")

    with pytest.raises(AssertionError, match="found"):
        tried(fails, lambda _: None)
    assert len(calls) == 1
