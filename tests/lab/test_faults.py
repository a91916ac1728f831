"""The lab's faults are told apart from what a test finds. Boots nothing."""

from __future__ import annotations

import pytest

from tests.lab.faults import LabFaultError, Ledger, Pulse, hangs

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
