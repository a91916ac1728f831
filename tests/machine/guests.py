"""Guests for tests: agents that do on this machine what a guest's agent would, for real, and what hostile ones do."""

from __future__ import annotations

import base64
import itertools
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from tuneagent.machine.guest_agent import refused

PROGRAMS = {"grep", "find", "realpath"}
EXEC = ("guest-exec", "guest-exec-status")
FILES = ("guest-file-open", "guest-file-read", "guest-file-close")


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def ended(out: bytes = b"", err: bytes = b"", code: Any = 0) -> dict[str, Any]:
    """The status of a command that has ended."""
    return {"exited": True, "exitcode": code, "out-data": encoded(out), "err-data": encoded(err)}


class Guest:
    """An agent that runs the commands and opens the files here. Refuses every program but the fixed ones."""

    def __init__(self, *, allowed: tuple[str, ...] = (*EXEC, *FILES), programs: frozenset[str] | None = None) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._allowed = allowed
        self._programs = PROGRAMS if programs is None else programs
        self._numbers = itertools.count(1000)
        self._ended: dict[int, dict[str, Any]] = {}
        self._open: dict[int, BinaryIO] = {}

    def ask(self, command: str, arguments: Mapping[str, Any]) -> Any:
        self.asked.append((command, dict(arguments)))
        if command != "guest-info" and command not in self._allowed:
            raise refused(command, f"CommandNotFound: Command {command} has been disabled")
        answers: dict[str, Callable[[Any], Any]] = {
            "guest-info": self._info,
            "guest-exec": self._exec,
            "guest-exec-status": self._status,
            "guest-file-open": self._file_open,
            "guest-file-read": self._file_read,
            "guest-file-close": self._file_close,
        }
        return answers[command](arguments)

    def _info(self, _asked: Any) -> Any:
        commands = [{"name": name, "enabled": name in self._allowed, "success-response": True} for name in EXEC + FILES]
        return {"version": "7.2.0", "supported_commands": commands}

    def _exec(self, asked: Any) -> Any:
        assert asked["path"] in PROGRAMS
        assert asked["env"] == ["LC_ALL=C"]
        if asked["path"] not in self._programs:
            raise refused(
                "guest-exec", f"Failed to execute child process “{asked['path']}” (No such file or directory)"
            )
        done = subprocess.run(
            [asked["path"], *asked["arg"]], env={"LC_ALL": "C"}, capture_output=True, check=False, timeout=60
        )
        pid = next(self._numbers)
        self._ended[pid] = ended(done.stdout, done.stderr, done.returncode)
        return {"pid": pid}

    def _status(self, asked: Any) -> Any:
        return self._ended.pop(asked["pid"])

    def _file_open(self, asked: Any) -> Any:
        assert asked["mode"] == "r"
        try:
            opened = Path(asked["path"]).open("rb")  # noqa: SIM115 - open until guest-file-close
        except OSError as error:
            said = f"failed to open file '{asked['path']}' (mode: 'r'): {error.strerror}"
            raise refused("guest-file-open", said) from error
        handle = next(self._numbers)
        self._open[handle] = opened
        return handle

    def _file_read(self, asked: Any) -> Any:
        try:
            data = self._open[asked["handle"]].read(asked["count"])
        except OSError as error:
            raise refused("guest-file-read", f"failed to read file: {error.strerror}") from error
        return {"count": len(data), "buf-b64": encoded(data), "eof": len(data) < asked["count"]}

    def _file_close(self, asked: Any) -> Any:
        self._open.pop(asked["handle"]).close()
        return {}

    @property
    def left_open(self) -> int:
        return len(self._open)


class Lying:
    """A guest that answers some commands with what it likes."""

    def __init__(self, behind: Guest, **lies: Callable[[Any, Any], Any]) -> None:
        self._behind = behind
        self._lies = {name.replace("_", "-"): lie for name, lie in lies.items()}

    def ask(self, command: str, arguments: Mapping[str, Any]) -> Any:
        lie = self._lies.get(command)
        if lie is None:
            return self._behind.ask(command, arguments)
        return lie(arguments, lambda: self._behind.ask(command, arguments))


class Hours:
    """A clock that moves only when somebody waits, and a little at each look at it."""

    def __init__(self, step_s: float = 0.0) -> None:
        self.waits: list[float] = []
        self._now = 0.0
        self._step_s = step_s

    def now(self) -> float:
        self._now += self._step_s
        return self._now

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self._now += seconds
