"""Bans over the socket: others' are kept, a new process ends ours, and what cannot be is said."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.apply.irqbalance_machine import TARGET, Processes, machine, process
from tests.machine import irqbalance_daemon
from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.irqbalance_runtime_ban import IrqbalanceRuntimeBan
from tuneagent.machine.irqbalance_socket import IrqbalanceSocket
from tuneagent.model.plan import TunableKind
from tuneagent.model.transaction import Effect

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="irqbalance hears root only")
KIND = TunableKind.IRQBALANCE_RUNTIME_BAN


def actuator(run: Path, *pids: int) -> IrqbalanceRuntimeBan:
    return IrqbalanceRuntimeBan(machine(Processes(process(pid) for pid in pids)), str(run))


def refused(ban: IrqbalanceRuntimeBan) -> Refusal:
    with pytest.raises(Refusal) as caught:
        ban.read(ban.locate(KIND, TARGET))
    return caught.value


def test_a_ban_and_its_undo_leave_the_bans_of_others(tmp_path: Path) -> None:
    with irqbalance_daemon.running(tmp_path, banned=(71, 33, 9), irqs=(9, 31, 32, 33, 34, 71, 72)) as daemon:
        ban = actuator(tmp_path, daemon.pid)
        asked = IrqbalanceSocket(daemon.pid, str(tmp_path))
        place = ban.locate(KIND, TARGET)
        old = ban.read(place)
        assert old == "33"
        ban.write(place, "34,31")
        assert asked.setup().banned_irqs == (71, 9, 31, 34)
        assert ban.same(ban.read(place), "34,31")
        assert not ban.same(ban.read(place), old)
        asked.ban([71, 9, 31, 34, 72])  # somebody's, meanwhile
        ban.write(place, old)
        assert asked.setup().banned_irqs == (71, 9, 72, 33)
        assert ban.read(place) == old


def test_it_is_in_effect_from_the_next_look_on(tmp_path: Path) -> None:
    with irqbalance_daemon.running(tmp_path, irqs=(31, 32, 71)) as daemon:
        ban = actuator(tmp_path, daemon.pid)
        place = ban.locate(KIND, TARGET)
        assert ban.effect(place, "31", None).effect is Effect.CONTRADICTED
        ban.write(place, "31")
        seen = ban.effect(place, "31", ban.mark(place))
        assert (seen.effect, "in 10 s" in seen.detail) == (Effect.NOT_YET, True)
        daemon.send_signal(signal.SIGHUP)
        assert ban.effect(place, "31", None).effect is Effect.VERIFIED


def test_another_process_is_another_irqbalance(tmp_path: Path) -> None:
    with irqbalance_daemon.running(tmp_path) as first:
        place = actuator(tmp_path, first.pid).locate(KIND, TARGET)
    assert place.target.start_ticks is not None
    with irqbalance_daemon.running(tmp_path) as second:
        ban = actuator(tmp_path, second.pid)
        earlier = replace(place.target, start_ticks=place.target.start_ticks - 1)
        with pytest.raises(Refusal, match="was started anew") as caught:
            ban.locate(KIND, earlier)
        assert caught.value.why is Why.GONE
        assert ban.read(ban.locate(KIND, TARGET)) == ""


def test_what_must_not_be_written(tmp_path: Path) -> None:
    with irqbalance_daemon.running(tmp_path) as daemon:
        ban = actuator(tmp_path, daemon.pid)
        place = ban.locate(KIND, TARGET)
        assert ban.check(place, "") is None
        assert ban.check(place, "31,38") is None
        for value in ("30", "31,39", "31;32", "x", "31,", "-31", "31 32", "9" * 400):
            assert ban.check(place, value), value


def test_too_many_bans_of_others_are_a_fact_and_stay(tmp_path: Path) -> None:
    others = tuple(range(100, 218))
    with irqbalance_daemon.running(tmp_path, banned=others) as daemon:
        ban = actuator(tmp_path, daemon.pid)
        with pytest.raises(Refusal, match="500 bytes") as caught:
            ban.write(ban.locate(KIND, TARGET), "31,32,33,34")
        assert caught.value.why is Why.FACT
        assert IrqbalanceSocket(daemon.pid, str(tmp_path)).setup().banned_irqs == others


def test_none_runs_several_run_or_one_without_a_socket(tmp_path: Path) -> None:
    assert refused(actuator(tmp_path)).why is Why.GONE
    assert refused(actuator(tmp_path, 1, os.getpid())).why is Why.LATER
    silent = refused(actuator(tmp_path, os.getpid()))
    assert (silent.why, "has no socket" in silent.detail) == (Why.FACT, True)
    hidden = IrqbalanceRuntimeBan(machine(Processes(None)), str(tmp_path))
    assert refused(hidden).why is Why.FORBIDDEN


def test_a_tree_of_files_has_nobody_to_speak_to(tmp_path: Path) -> None:
    source = Processes([process(1)], str(tmp_path))
    assert refused(IrqbalanceRuntimeBan(machine(source, str(tmp_path)))).why is Why.FACT
