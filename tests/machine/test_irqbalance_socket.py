"""The socket against a daemon that speaks as irqbalance does, and against ones that do not."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from tests.machine import irqbalance_daemon
from tuneagent.machine import irqbalance_socket
from tuneagent.machine.irqbalance_socket import ABSTRACT, IrqbalanceSocket
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

root = pytest.mark.skipif(os.geteuid() != 0, reason="irqbalance hears root only")


@root
def test_what_it_was_told_on_its_command_line_and_then_over_the_socket(tmp_path: Path) -> None:
    with irqbalance_daemon.running(tmp_path, banned=(9, 33), irqs=(9, 31, 32, 33)) as daemon:
        asked = IrqbalanceSocket(daemon.pid, str(tmp_path))
        assert (asked.setup().sleep_s, asked.setup().banned_irqs) == (10, (9, 33))
        assert asked.balanced() == {31, 32}
        asked.ban([9, 31])
        assert asked.setup().banned_irqs == (9, 31)
        assert asked.balanced() == {31, 32}, "until its next look"
        daemon.send_signal(signal.SIGHUP)
        assert asked.balanced() == {32, 33}
        asked.ban([])
        assert asked.setup().banned_irqs == ()


@root
def test_interrupt_0_does_not_end_the_list(tmp_path: Path) -> None:
    with irqbalance_daemon.running(tmp_path) as daemon:
        asked = IrqbalanceSocket(daemon.pid, str(tmp_path))
        asked.ban([7, 31, 0, 12])
        assert asked.setup().banned_irqs == (0, 7, 31, 12)


@root
def test_a_list_that_would_be_cut_is_not_sent(tmp_path: Path) -> None:
    with irqbalance_daemon.running(tmp_path, banned=(9,)) as daemon:
        asked = IrqbalanceSocket(daemon.pid, str(tmp_path))
        with pytest.raises(SourceError) as caught:
            asked.ban(range(100, 221))
        assert caught.value.reason is Reason.UNSUPPORTED
        assert asked.setup().banned_irqs == (9,)
        asked.ban(range(100, 220))
        assert asked.setup().banned_irqs == tuple(range(100, 220))


@root
def test_the_abstract_name_where_the_directory_was_missing(tmp_path: Path) -> None:
    with irqbalance_daemon.running(tmp_path / "none", banned=(5,)) as daemon:
        assert IrqbalanceSocket(daemon.pid, str(tmp_path / "none")).setup().banned_irqs == (5,)


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        IrqbalanceSocket(os.getpid(), str(tmp_path)).setup()
    assert caught.value.reason is Reason.ABSENT
    assert "has no socket" in caught.value.detail


def test_another_process_behind_the_abstract_name_is_not_believed(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(ABSTRACT)
        stranger.listen(1)
        with pytest.raises(SourceError, match=f"process {os.getpid()} of user {os.geteuid()} answers there"):
            IrqbalanceSocket(1, str(tmp_path)).setup()


@root
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", Reason.EMPTY),
        ("no such thing", Reason.MALFORMED),
        ("SLEEP 10 IRQ 9 LOAD 1 DIFF 2 BANNED 0", Reason.MALFORMED),
        ("SLEEP \x1b[2J BANNED 0", Reason.MALFORMED),
        ("SLEEP 10 BANNED \xff", Reason.MALFORMED),
        ("SLEEP 10 " + "IRQ 1 LOAD 1 DIFF 1 CLASS 1 " * 40_000 + "BANNED 0", Reason.TOO_LARGE),
    ],
)
def test_an_answer_that_is_none(tmp_path: Path, answer: str, reason: Reason) -> None:
    with irqbalance_daemon.running(tmp_path, answer=answer) as daemon, pytest.raises(SourceError) as caught:
        IrqbalanceSocket(daemon.pid, str(tmp_path)).setup()
    assert caught.value.reason is reason


@root
def test_one_that_hears_and_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(irqbalance_socket, "TIMEOUT_S", 0.2)
    with irqbalance_daemon.running(tmp_path) as daemon:
        daemon.send_signal(signal.SIGSTOP)
        with pytest.raises(SourceError, match="did not answer within") as caught:
            IrqbalanceSocket(daemon.pid, str(tmp_path)).setup()
    assert caught.value.reason is Reason.FAILED


@root
def test_one_that_answers_too_late_is_not_killed_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with irqbalance_daemon.running(tmp_path, banned=(9,)) as daemon:
        asked = IrqbalanceSocket(daemon.pid, str(tmp_path))
        daemon.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(irqbalance_socket, "TIMEOUT_S", 0.2)
        with pytest.raises(SourceError, match="did not answer within"):
            asked.setup()
        monkeypatch.undo()
        daemon.send_signal(signal.SIGCONT)
        assert asked.setup().banned_irqs == (9,)
        assert daemon.poll() is None
