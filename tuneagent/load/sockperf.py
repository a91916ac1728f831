"""sockperf ping-pong, one program for each connection (https://github.com/Mellanox/sockperf)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tuneagent.load import adapter, program
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.load.limits import LONGEST_TOLD_S
from tuneagent.model.histogram import of_steps
from tuneagent.model.load import Histogram, LoadResult, LoadSpec

PORT = 11111
SMALLEST = 14
"""Bytes of its smallest message."""
STARTS = b"Starting test..."
"""It says so after a pause of two seconds, and sends nothing before."""
WARM_UP_S = 0.45
"""Its own, at the beginning of the time that it is told."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_DURATION = re.compile(r"\[Valid Duration\] RunTime=([0-9.]+) sec; SentMessages=(\d+); ReceivedMessages=(\d+)")
_MEAN = re.compile(r"avg-rtt=([0-9.]+)")
_DROPPED = re.compile(r"# dropped messages = (\d+)")
_STEP = re.compile(r"---> (?:<(MAX|MIN)> observation|percentile ([0-9.]+)) = +([0-9.]+)")
_ERROR = re.compile(r"(ERROR: .*|No messages were received.*)")
_MANY = "its server needs -f FILE -F epoll for more than one connection"
_MOST_DIGITS = 20


def command(spec: LoadSpec, run_s: int) -> tuple[str, ...]:
    """TCP, unless the extra options say ``--udp``, which is sockperf's own default and no option of it."""
    extra = [word for word in spec.command if word != "--udp"]
    protocol = [] if "--udp" in spec.command else ["--tcp"]
    where = ("-i", spec.host, "-p", str(spec.port or PORT))
    size = str(max(SMALLEST, spec.request_bytes))
    return ("sockperf", "ping-pong", *protocol, *where, "-t", str(run_s), "-m", size, "--full-rtt", *extra)


def parse(text: str) -> LoadResult:
    """From its output with ``--full-rtt``; LoadError with what it says where it measured nothing."""
    plain = _COLOURS.sub("", text)
    duration = _DURATION.search(plain)
    if error := _ERROR.search(plain):
        raise LoadError(f"sockperf: {error[1].strip()}")
    if duration is None or any(len(word) > _MOST_DIGITS for word in duration.groups()):
        raise LoadError("sockperf: its output tells no [Valid Duration]")
    seconds, received = adapter.number(duration[1]), int(duration[3])
    if seconds is None or not 0 < seconds <= LONGEST_TOLD_S:
        raise LoadError(f"sockperf: a RunTime of {duration[1]} s")
    dropped = _DROPPED.search(plain)
    return LoadResult(
        seconds=seconds,
        transactions=received,
        latency=_latency(plain, received),
        lost=int(dropped[1]) if dropped and len(dropped[1]) <= _MOST_DIGITS else 0,
        notes=("sockperf tells a few percentiles: values between two of them are counted as the higher",),
    )


def _latency(plain: str, received: int) -> Histogram | None:
    mean = _MEAN.search(plain)
    if mean is None or received <= 0 or (mean_us := adapter.number(mean[1])) is None:
        return None
    return of_steps(_steps(plain), received, mean_us * 1000)


def _steps(plain: str) -> Iterator[tuple[float, int]]:
    for name, percent, value in _STEP.findall(plain):
        at = {"MAX": 100.0, "MIN": 0.0}.get(name, adapter.number(percent) if percent else None)
        microseconds = adapter.number(value)
        if at is not None and microseconds is not None:
            yield at, round(microseconds * 1000)


def run(spec: LoadSpec, seconds: float, warm_up_s: float, hooks: Hooks) -> LoadResult:
    """Runs it. Its server is ``sockperf server --tcp -i ADDRESS -p PORT``.

    That serves one connection; for more it wants ``sockperf server -f FILE -F epoll``, ``T:ADDRESS:PORT`` in the file.
    """
    adapter.check_can(spec, "sockperf")
    run_s = adapter.run_seconds(seconds, max(warm_up_s, WARM_UP_S))
    commands = adapter.one_each(spec, "sockperf", command(spec, run_s))
    plan = adapter.plan(spec, commands, seconds, max(warm_up_s, WARM_UP_S), run_s)
    outputs = program.run(replace(plan, starts=STARTS), hooks)
    try:
        return adapter.together([parse(output.out + output.err) for output in outputs], outputs)
    except LoadError as error:
        if spec.connections == 1:
            raise
        raise LoadError(f"{error} ({_MANY})") from error
