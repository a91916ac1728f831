from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make
from tests.plan import build
from tests.plan.test_solve import PILED, ids, of, reasons, with_balance
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irqbalance import IrqbalanceConfig
from tuneagent.model.nic import Channels, Coalesce, RxQueue
from tuneagent.model.plan import Plan, TunableKind
from tuneagent.model.policy import Action
from tuneagent.model.virtio import Feature
from tuneagent.plan.conflicts import CONFLICTS
from tuneagent.plan.solve import plan


def test_pins_win_over_irqbalance_that_would_undo_them() -> None:
    stopped = replace(PILED, irqbalance=build.balance(running=False, unit_state="inactive"))
    answer = of(stopped, build.finding("share"), build.finding("absent", "machine"))
    assert ids(answer) == ["pin:eth0"]
    assert reasons(answer)["on:machine"] == "interrupts are pinned, which irqbalance would undo (pin:eth0)"
    assert [one.rules for one in answer.declined] == [("absent",)]


def test_irqbalance_stands_where_nothing_can_be_pinned() -> None:
    stopped = replace(PILED, irqbalance=build.balance(running=False, unit_state="inactive"))
    shared = build.with_nic(stopped, queue_irqs=())
    assert ids(of(shared, build.finding("share"), build.finding("absent", "machine"))) == ["on:machine"]


def test_pinning_that_bans_needs_no_ban_beside_it() -> None:
    answer = of(with_balance(PILED), build.finding("share"), build.finding("fight"))
    assert ids(answer) == ["pin:eth0"]
    assert "includes the ban" in reasons(answer)["ban:eth0"]


def test_a_ban_on_another_interface_stands() -> None:
    now = with_balance(PILED)
    other = build.second_nic("eth1", 71, 1, "0000:00:04.0")
    now = replace(now, nics=(*(now.nics or ()), other))
    assert ids(of(now, build.finding("share"), build.finding("fight", "eth1"))) == ["ban:eth1", "pin:eth0"]


def test_a_ban_wins_over_stopping_the_service() -> None:
    answer = of(with_balance(make.snapshot()), build.finding("fight"), build.finding("in-guest"))
    assert ids(answer) == ["ban:eth0"]
    assert "banning the queue interrupts is enough" in reasons(answer)["off:machine"]


def test_stopping_stands_where_no_ban_can_be_made() -> None:
    answer = of(with_balance(PILED, file=False), build.finding("share"), build.finding("in-guest"))
    assert ids(answer) == ["off:machine", "pin:eth0"]


def test_queues_win_over_steering() -> None:
    one_queue = build.with_nic(make.snapshot(queues=1), channels=Channels(combined=1, combined_max=4))
    answer = of(one_queue, build.finding("saturated", "cpu0"))
    assert ids(answer) == ["queues:eth0"]
    assert "more queues" in reasons(answer)["rps:eth0"]


def test_steering_that_is_useless_is_not_replaced_by_other_steering() -> None:
    now = build.with_nic(make.snapshot(queues=1), rx_queues=(RxQueue(0, CpuSet.of([0]), 0),))
    answer = of(now, build.finding("saturated", "cpu0"), build.finding("useless"))
    assert ids(answer) == ["rps-off:eth0"]
    assert "rps-off:eth0" in reasons(answer)["rps:eth0"]


def test_no_conflict_goes_both_ways() -> None:
    # What was asked for by name may turn a conflict round: it never meets its opposite.
    pairs = {(winner, one.loser) for one in CONFLICTS if not one.asked for winner in one.winner}
    assert not {(loser, winner) for winner, loser in pairs if winner is not loser} & pairs
    assert (Action.IRQBALANCE_ON, Action.IRQBALANCE_OFF) in pairs


def test_a_device_that_holds_interrupts_back_needs_no_timer_beside_it() -> None:
    still = Coalesce(rx_usecs=0, tx_usecs=0, adaptive_rx=False)
    now = build.with_nic(make.snapshot(), coalesce=still, napi_defer_hard_irqs=0, gro_flush_timeout_ns=0)
    assert now.virtio is not None
    able = replace(now, virtio=(replace(now.virtio[0], features=make.FEATURES | {Feature.NET_NOTF_COAL}),))
    policies = (
        build.policy(Action.COALESCING, name="hold", parameters={"rx_usecs": 20}),
        build.policy(
            Action.DEFER_INTERRUPTS,
            name="defer",
            parameters={"napi_defer_hard_irqs": 10, "gro_flush_timeout_ns": 20_000},
        ),
    )
    answer = plan(make.view(able), (build.finding(),), policies)
    assert ids(answer) == ["hold:eth0"]
    assert reasons(answer)["defer:eth0"] == "the device holds interrupts back by itself (hold:eth0)"
    assert ids(plan(make.view(now), (build.finding(),), policies)) == ["defer:eth0"]


def test_the_ban_in_the_file_wins_over_the_one_over_the_socket() -> None:
    policies = (
        build.policy(Action.IRQBALANCE_BAN, name="ban", rules=("fight",)),
        build.policy(Action.IRQBALANCE_BAN_NOW, name="now", rules=("fight",)),
    )
    now = make.snapshot()
    told = replace(now, irqbalance=build.balance(build.config(), socket="/run/irqbalance/irqbalance612.sock"))
    answer = plan(make.view(told), (build.finding("fight"),), policies)
    assert ids(answer) == ["ban:eth0"]
    assert "and lasts (ban:eth0)" in reasons(answer)["now:eth0"]
    without = replace(told, irqbalance=build.balance(None, socket="/run/irqbalance/irqbalance612.sock"))
    assert ids(plan(make.view(without), (build.finding("fight"),), policies)) == ["now:eth0"]


def asked(*names: str, config: IrqbalanceConfig | None, banned: frozenset[int] = frozenset()) -> Plan:
    """What comes of policies that were asked for by name, where irqbalance runs and has its socket."""
    policies = (
        build.policy(Action.IRQBALANCE_BAN, Action.PIN_QUEUE_INTERRUPTS, name="pin"),
        build.policy(Action.IRQBALANCE_BAN, name="ban"),
        build.policy(Action.IRQBALANCE_BAN_NOW, name="now"),
    )
    runs = build.balance(config, socket="/run/irqbalance/irqbalance612.sock", banned_irqs=banned)
    return plan(make.view(replace(PILED, irqbalance=runs)), (), [one for one in policies if one.name in names], names)


@pytest.mark.parametrize("config", [None, build.config("--debug"), build.config(errors=("line 1: no value",))])
def test_with_a_ban_over_the_socket_pinning_needs_none_in_the_file(config: IrqbalanceConfig | None) -> None:
    answer = asked("now", "pin", config=config)
    assert sorted(ids(answer)) == ["now:eth0", "pin:eth0"]
    (pin,) = [one for one in answer.advice if one.policy == "pin"]
    assert {change.kind for change in pin.changes} == {TunableKind.IRQ_AFFINITY}
    assert not any("irqbalance" in note for note in pin.notes)


def test_nor_once_that_ban_is_in_force() -> None:
    every = frozenset(line.irq for line in PILED.irqs or ())
    answer = asked("now", "pin", config=None, banned=every)
    assert ids(answer) == ["pin:eth0"]
    assert not any("irqbalance" in note for note in answer.advice[0].notes)


def test_a_ban_in_the_file_that_was_asked_for_too_stands_and_lasts() -> None:
    answer = asked("ban", "now", "pin", config=build.config("--debug"))
    assert ids(answer) == ["ban:eth0", "pin:eth0"]
    assert "and lasts (ban:eth0)" in reasons(answer)["now:eth0"]


def test_a_ban_over_the_socket_that_nobody_named_gives_way_to_the_pinning_s_own() -> None:
    policies = (
        build.policy(Action.IRQBALANCE_BAN, Action.PIN_QUEUE_INTERRUPTS, name="pin"),
        build.policy(Action.IRQBALANCE_BAN_NOW, name="now"),
    )
    runs = build.balance(build.config("--debug"), socket="/run/irqbalance/irqbalance612.sock")
    answer = plan(make.view(replace(PILED, irqbalance=runs)), (build.finding(),), policies)
    assert ids(answer) == ["pin:eth0"]
    assert answer.advice[0].changes[0].kind is TunableKind.IRQBALANCE_BAN
