from __future__ import annotations

from typing import Any

import pytest

from tests.machine.guests import Guest, Hours, Lying, ended
from tuneagent.machine import guest_exec
from tuneagent.machine.guest_agent import GuestAgent
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason


def run(hours: Hours | None = None, **lies: Any) -> guest_exec.Output:
    hours = hours or Hours()
    agent = GuestAgent(Lying(Guest(), **lies), now=hours.now, wait=hours.wait)
    return guest_exec.run(agent, "grep", ("-aZH", "", "--", "/proc/sys/kernel/ostype", "/nowhere"))


def test_a_command_runs_for_real() -> None:
    output = run()
    assert output.out == b"/proc/sys/kernel/ostype\0Linux\n"
    assert output.err == b"grep: /nowhere: No such file or directory\n"


def test_a_command_is_waited_for_ever_longer() -> None:
    hours = Hours()
    statuses = iter([{"exited": False}] * 8 + [ended(b"done")])
    assert run(hours, guest_exec_status=lambda *_: next(statuses)).out == b"done"
    assert hours.waits == [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.25, 0.25]


def test_a_command_that_never_ends_is_left() -> None:
    hours = Hours()
    with pytest.raises(SourceError, match="grep did not end in the guest within 15 s"):
        run(hours, guest_exec_status=lambda *_: {"exited": False})
    assert sum(hours.waits) < 16


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({}, Reason.MALFORMED),
        ([], Reason.MALFORMED),
        ({"exited": "yes"}, Reason.MALFORMED),
        ({"exited": True}, Reason.FAILED),
        (ended(code=-1), Reason.FAILED),
        (ended(code=True), Reason.FAILED),
        ({"exited": True, "signal": 9}, Reason.FAILED),
        (ended() | {"out-truncated": True}, Reason.TOO_LARGE),
        (ended() | {"err-truncated": True}, Reason.TOO_LARGE),
        (ended() | {"out-data": "!!!"}, Reason.MALFORMED),
        (ended() | {"out-data": "YQ"}, Reason.MALFORMED),
        (ended() | {"out-data": "YQ==\n"}, Reason.MALFORMED),
        (ended() | {"out-data": "\u0430\u0430\u0430\u0430"}, Reason.MALFORMED),
        (ended() | {"out-data": 7}, Reason.MALFORMED),
        (ended() | {"err-data": None}, Reason.MALFORMED),
        (ended() | {"out-data": "eHh4" * 25_000_000}, Reason.TOO_LARGE),
    ],
)
def test_a_status_that_is_none(status: Any, reason: Reason) -> None:
    with pytest.raises(SourceError) as caught:
        run(guest_exec_status=lambda *_: status)
    assert caught.value.reason is reason


@pytest.mark.parametrize("pid", [None, "7", True, -1, 2**63, [7]])
def test_a_pid_that_is_none(pid: Any) -> None:
    with pytest.raises(SourceError, match="garbled: pid: a number is expected"):
        run(guest_exec=lambda *_: {"pid": pid})
