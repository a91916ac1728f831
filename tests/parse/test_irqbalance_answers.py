"""irqbalance's answers, whole and hostile."""

from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.irqbalance_answers import IrqbalanceSetup, balanced, setup

STATS = (
    "TYPE 3 NUMBER -1 LOAD 11 SAVE_MODE 0 IRQ 9 LOAD 12 DIFF 13 CLASS -1 "
    "TYPE 2 NUMBER 0 LOAD 14 SAVE_MODE 1 "
    "TYPE 0 NUMBER 5 LOAD 18446744073709551615 SAVE_MODE 0 IRQ 41 LOAD 15 DIFF 16 CLASS 5 IRQ 42 LOAD 1 DIFF 2 CLASS 6 "
)


def test_setup() -> None:
    told = (
        "SLEEP 7 IRQ 33 LOAD 4 DIFF 5 CLASS 6 IRQ 9 LOAD 1 DIFF 2 CLASS 3 IRQ 33 LOAD 0 DIFF 0 CLASS 0 BANNED 0000,00f0"
    )
    assert setup(told) == IrqbalanceSetup(7, (33, 9))
    assert setup("SLEEP 10 BANNED 00000000") == IrqbalanceSetup(10, ())


def test_statistics_name_what_is_placed() -> None:
    assert balanced(STATS) == {9, 41, 42}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "SLEEP",
        "SLEEP 10",
        "SLEEP ten BANNED 0",
        "SLEEP -1 BANNED 0",
        "SLEEP 10 IRQ BANNED 0",
        "SLEEP 10 IRQ -3 LOAD 1 DIFF 2 CLASS 3 BANNED 0",
        "SLEEP 10 IRQ 99999999999 LOAD 1 DIFF 2 CLASS 3 BANNED 0",
        "SLEEP 10 IRQ 3 LOAD 1 DIFF two CLASS 3 BANNED 0",
        "SLEEP 10 IRQ 3 LOAD 1 CLASS 2 DIFF 3 BANNED 0",
        "SLEEP 10 BANNED 0 IRQ 3",
        "SLEEP 10 BANNED\x000",
        STATS,
    ],
)
def test_no_setup(text: str) -> None:
    with pytest.raises(ParseError):
        setup(text)


@pytest.mark.parametrize(
    "text", ["", STATS[:-8], "IRQ 9 LOAD 1 DIFF 2 CLASS 3", "SLEEP 10 BANNED 0", STATS + "IRQ 5 LOAD"]
)
def test_no_statistics(text: str) -> None:
    with pytest.raises(ParseError):
        balanced(text)
