from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import make
from tests.plan import build
from tuneagent.model.policy import Action
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.plan.mover import moved_by_another
from tuneagent.plan.solve import plan

OLD = build.spread(make.snapshot(), 3)
NEW = build.spread(make.snapshot(), 2)
PIN = build.policy(Action.PIN_QUEUE_INTERRUPTS)


def seen(view: View) -> bool:
    (nic,) = view.after.virtio_nics
    return moved_by_another(view, nic)


def under(now: Snapshot, **fields: Any) -> Snapshot:
    return replace(now, irqbalance=build.balance(**fields))


def test_the_advice_to_pin_says_that_something_else_moves_them() -> None:
    (advice,) = plan(make.view(NEW, before=OLD), [build.finding()], (PIN,)).advice
    assert "something else moves these interrupts; find it first, or it will undo the pins" in advice.notes
    (still,) = plan(make.view(NEW), [build.finding()], (PIN,)).advice
    assert not any("something else" in note for note in still.notes)


@pytest.mark.parametrize("fields", [{"running": True}, {"running": None}])
def test_irqbalance_that_may_have_moved_them_is_nothing_else(fields: dict[str, Any]) -> None:
    assert not seen(make.view(under(NEW, **fields), before=under(OLD, **fields)))
    assert not seen(make.view(NEW, before=under(OLD, **fields)))


def test_a_ban_leaves_something_else() -> None:
    bans: tuple[dict[str, Any], ...] = ({"banned_irqs": frozenset({33})}, {"banned_modules": ("virtio",)})
    for ban in bans:
        assert seen(make.view(under(NEW, **ban), before=under(OLD, **ban)))
    other: dict[str, Any] = {"banned_irqs": frozenset({99})}
    assert not seen(make.view(under(NEW, **other), before=under(OLD, **other)))


def test_interrupts_on_a_cpu_where_they_are_placed_at_neither_end_moved() -> None:
    bouncing = {31: make.irq_rate(31, {3: 500, 1: 90})}
    assert seen(make.view(OLD, before=OLD, irqs=bouncing))
    assert not seen(make.view(OLD, before=OLD, irqs={31: make.irq_rate(31, {3: 500, 1: 40})}))
    assert not seen(make.view(OLD, before=OLD, irqs={31: make.irq_rate(31, {3: 9, 1: 90})}))


def test_one_sample_shows_no_move() -> None:
    assert not seen(replace(make.view(NEW), before=None))
