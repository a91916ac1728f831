"""How many transactions a second our load makes beside sockperf's, on loopback, by turns: what counts is the ratio."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from tests.bench.measured import Measured
from tests.load import ports
from tests.load.serving import ADDRESS, TOKEN, Serving, serving
from tuneagent.load import client, sockperf
from tuneagent.model.load import LoadKind, LoadSpec

TURNS = 7
SECONDS = 1.5
"""sockperf's valid duration of two seconds."""
MANY = 16
LEAST_SHARE = 0.7
"""Of sockperf's rate with one connection: it is written in C."""


def figures(scratch: Path) -> Iterator[Measured]:
    """With one connection, with 16, and with two processes on both sides; nothing where there is no sockperf."""
    with ExitStack() as stack:
        ours = [
            stack.enter_context(serving(_directory(scratch, f"s{count}"), "--processes", str(count), "--for", "1000"))
            for count in (1, 2)
        ]
        yield from _processes(*ours)
        if shutil.which("sockperf") is None:
            sys.stdout.write("not measured here: there is no sockperf to compare with\n")
            return
        for connections, limit in ((1, 1 / LEAST_SHARE), (MANY, 1.0)):
            theirs = stack.enter_context(_sockperf(scratch, connections))
            ratio = _by_turns(theirs, partial(_rate, ours[0], connections))
            yield Measured(f"load_{connections}_connections_sockperf_rate_ratio", ratio, limit, TURNS)


def _processes(one: Serving, two: Serving) -> Iterator[Measured]:
    ratio = _by_turns(partial(_rate, one, MANY), partial(_rate, two, MANY, 2))
    yield Measured("load_1_process_to_2_rate_ratio", ratio, 1.0, TURNS)


def _by_turns(above: Callable[[], float], below: Callable[[], float]) -> float:
    return median(above() / below() for _ in range(TURNS))


def _rate(server: Serving, connections: int, processes: int = 1) -> float:
    spec = LoadSpec(LoadKind.TCP_RR, server.address, server.port, connections, processes=processes)
    rate = client.run(spec, SECONDS, token=TOKEN).per_sec
    assert rate is not None
    return rate


@contextmanager
def _sockperf(scratch: Path, connections: int) -> Iterator[Callable[[], float]]:
    """What measures its rate, with its server running: its file names a port for each connection of a client."""
    feed = scratch / f"feed{connections}"
    numbers = ports.free(connections)
    feed.write_text("".join(f"T:{ADDRESS}:{port}\n" for port in numbers))
    how = ("-f", str(feed), "-F", "epoll") if connections > 1 else ("--tcp", "-i", ADDRESS, "-p", str(numbers[0]))
    server = subprocess.Popen(["sockperf", "server", *how], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while server.poll() is None and not all(map(ports.listens, numbers)):
            time.sleep(0.05)
        yield partial(_sockperf_rate, how)
    finally:
        server.kill()
        server.wait()


def _sockperf_rate(how: tuple[str, ...]) -> float:
    done = subprocess.run(
        ["sockperf", "ping-pong", *how, "-t", "2", "--full-rtt"], capture_output=True, text=True, check=False
    )
    rate = sockperf.parse(done.stdout + done.stderr).per_sec
    assert rate is not None
    return rate


def _directory(scratch: Path, name: str) -> Path:
    (scratch / name).mkdir()
    return scratch / name
