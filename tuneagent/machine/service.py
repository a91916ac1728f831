"""A systemd unit started and stopped, and which active unit its start would end (systemctl(1), systemd.unit(5))."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from tuneagent.machine import units
from tuneagent.machine.reasons import RUN_AS_ROOT
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

LOOK_S = 5.0
JOB_S = 30.0
"""A unit of a daemon is up or down within a second; what takes this long hangs."""
MOST_CONFLICTS = 64

_PROPERTIES = "Id,LoadState,ActiveState,Result,Conflicts,ConflictedBy"
_UNIT = re.compile(r"[A-Za-z0-9:_.@\\][A-Za-z0-9:_.@\\-]{0,254}")
_DENIED = re.compile(r"access denied|authentication (?:is )?required|permission denied|not permitted", re.IGNORECASE)
_RUNS = frozenset({"active", "activating", "reloading"})
_START_LIMIT = "start-limit-hit"


@dataclass(frozen=True, slots=True)
class Unit:
    """systemd's words for a unit at one moment."""

    name: str
    load: str
    """LoadState: ``loaded``, ``not-found``, ``masked``…"""
    active: str
    """ActiveState: ``active``, ``inactive``, ``failed``, ``activating``…"""
    result: str
    """Of its last run: ``success``, ``exit-code``, ``start-limit-hit``…; empty where it has none."""
    conflicts: tuple[str, ...]
    """Units that cannot run beside it, whichever of the two says so: starting one stops the other."""


def look(unit: str) -> Unit:
    """The unit now. SourceError: ABSENT without systemd, else FAILED or MALFORMED."""
    return _looked((unit,))[0]


def conflicting(unit: Unit) -> str | None:
    """The active unit that systemd would stop if this one were started; None where there is none."""
    return next((other.name for other in _looked(unit.conflicts) if other.active in _RUNS), None)


def start(unit: str) -> None:
    """Starts it and waits until systemd says that it has. SourceError where it has not within 30 s."""
    _job("start", unit)


def stop(unit: str) -> None:
    """Stops it and waits until it is down."""
    _job("stop", unit)


def restart(unit: str) -> None:
    """Starts it anew. Several in ten seconds are more than systemd lets pass: its count is then begun anew, once."""
    try:
        _job("restart", unit)
    except SourceError as error:
        if error.reason is not Reason.FAILED or look(unit).result != _START_LIMIT:
            raise
        _job("reset-failed", unit)
        _job("start", unit)


def _job(verb: str, unit: str) -> None:
    # --job-mode=fail: where somebody's own job for it is under way, ours must not turn it round.
    mode = () if verb == "reset-failed" else ("--job-mode=fail",)
    _run(("systemctl", "--no-ask-password", *mode, verb, "--", _named(unit)), JOB_S)


def _looked(names: Sequence[str]) -> tuple[Unit, ...]:
    if not names:
        return ()
    text = _run(("systemctl", "show", "--no-pager", "-p", _PROPERTIES, "--", *map(_named, names)), LOOK_S)
    blocks = [block for block in text.split("\n\n") if block.strip()]
    if len(blocks) != len(names):
        raise SourceError(units.NAME, Reason.MALFORMED, f"{len(blocks)} blocks for {len(names)} units")
    return tuple(_unit(name, block) for name, block in zip(names, blocks, strict=True))


def _unit(name: str, block: str) -> Unit:
    pairs = [line.partition("=") for line in block.splitlines()]
    told = {key: value.strip() for key, _, value in pairs}
    others = {*told.get("Conflicts", "").split(), *told.get("ConflictedBy", "").split()}
    # Every service conflicts with shutdown.target, and a target that ends the machine ends this question too.
    named = sorted(other for other in others if other.endswith(".service") and _UNIT.fullmatch(other))
    return Unit(
        name,
        told.get("LoadState", ""),
        told.get("ActiveState", ""),
        told.get("Result", ""),
        tuple(named[:MOST_CONFLICTS]),
    )


def _named(unit: str) -> str:
    if not _UNIT.fullmatch(unit):
        raise SourceError(units.NAME, Reason.MALFORMED, f"{unit[:60]!a} is no unit's name")
    return unit


def _run(command: Sequence[str], seconds: float) -> str:
    if not os.path.isdir(units.BOOTED):
        raise SourceError(units.NAME, Reason.ABSENT, "no systemd here")
    try:
        done = subprocess.run(  # noqa: S603 - fixed words and a unit's name, without a shell
            command,
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=seconds,
            env=units.ENVIRONMENT,
            cwd="/",
        )
    except subprocess.TimeoutExpired:
        raise SourceError(units.NAME, Reason.FAILED, f"{_words(command)} did not end within {seconds:g} s") from None
    except OSError as error:
        raise SourceError(units.NAME, Reason.FAILED, f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise _failed(command, done.returncode, done.stderr)
    return done.stdout[: units.MAX_TEXT].decode("utf-8", "backslashreplace")


def _failed(command: Sequence[str], code: int, said: bytes) -> SourceError:
    text = " ".join(said[:300].decode("utf-8", "backslashreplace").split())
    detail = f"{_words(command)} ended with {code}: {text}"
    if _DENIED.search(text):
        return SourceError(units.NAME, Reason.PERMISSION, detail, RUN_AS_ROOT)
    return SourceError(units.NAME, Reason.FAILED, detail)


def _words(command: Sequence[str]) -> str:
    """The command without the options that tell an operator nothing."""
    return " ".join(word for word in command if not word.startswith("--") and word not in {"-p", _PROPERTIES})
