"""One fixed command in a guest: guest-exec, and guest-exec-status until it has ended (qga/commands.c)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tuneagent.machine.guest_agent import MOST_BYTES, NAME, GuestAgent, garbled
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

COMMANDS = frozenset({"guest-exec", "guest-exec-status"})
LONGEST_RUN_S = 15.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.005, 0.25
ENVIRONMENT = ("LC_ALL=C",)
"""Messages in English, and any byte a character. The program itself is found by the agent's own PATH."""
MOST_PID = 2**63 - 1  # on Windows it is a handle


@dataclass(frozen=True, slots=True)
class Output:
    """What a command that came to its end wrote. Its exit code says nothing more: grep's is 2 for one absent file."""

    out: bytes
    err: bytes


def run(agent: GuestAgent, program: str, arguments: Sequence[str]) -> Output:
    """Runs a program with an argument vector, no shell, and waits for it. SourceError when it does not end in time."""
    request = {"path": program, "arg": list(arguments), "env": list(ENVIRONMENT), "capture-output": True}
    pid = agent.fields("guest-exec", request).get("pid")
    if not _is_count(pid, MOST_PID):
        raise garbled("guest-exec", "pid: a number is expected")
    return _output(_ended(agent, program, pid))


def _ended(agent: GuestAgent, program: str, pid: Any) -> dict[str, Any]:
    wait_s, ends = FIRST_WAIT_S, agent.now() + LONGEST_RUN_S
    while True:
        status = agent.fields("guest-exec-status", {"pid": pid})
        if status.get("exited") is True:
            return status
        if status.get("exited") is not False:
            raise garbled("guest-exec-status", "exited: true or false is expected")
        if agent.now() >= ends:
            raise SourceError(NAME, Reason.FAILED, f"{program} did not end in the guest within {LONGEST_RUN_S:g} s")
        agent.wait(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)


def _output(status: dict[str, Any]) -> Output:
    if status.get("out-truncated") or status.get("err-truncated"):
        raise SourceError(NAME, Reason.TOO_LARGE, "the agent cut the output of a command short")
    if not _is_count(status.get("exitcode"), 2**32):
        raise SourceError(NAME, Reason.FAILED, "a command was killed in the guest before its end")
    return Output(*(decoded("guest-exec-status", status.get(name, "")) for name in ("out-data", "err-data")))


def decoded(command: str, data: Any) -> bytes:
    """The bytes of base64; SourceError for anything else."""
    if not isinstance(data, str) or len(data) > MOST_BYTES:
        raise garbled(command, "base64 is expected")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise garbled(command, "not base64") from None


def _is_count(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most
