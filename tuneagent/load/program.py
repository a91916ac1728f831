"""Programs that make a load: without a shell, with an end in time, and with an output that cannot grow."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

from tuneagent.load import children
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks

MOST_OUTPUT = 8 << 20
"""Bytes of one program's output; iperf3 takes some hundred for each stream and second."""
GRACE_S = 15.0
_LOOK_S = 0.1
_READ = 64 * 1024
_Edge = tuple[float, Callable[[], None] | None]
_LONGEST_SAID = 300


@dataclass(frozen=True, slots=True)
class Plan:
    """Programs that run at the same time, and when the measured seconds are."""

    commands: tuple[tuple[str, ...], ...]
    warm_up_s: float
    seconds: float
    limit_s: float
    """What still runs after this time is killed."""
    cpus: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    """Besides our own."""
    starts: bytes = b""
    """What each says on its standard output when it begins to send, from which the measured seconds are counted.
    Empty: it begins at once."""


@dataclass(frozen=True, slots=True)
class Output:
    """What one program said, and what it cost."""

    out: str
    err: str
    code: int
    cpu_s: float
    cpus: frozenset[int]
    wall_s: float

    def said(self) -> str:
        """The last line that it wrote, for a message."""
        lines = [line for line in (self.out + "\n" + self.err).splitlines() if line.strip()]
        return lines[-1].strip()[:_LONGEST_SAID] if lines else "it said nothing"


@dataclass(slots=True)
class _Running:
    process: subprocess.Popen[bytes]
    began: float
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)
    cpus: set[int] = field(default_factory=set)
    open: int = 2


def run(plan: Plan, hooks: Hooks) -> tuple[Output, ...]:
    """What the programs said, in their order; LoadError where one cannot run, says too much or does not end."""
    children.check_pins(plan.cpus)
    running: list[_Running] = []
    try:
        for place, command in enumerate(plan.commands):
            running.append(_started(command, plan, place))
        _watch(running, plan, hooks)
        return tuple(_ended(one) for one in running)
    finally:
        for one in running:
            _kill(one)


def _started(command: Sequence[str], plan: Plan, place: int) -> _Running:
    parent = os.getpid()

    def in_child() -> None:
        children.die_with(parent)
        if len(plan.commands) > 1:
            children.pin(plan.cpus, place)
        else:  # its threads and children share what the load was given
            children.pin_to_all(plan.cpus)

    try:
        process = subprocess.Popen(  # noqa: S603 - an argument vector: the operator's own, or an adapter's
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C", **plan.environment},
            start_new_session=True,
            preexec_fn=in_child,  # noqa: PLW1509 - only system calls: nothing else ends a program as we are killed
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise LoadError(f"{command[0]}: {why}") from error
    return _Running(process, time.monotonic())


def _watch(running: Sequence[_Running], plan: Plan, hooks: Hooks) -> None:
    began = time.monotonic()
    edges = None if plan.starts else _edges(plan, hooks, began)  # None: they have not begun to send
    with selectors.DefaultSelector() as selector:
        _register(selector, running)
        while selector.get_map():
            now = time.monotonic()
            if now - began > plan.limit_s:
                raise LoadError(f"{plan.commands[0][0]} did not end within {plan.limit_s:g} s")
            if edges is None and all(plan.starts in one.out for one in running):
                edges = _edges(plan, hooks, now)
            _pass(edges or [], now)
            until = min([now + _LOOK_S, *(at for at, _ in edges or ())])
            for key, _ in selector.select(max(0.0, until - now)):
                _read(selector, key)
            for one in running:
                if (cpu := children.last_cpu(one.process.pid)) is not None:
                    one.cpus.add(cpu)
    if edges is not None and (len(edges) < 2 or not plan.warm_up_s):  # noqa: PLR2004 - both edges: then they ended before all that is measured
        _pass(edges, float("inf"))


def _register(selector: selectors.BaseSelector, running: Sequence[_Running]) -> None:
    for one in running:
        for stream, into in ((one.process.stdout, one.out), (one.process.stderr, one.err)):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ, (one, into))


def _edges(plan: Plan, hooks: Hooks, starts: float) -> list[_Edge]:
    """When the measured seconds begin and end, of programs that begin to send at this moment."""
    begins = starts + plan.warm_up_s
    return [(begins, hooks.began), (begins + plan.seconds, hooks.ended)]


def _pass(edges: list[_Edge], now: float) -> None:
    while edges and edges[0][0] <= now:
        _, hook = edges.pop(0)
        if hook is not None:
            hook()


def _read(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    one, into = key.data
    stream: IO[bytes] = key.fileobj  # type: ignore[assignment]  # what was registered
    data = os.read(stream.fileno(), _READ)
    into += data
    if len(into) > MOST_OUTPUT:
        raise LoadError(f"{one.process.args[0]} wrote more than {MOST_OUTPUT:,} bytes")
    if not data:
        selector.unregister(stream)


def _ended(one: _Running) -> Output:
    """It closed its output, so it ends; what stays longer is killed."""
    ends = time.monotonic() + GRACE_S
    while True:
        pid, status, usage = os.wait4(one.process.pid, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > ends:
            raise LoadError(f"{one.process.args[0]!s} closed its output and did not end")  # type: ignore[index]
        time.sleep(_LOOK_S / 10)
    one.process.returncode = os.waitstatus_to_exitcode(status)
    return Output(
        one.out.decode("utf-8", "backslashreplace"),
        one.err.decode("utf-8", "backslashreplace"),
        one.process.returncode,
        usage.ru_utime + usage.ru_stime,
        frozenset(one.cpus),
        time.monotonic() - one.began,
    )


def _kill(one: _Running) -> None:
    """It and whatever it started; nothing where all of it has ended."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(one.process.pid, signal.SIGKILL)
    if one.process.returncode is None:
        one.process.wait()
    for stream in (one.process.stdout, one.process.stderr):
        if stream is not None:
            stream.close()
