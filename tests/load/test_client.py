"""The client against the real server on loopback, and against one that misbehaves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.app.command import ROOT, environment
from tests.load.serving import TOKEN, Serving, serving
from tuneagent.load import client, limits
from tuneagent.load.control import Control
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.model.histogram import percentile_ns
from tuneagent.model.load import LoadKind, LoadResult, LoadSpec


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("server"), "--processes", "2") as one:
        yield one


def run(
    server: Serving,
    kind: LoadKind = LoadKind.TCP_RR,
    *,
    seconds: float = 0.3,
    hooks: Hooks | None = None,
    **wishes: Any,
) -> LoadResult:
    spec = LoadSpec(kind, server.address, server.port, **wishes)
    return client.run(spec, seconds, token=TOKEN, warm_up_s=0.1, hooks=hooks or Hooks())


@pytest.mark.parametrize("kind", [LoadKind.TCP_RR, LoadKind.UDP_RR])
@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"connections": 3},
        {"connections": 4, "processes": 2},
        {"burst": 7, "connections": 2},
        {"request_bytes": 300, "response_bytes": 20},
        {"request_bytes": 2, "response_bytes": 5000, "burst": 3},
        {"think_us": 500, "connections": 2, "burst": 2},
        {"rate_per_sec": 500.0, "connections": 3},
    ],
    ids=str,
)
def test_a_load_counts_every_transaction_once(server: Serving, kind: LoadKind, wishes: dict[str, Any]) -> None:
    result = run(server, kind, **wishes)

    assert result.transactions is not None
    assert result.transactions > 0
    assert (result.errors, result.reconnects, result.lost, result.seconds) == (0, 0, 0, 0.3)
    assert result.latency is not None
    assert result.latency.total - result.transactions == waiting(result)
    assert result.latency.min_ns is not None
    assert 500 < result.latency.min_ns < 10**9


def waiting(result: LoadResult) -> int:
    notes = [note for note in result.notes if "without an answer" in note]
    return int(notes[0].split()[0]) if notes else 0


@pytest.mark.parametrize("size", [16 * 1024, 100_000, 1 << 20])
def test_large_requests_and_responses_come_through(server: Serving, size: int) -> None:
    result = run(server, connections=2, request_bytes=size, response_bytes=size, burst=2)

    assert result.transactions


def test_an_open_loop_sends_what_is_due(server: Serving) -> None:
    result = run(server, rate_per_sec=200.0, connections=4, seconds=1.0)

    assert result.transactions is not None
    assert result.transactions + waiting(result) == pytest.approx(200, abs=40)


def test_cpu_time_of_both_sides_is_told_for_the_measured_seconds(server: Serving) -> None:
    result = run(server, connections=2, processes=2, seconds=0.5)

    assert result.client_cpu_s is not None
    assert result.server_cpu_s is not None
    assert 0 < result.client_cpu_s <= 2 * 0.5 * 1.5
    assert 0 < result.server_cpu_s < 10


@pytest.mark.parametrize(("cpu_s", "told"), [(0.0, 0.0), (2048.0, 2048.0), (2048.1, None), (-0.1, None)])
def test_a_server_s_cpu_time_is_told_as_far_as_a_machine_can_use_it(
    server: Serving, cpu_s: float, told: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of 8192 CPUs in a quarter of a second; a server may say whatever it likes."""
    said = iter((10**18, 10**18 + round(cpu_s * 1e9)))
    monkeypatch.setattr(Control, "server_cpu_ns", lambda _: next(said))

    assert run(server, seconds=0.25).server_cpu_s == told


def test_processes_stay_where_they_are_pinned(server: Serving) -> None:
    cpu = max(os.sched_getaffinity(0))

    assert run(server, cpus=(cpu,), connections=2, processes=2).client_cpus == (cpu,)


def test_our_own_affinity_is_as_before(server: Serving) -> None:
    before = os.sched_getaffinity(0)
    run(server, cpus=(min(before),))

    assert os.sched_getaffinity(0) == before


def test_hooks_are_called_at_both_edges_while_the_load_runs(server: Serving) -> None:
    told: list[int] = []
    hooks = Hooks(lambda: told.append(len(processes_of_the_load())), lambda: told.append(-1))
    run(server, connections=2, processes=2, hooks=hooks)

    assert told == [2, -1]


def test_a_load_goes_on_for_as_long_as_its_end_is_looked_at(server: Serving) -> None:
    told: list[int] = []
    spec = LoadSpec(LoadKind.TCP_RR, server.address, server.port)
    hooks = Hooks(ended=lambda: told.append(len(processes_of_the_load())))
    client.run(spec, 0.1, token=TOKEN, warm_up_s=0.0, cool_down_s=1.0, hooks=hooks)

    assert told == [1]


def processes_of_the_load() -> list[psutil.Process]:
    """Forks of this process: what else it started has another command line."""
    mine = psutil.Process().cmdline()
    return [one for one in psutil.Process().children() if one.cmdline() == mine]


def test_nothing_is_left_of_a_run(server: Serving) -> None:
    me = psutil.Process()
    before = (me.num_fds(), len(me.children()))
    for kind in (LoadKind.TCP_RR, LoadKind.UDP_RR):
        run(server, kind, connections=4, processes=2, burst=2)

    assert (me.num_fds(), len(me.children())) == before


def test_a_hook_that_fails_leaves_nothing_either(server: Serving) -> None:
    me = psutil.Process()
    before = (me.num_fds(), len(me.children()))

    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(server, connections=2, hooks=Hooks(began=fail))
    assert (me.num_fds(), len(me.children())) == before


def test_another_token_is_one_clear_line(server: Serving) -> None:
    with pytest.raises(LoadError, match="knows another token"):
        client.run(LoadSpec(LoadKind.TCP_RR, server.address, server.port), 0.1, token="another one")  # noqa: S106


def test_a_port_that_nobody_listens_on_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(LoadError, match=f"127.0.0.1:{port} refused"):
        client.run(LoadSpec(LoadKind.TCP_RR, "127.0.0.1", port), 0.1, token=TOKEN)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "x" * 300, "a..b"])
def test_a_host_that_cannot_be_found_is_one_clear_line(host: str) -> None:
    with pytest.raises(LoadError):
        client.run(LoadSpec(LoadKind.TCP_RR, host, 1), 0.1, token=TOKEN)


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ({"connections": 0}, "0 connections: 1 to 4096"),
        ({"connections": 5000}, "5000 connections"),
        ({"processes": 2}, "2 processes: 1 to 1 "),
        ({"burst": 0}, "0 requests in flight"),
        ({"burst": 2000}, "2000 requests in flight"),
        ({"request_bytes": 0}, "0 bytes of a request"),
        ({"response_bytes": (1 << 20) + 1}, "bytes of a response"),
        ({"think_us": -1}, "µs of think time"),
        ({"rate_per_sec": 0.0}, "a rate of 0"),
        ({"rate_per_sec": float("nan")}, "a rate of nan"),
        ({"rate_per_sec": 5.0, "think_us": 5}, "give one of them"),
        ({"cpus": (999,)}, "CPU 999"),
        ({"cpus": (10**12,)}, "CPU 1000000000000"),
    ],
    ids=str,
)
def test_what_is_out_of_range_is_refused_before_anything_is_sent(wishes: dict[str, Any], said: str) -> None:
    spec = LoadSpec(LoadKind.TCP_RR, "127.0.0.1", 1, **wishes)
    with pytest.raises(LoadError, match=said):
        client.run(spec, 0.1, token=TOKEN)


def test_more_datagrams_in_flight_than_their_numbers_tell_apart_are_refused() -> None:
    with pytest.raises(LoadError, match="requests in flight of one byte"):
        limits.check(LoadSpec(LoadKind.UDP_RR, burst=200), 1)
    limits.check(LoadSpec(LoadKind.UDP_RR, burst=200, request_bytes=4, response_bytes=2), 1)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), 1e9])
def test_a_time_that_cannot_be_measured_is_refused(seconds: float) -> None:
    with pytest.raises(LoadError, match="a load runs for"):
        limits.check(LoadSpec(LoadKind.TCP_RR), seconds)


def test_a_server_that_is_killed_in_the_middle_ends_the_load_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as server, pytest.raises(LoadError, match="ended in the middle"):
        run(server, connections=4, seconds=60, hooks=Hooks(began=server.process.kill))


def test_a_process_of_the_server_that_dies_ends_the_server_and_the_load(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        with pytest.raises(LoadError, match="ended in the middle"):
            run(server, connections=4, seconds=60, hooks=Hooks(began=server.workers()[0].kill))
        code, _, err = server.ended()
        assert (code, err) == (1, "tuneagent: a process of the server died\n")


@pytest.mark.parametrize("wishes", [{}, {"connections": 3}], ids=str)
def test_a_process_of_the_load_that_dies_ends_it(server: Serving, wishes: dict[str, Any]) -> None:
    def kill_one() -> None:
        processes_of_the_load()[0].kill()

    with pytest.raises(LoadError, match="a process of the load died"):
        run(server, seconds=60, hooks=Hooks(began=kill_one), **wishes)


def test_killing_the_parent_ends_its_processes_and_frees_the_server(server: Serving) -> None:
    code = (
        "from tuneagent.load import client; from tuneagent.model.load import LoadKind, LoadSpec;"
        f"spec = LoadSpec(LoadKind.TCP_RR, {server.address!r}, {server.port}, connections=2, processes=2);"
        f"client.run(spec, 60, token={TOKEN!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", code], env=environment())
    children: list[psutil.Process] = []
    while len(children) < 2 and process.poll() is None:
        children = psutil.Process(process.pid).children()
    process.kill()
    process.wait()

    gone, alive = psutil.wait_procs(children, timeout=20)
    assert (len(gone), alive) == (2, [])
    assert run(server).transactions


STALL_S = 0.5


def stall(server: Serving) -> None:
    """The server answers nothing for so long, and then goes on."""
    for worker in server.workers():
        worker.send_signal(signal.SIGSTOP)
    time.sleep(STALL_S)
    for worker in server.workers():
        worker.send_signal(signal.SIGCONT)


def slow_share(result: LoadResult) -> float:
    """The part of the latencies above a fifth of the stall."""
    assert result.latency is not None
    slow = [
        percent for percent in range(1000) if (percentile_ns(result.latency, percent / 10) or 0) > STALL_S * 1e9 / 5
    ]
    return 1 - slow[0] / 1000 if slow else 0.0


@pytest.mark.parametrize("kind", [LoadKind.TCP_RR, LoadKind.UDP_RR])
@pytest.mark.parametrize("burst", [1, 50])
def test_an_open_loop_tells_of_all_requests_that_a_stall_delayed(tmp_path: Path, kind: LoadKind, burst: int) -> None:
    with serving(tmp_path) as server:
        wishes: dict[str, Any] = {"rate_per_sec": 1000.0, "burst": burst, "request_bytes": 4, "response_bytes": 4}
        result = run(server, kind, seconds=2.0, hooks=Hooks(began=partial(stall, server)), **wishes)

    # Of 2,000 requests 400 were due in the first 0.4 s of the stall and waited for more than 0.1 s.
    assert slow_share(result) > 0.15
    assert (result.lost, result.errors) == (0, 0)


def test_a_closed_loop_tells_of_one(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        result = run(server, seconds=2.0, hooks=Hooks(began=partial(stall, server)))

    assert result.latency is not None
    assert result.latency.max_ns is not None
    assert result.latency.max_ns > STALL_S * 1e9 / 2
    assert slow_share(result) < 0.05


@contextmanager
def fake(how: str) -> Iterator[Serving]:
    command = [sys.executable, "-m", "tests.load.fake_server", how]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment())
    assert process.stdout is not None
    try:
        yield Serving(process, "127.0.0.1", int(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("wishes", [{}, {"connections": 2}, {"burst": 3}], ids=str)
def test_a_connection_that_breaks_is_made_anew_and_counted(wishes: dict[str, Any]) -> None:
    with fake("breaks") as server:
        result = run(server, seconds=3.0, **wishes)

    assert (result.errors, result.reconnects) == (1, 1)
    assert result.transactions is not None
    assert result.transactions > 50


@pytest.mark.parametrize("wishes", [{}, {"connections": 2}, {"burst": 2}], ids=str)
def test_a_connection_that_always_breaks_ends_the_load(wishes: dict[str, Any]) -> None:
    with fake("breaks-always") as server, pytest.raises(LoadError, match="a connection broke 11 times"):
        run(server, seconds=60, **wishes)


@pytest.mark.parametrize("wishes", [{}, {"connections": 2}, {"burst": 2}], ids=str)
def test_an_answer_that_comes_in_pieces_is_one(wishes: dict[str, Any]) -> None:
    with fake("dribbles") as server:
        result = run(server, seconds=0.5, response_bytes=100, **wishes)

    assert result.errors == 0
    assert result.latency is not None
    assert result.transactions == result.latency.total
    # Were the first piece taken for an answer, it would have come before the pause behind it.
    assert result.latency.min_ns is not None
    assert result.latency.min_ns > 1_000_000


@pytest.mark.parametrize("wishes", [{}, {"connections": 2}, {"burst": 2}], ids=str)
def test_more_answers_than_requests_end_the_load(wishes: dict[str, Any]) -> None:
    with fake("floods") as server, pytest.raises(LoadError, match="answered more than it was asked"):
        run(server, seconds=60, **wishes)


@pytest.mark.parametrize("wishes", [{}, {"connections": 2}], ids=str)
def test_a_load_without_any_answer_is_no_result_of_nought(wishes: dict[str, Any]) -> None:
    with fake("silent") as server, pytest.raises(LoadError, match=r"not one answer within 0\.3 s"):
        run(server, **wishes)


@pytest.mark.parametrize("size", [1, 2, 64])
def test_lost_datagrams_are_counted_and_late_or_doubled_ones_are_not(size: int) -> None:
    with fake("loses") as server:
        result = run(server, LoadKind.UDP_RR, seconds=2.5, request_bytes=size, response_bytes=size, burst=4)

    assert result.lost >= 4
    assert result.latency is not None
    assert result.latency.total == result.transactions
    # Were a late answer taken for the next request's, one would have taken next to no time.
    assert result.latency.min_ns is not None
    assert result.latency.min_ns > 2000


@pytest.mark.parametrize(
    ("how", "said"), [("greets", "is no server of"), ("hangs", "no answer from 127.0.0.1:.* within")]
)
def test_what_is_no_server_of_ours_is_one_clear_line(how: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuneagent.load.dial.dial.__defaults__", (0.5,))
    with fake(how) as server, pytest.raises(LoadError, match=said):
        run(server)


def test_a_server_that_is_busy_says_so(server: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuneagent.load.control.BUSY_S", 0.3)

    def second() -> None:
        with pytest.raises(LoadError, match="busy with another client"):
            run(server)

    assert run(server, hooks=Hooks(began=second)).transactions
