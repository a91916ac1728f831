from __future__ import annotations

import pytest

from tests import make
from tests.plan import build
from tuneagent.model.plan import Declined
from tuneagent.model.policy import Action
from tuneagent.plan.situation import Solution


def defer(polls: int | None, timeout: int | None) -> Solution | Declined:
    now = build.with_nic(make.snapshot(), napi_defer_hard_irqs=polls, gro_flush_timeout_ns=timeout)
    return build.solve(Action.DEFER_INTERRUPTS, now, napi_defer_hard_irqs=10, gro_flush_timeout_ns=20_000)


def test_both_values_are_set_together() -> None:
    polls, timeout = build.changes(defer(0, 0))
    assert polls.do == "echo 10 > /sys/class/net/eth0/napi_defer_hard_irqs"
    assert polls.undo == "echo 0 > /sys/class/net/eth0/napi_defer_hard_irqs"
    assert timeout.do == "echo 20000 > /sys/class/net/eth0/gro_flush_timeout"
    assert (timeout.old, timeout.new) == ("0", "20000")


def test_a_value_that_is_right_already_stays() -> None:
    (change,) = build.changes(defer(10, 0))
    assert change.where.endswith("gro_flush_timeout")


def test_a_choice_that_somebody_made_is_left_alone() -> None:
    assert "7 polls and 9000 ns" in build.reason(defer(7, 9000))


@pytest.mark.parametrize("values", [(None, 0), (0, None)])
def test_a_kernel_without_it(values: tuple[int | None, int | None]) -> None:
    assert "shows no" in build.reason(defer(*values))
