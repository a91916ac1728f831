"""A ban over the socket: beside the bans of others, only where there is a socket."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace
from typing import Any

import pytest

from tests import make
from tests.plan import build
from tuneagent.model.plan import Declined, TunableKind
from tuneagent.model.policy import Action
from tuneagent.model.snapshot import Snapshot
from tuneagent.plan.situation import Solution

NOW = Action.IRQBALANCE_BAN_NOW
SOCKET = "/run/irqbalance/irqbalance612.sock"


def running(**changes: Any) -> Snapshot:
    return replace(make.snapshot(queues=2), irqbalance=build.balance(None, **{"socket": SOCKET, **changes}))


def test_the_queue_interrupts_beside_the_bans_of_others() -> None:
    (change,) = build.changes(build.solve(NOW, running(banned_irqs=frozenset({9, 0, 32}))))
    assert change.kind is TunableKind.IRQBALANCE_RUNTIME_BAN
    assert (change.old, change.new) == ("32", "31,32,33,34")
    assert (change.target.bus_address, change.target.mac) == ("0000:00:03.0", "52:54:00:12:34:56")
    assert "settings ban irqs 0 9 31 32 33 34" in change.do
    assert change.undo is not None
    assert "settings ban irqs 0 9 32'" in shlex.split(change.undo)[2]
    subprocess.run(["sh", "-n", "-c", change.do], check=True)
    compile(shlex.split(change.do)[2], "do", "exec")


def test_the_first_ban_is_undone_by_none() -> None:
    (change,) = build.changes(build.solve(NOW, running()))
    assert (change.old, change.new) == ("", "31,32,33,34")
    assert change.undo is not None
    assert "settings ban irqs NONE'" in change.undo.replace("'\"'\"'", "'")


def test_nothing_to_do_where_all_are_banned() -> None:
    assert build.solve(NOW, running(banned_irqs=frozenset({31, 32, 33, 34}))) == Solution()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"running": None}, "is not known"),
        ({"running": False}, "is not running"),
        ({"socket": None}, "has no socket"),
    ],
)
def test_declined(changes: dict[str, Any], reason: str) -> None:
    answer = build.solve(NOW, running(**changes))
    assert isinstance(answer, Declined)
    assert reason in answer.reason
