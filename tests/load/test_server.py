"""The server among clients that know no token, and one that does and behaves badly."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from tests.load.serving import TOKEN, Serving, serving
from tuneagent.load import client, wire
from tuneagent.load.control import Control
from tuneagent.load.dial import Target, dial, read, target
from tuneagent.load.door import MOST_WAITING
from tuneagent.load.errors import LoadError
from tuneagent.load.server import Server, ServerSpec
from tuneagent.load.wire import Ask, Role, Sizes
from tuneagent.model.load import LoadKind, LoadSpec


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path) as one:
        yield one


def works(server: Serving, kind: LoadKind = LoadKind.TCP_RR) -> bool:
    spec = LoadSpec(kind, server.address, server.port, connections=2)
    return bool(client.run(spec, 0.5, token=TOKEN, warm_up_s=0.0).transactions)


def way(server: Serving, token: str = TOKEN) -> Target:
    return target(server.address, server.port, token)


def connected(server: Serving) -> socket.socket:
    return socket.create_connection((server.address, server.port), timeout=20)


def test_it_listens_where_it_was_told_only(server: Serving) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.port), timeout=5)


def test_what_it_says_first_tells_a_stranger_nothing_but_its_kind(server: Serving) -> None:
    with connected(server) as one, connected(server) as other:
        first, second = (wire.HELLO.unpack(read(sock, wire.HELLO.size)) for sock in (one, other))
    assert first[0] == second[0] == wire.MAGIC
    assert first[1] != second[1]


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 10, bytes(4096), os.urandom(100_000)], ids=len
)
def test_garbage_is_refused_and_leaves_no_trace(server: Serving, garbage: bytes) -> None:
    for _ in range(20):
        with connected(server) as sock, suppress(ConnectionError):
            sock.sendall(garbage)
            while sock.recv(4096):
                pass
    assert works(server)
    assert psutil.Process(server.process.pid).num_fds() < 30


def test_a_crowd_at_the_door_keeps_nobody_out_who_knows_the_token(server: Serving) -> None:
    with ExitStack() as stack:
        crowd = [stack.enter_context(connected(server)) for _ in range(3 * MOST_WAITING)]
        for sock in crowd[::2]:
            with suppress(ConnectionError):
                sock.send(b"x")
        assert works(server)
        assert psutil.Process(server.process.pid).num_fds() < MOST_WAITING + 30


def test_who_says_nothing_is_sent_away(server: Serving) -> None:
    with connected(server) as sock:
        read(sock, wire.HELLO.size)
        assert sock.recv(1) == b""


def test_a_request_that_comes_byte_by_byte_is_understood(server: Serving) -> None:
    with connected(server) as sock:
        _, nonce = wire.HELLO.unpack(read(sock, wire.HELLO.size))
        for byte in wire.request(TOKEN, nonce, Ask(Role.CONTROL)):
            sock.send(bytes([byte]))
        status, session = wire.REPLY.unpack(read(sock, wire.REPLY.size))
    assert status == wire.Status.OK
    assert session != wire.NO_SESSION


def test_a_proof_is_good_for_one_connection(server: Serving) -> None:
    with connected(server) as first:
        _, nonce = wire.HELLO.unpack(read(first, wire.HELLO.size))
        proof = wire.request(TOKEN, nonce, Ask(Role.CONTROL))
    with connected(server) as second:
        read(second, wire.HELLO.size)
        second.sendall(proof)
        assert wire.REPLY.unpack(read(second, wire.REPLY.size))[0] == wire.Status.WRONG_TOKEN


def test_a_load_needs_the_session_of_its_client(server: Serving) -> None:
    with pytest.raises(LoadError, match="its session has ended"):
        dial(way(server), Ask(Role.STREAM, b"no such session."))


@pytest.mark.parametrize("sizes", [Sizes(0, 1), Sizes(1, 2**32 - 1), Sizes(2**21, 1)])
def test_sizes_beyond_bounds_are_refused_by_the_server_too(server: Serving, sizes: Sizes) -> None:
    control = Control(way(server))
    with pytest.raises(LoadError, match="refused the connection"):
        dial(way(server), Ask(Role.STREAM, control.session, sizes))
    control.close()


@pytest.mark.parametrize("order", [bytes([77]) + bytes(11), bytes(12), bytes([2, 0]) + bytes(10)])
def test_an_order_that_there_is_not_is_refused(server: Serving, order: bytes) -> None:
    control = Control(way(server))
    control.sock.sendall(order)
    assert wire.ANSWER.unpack(read(control.sock, wire.ANSWER.size))[0] == wire.Status.REFUSED
    control.close()
    assert works(server)


def test_a_client_that_reads_no_responses_makes_nothing_grow(server: Serving) -> None:
    control = Control(way(server))
    sock, _ = dial(way(server), Ask(Role.STREAM, control.session, Sizes(1, 1 << 20)))
    worker = server.workers()[0]
    before = worker.memory_info().rss
    sock.settimeout(0.5)
    with suppress(TimeoutError):
        for _ in range(200):  # 50 MB of requests, or 50 TB of responses
            sock.sendall(bytes(256 * 1024))
    assert worker.memory_info().rss - before < 8e6
    sock.close()
    control.close()
    assert works(server)


def test_a_client_that_reads_late_gets_every_response(server: Serving) -> None:
    control = Control(way(server))
    sock, _ = dial(way(server), Ask(Role.STREAM, control.session, Sizes(3, 90_001)))
    for _ in range(300):
        sock.sendall(b"abc")
        time.sleep(0.0002)  # one by one: each is answered by itself until nothing can be sent any more
    sock.settimeout(20)
    assert len(read(sock, 300 * 90_001)) == 300 * 90_001
    sock.close()
    control.close()


def test_a_udp_port_hears_its_client_alone(server: Serving) -> None:
    control = Control(way(server))
    ours = control.datagrams(Sizes(8, 8))
    ours.settimeout(20)
    theirs = ours.getpeername()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.settimeout(0.3)
        stranger.sendto(b"12345678", theirs)
        ours.send(b"abcdefgh")
        assert ours.recv(100) == b"abcd" + bytes(4)
        with pytest.raises(TimeoutError):
            stranger.recv(100)
    ours.close()
    control.close()


def test_a_datagram_of_another_size_is_not_answered(server: Serving) -> None:
    control = Control(way(server))
    ours = control.datagrams(Sizes(8, 8))
    ours.settimeout(20)
    for wrong in (b"", b"1234567", b"123456789", bytes(60_000)):
        ours.send(wrong)
    ours.send(b"right...")
    assert ours.recv(100)[:4] == b"righ"
    ours.close()
    control.close()


def test_it_ends_when_its_time_is_over() -> None:
    with Server(ServerSpec("127.0.0.1", TOKEN, for_s=0.2)) as server:
        assert str(server.run()) == "its time was over"


def test_it_ends_with_its_client_where_that_was_asked_for(tmp_path: Path) -> None:
    with serving(tmp_path, "--idle", "0") as server:
        assert works(server, LoadKind.UDP_RR)
        assert server.ended()[0] == 0


def test_it_serves_one_round_after_another(server: Serving) -> None:
    assert all([works(server) for _ in range(3)])  # noqa: C419 - every one of them is to be run
    assert [worker.is_running() for worker in server.workers()] == [True]


def answered(server: Serving, control: Control) -> socket.socket:
    """A connection on which one transaction came to its end."""
    sock, _ = dial(way(server), Ask(Role.STREAM, control.session))
    sock.send(b"?")
    sock.recv(1)
    return sock


def test_connections_are_dealt_out_evenly(tmp_path: Path) -> None:
    with serving(tmp_path, "--processes", "3") as server:
        control = Control(way(server))
        socks = [
            answered(server, control) for _ in range(3)
        ]  # who has answered has begun, and closed what it inherited
        before = [worker.num_fds() for worker in server.workers()]
        socks += [answered(server, control) for _ in range(6)]
        assert [worker.num_fds() - had for worker, had in zip(server.workers(), before, strict=True)] == [2, 2, 2]
        for sock in socks:
            sock.close()
        control.close()


def test_the_connections_of_a_client_that_has_gone_are_closed(server: Serving) -> None:
    control = Control(way(server))
    sock, _ = dial(way(server), Ask(Role.STREAM, control.session))
    sock.settimeout(20)
    control.close()

    assert sock.recv(1) == b""
    sock.close()


def test_kill_leaves_no_process_of_it(server: Serving) -> None:
    workers = server.workers()
    os.kill(server.process.pid, signal.SIGKILL)

    assert psutil.wait_procs(workers, timeout=20)[1] == []


def test_an_idle_server_costs_next_to_nothing(server: Serving) -> None:
    assert works(server)
    process = psutil.Process(server.process.pid)
    everything = [process, *server.workers()]
    before = sum(sum(one.cpu_times()[:2]) for one in everything)
    time.sleep(1.5)
    assert sum(sum(one.cpu_times()[:2]) for one in everything) - before < 0.15


@pytest.mark.parametrize("address", ["localhost", "not an address", "", "127.0.0.1:80", "256.1.1.1"])
def test_an_address_that_is_not_numeric_is_refused(address: str) -> None:
    with pytest.raises(LoadError, match=r"no numeric address|cannot listen"):
        Server(ServerSpec(address, TOKEN))


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(LoadError, match=r"cannot listen on 192\.0\.2\.77 port 0"):
        Server(ServerSpec("192.0.2.77", TOKEN))


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(LoadError, match="in use"):
        Server(ServerSpec("127.0.0.1", TOKEN, taken.getsockname()[1]))


def test_processes_and_cpus_have_bounds() -> None:
    with pytest.raises(LoadError, match="0 processes"):
        Server(ServerSpec("127.0.0.1", TOKEN, processes=0))
    with pytest.raises(LoadError, match="CPU 4000"):
        Server(ServerSpec("127.0.0.1", TOKEN, cpus=(4000,)))


def test_it_serves_ipv6(tmp_path: Path) -> None:
    with serving(tmp_path, address="::1") as server:
        for kind in (LoadKind.TCP_RR, LoadKind.UDP_RR):
            assert works(server, kind)
