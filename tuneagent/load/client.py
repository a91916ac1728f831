"""The client of TCP_RR and UDP_RR: its processes run the load, and the parent keeps the time and the accounts."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from socket import socket

from tuneagent.load import children, limits, ping_pong, ring, spread
from tuneagent.load.control import Control
from tuneagent.load.dial import PATIENCE_S, Target, target
from tuneagent.load.errors import LoadError
from tuneagent.load.flows import dialled
from tuneagent.load.hooks import NO_HOOKS, Hooks
from tuneagent.load.loop import Loop
from tuneagent.load.ring import Ring
from tuneagent.load.spread import Share
from tuneagent.load.tally import Phases, Times
from tuneagent.load.wire import Sizes
from tuneagent.model.histogram import merged
from tuneagent.model.load import Histogram, LoadKind, LoadResult, LoadSpec

MOST_CPUS = 8192
"""CONFIG_NR_CPUS of the largest kernels."""
WARM_UP_S = 0.5
GRACE_S = 5.0
"""How long after its end a process of the load may still work at its numbers."""
_START_S = 0.05
_LOOK_S = 0.1
_BUSY = 0.95
_KEPT_RATE = 0.99


@dataclass(frozen=True, slots=True)
class _Part:
    """What one process measured."""

    latency: Histogram
    transactions: int
    errors: int
    reconnects: int
    lost: int
    waiting: int
    cpu_ns: int


def run(
    spec: LoadSpec,
    seconds: float,
    *,
    token: str,
    warm_up_s: float = WARM_UP_S,
    cool_down_s: float = 0.0,
    hooks: Hooks = NO_HOOKS,
) -> LoadResult:
    """Runs a load of kind ``tcp-rr`` or ``udp-rr`` against `tuneagent load serve`.

    Transactions count whose answer came within the ``seconds`` after the warm-up. The load goes on for
    ``cool_down_s``, so that what ``hooks.ended`` looks at is still loaded. LoadError when the server cannot be had,
    ends, or the link is silent for seconds.
    """
    limits.check(spec, seconds)
    children.check_pins(spec.cpus)
    with ExitStack() as stack:
        epolls = [stack.enter_context(closing(select.epoll())) for _ in range(spec.processes)]
        to = target(spec.host, spec.port, token)
        control = stack.enter_context(closing(Control(to)))
        socks = stack.enter_context(_connected(spec, to, control))
        shares = spread.shares(spec, to, control.session, socks)
        run_ = stack.enter_context(_Run.of(shares, epolls, control, socks))
        return run_.result(seconds, warm_up_s, cool_down_s, hooks)


@contextmanager
def _connected(spec: LoadSpec, to: Target, control: Control) -> Iterator[list[socket]]:
    sizes = Sizes(spec.request_bytes, spec.response_bytes)
    socks: list[socket] = []
    try:
        for _ in range(spec.connections):
            if spec.kind is LoadKind.UDP_RR:
                socks.append(control.datagrams(sizes))
            else:
                socks.append(dialled(to, control.session, sizes, PATIENCE_S))
        yield socks
    finally:
        for sock in socks:
            sock.close()


class _Run:
    """The processes of one run."""

    def __init__(self, spec: LoadSpec, control: Control) -> None:
        self._spec = spec
        self._control = control
        self._pids: list[int] = []
        self._pipes: list[Connection] = []
        self._parts: dict[Connection, _Part] = {}
        self._cpus: set[int] = set()

    @classmethod
    @contextmanager
    def of(
        cls, shares: Sequence[Share], epolls: Sequence[select.epoll], control: Control, socks: Sequence[socket]
    ) -> Iterator[_Run]:
        """The processes, started and waiting for their times; ended when the body is left, in whatever way."""
        run_ = cls(shares[0].spec, control)
        try:
            for share, epoll in zip(shares, epolls, strict=True):
                run_._start(share, epoll, socks)
            # From here on a connection ends with the process that uses it.
            for sock in socks:
                sock.close()
            yield run_
        finally:
            children.end(run_._pids)
            for pipe in run_._pipes:
                pipe.close()

    def _start(self, share: Share, epoll: select.epoll, socks: Sequence[socket]) -> None:
        ours, theirs = Pipe()

        def work() -> None:
            ours.close()
            self._control.close()
            share.keep_only_mine(socks)
            _work(share, epoll, theirs)

        self._pids.append(children.start(work))
        self._pipes.append(ours)
        theirs.close()

    def result(self, seconds: float, warm_up_s: float, cool_down_s: float, hooks: Hooks) -> LoadResult:
        """Keeps the time, and gathers what was measured."""
        begin = time.monotonic_ns() + round((warm_up_s + _START_S) * 1e9)
        end = begin + round(seconds * 1e9)
        times = Times(begin, end, end + round(cool_down_s * 1e9))
        for pipe in self._pipes:
            self._told(pipe, times)
        self._sleep_until(begin)
        server_ns = self._edge(hooks.began)
        self._sleep_until(end, look=True)
        server_ns = self._edge(hooks.ended) - server_ns
        self._gather(times.stop_ns)
        return _result(self._spec, seconds, tuple(self._parts.values()), server_ns, tuple(sorted(self._cpus)))

    def _told(self, pipe: Connection, times: Times) -> None:
        try:
            pipe.send(times)
        except OSError as error:
            raise LoadError("a process of the load died at its start") from error

    def _edge(self, hook: Callable[[], None] | None) -> int:
        server_ns = self._control.server_cpu_ns()
        if hook is not None:
            hook()
        return server_ns

    def _sleep_until(self, at_ns: int, *, look: bool = False) -> None:
        """LoadError as soon as the server or one of the processes says that it is over."""
        while (left := (at_ns - time.monotonic_ns()) / 1e9) > 0:
            if look:
                self._see_cpus()
            for ready in wait([self._control.sock, *self._silent()], min(left, _LOOK_S)):
                if ready is self._control.sock:
                    raise self._control.gone()
                self._receive(ready)  # type: ignore[arg-type]  # all others are pipes
                if time.monotonic_ns() < at_ns:
                    raise LoadError("a process of the load ended before its time")

    def _see_cpus(self) -> None:
        self._cpus |= {cpu for pid in self._pids if (cpu := children.last_cpu(pid)) is not None}

    def _silent(self) -> list[Connection]:
        """Of the processes that have not said anything yet."""
        return [pipe for pipe in self._pipes if pipe not in self._parts]

    def _gather(self, stop_ns: int) -> None:
        ends_ns = stop_ns + round(GRACE_S * 1e9)
        while silent := self._silent():
            left = (ends_ns - time.monotonic_ns()) / 1e9
            ready = wait(silent, max(0.0, left))
            if not ready:
                raise LoadError(f"a process of the load did not end within {GRACE_S:g} s of its time")
            for pipe in ready:
                self._receive(pipe)  # type: ignore[arg-type]  # they are pipes

    def _receive(self, pipe: Connection) -> None:
        """A process's numbers; LoadError with what it says instead."""
        try:
            said = pipe.recv()
        except (EOFError, OSError) as error:
            raise LoadError("a process of the load died") from error
        if isinstance(said, _Part):
            self._parts[pipe] = said
            return
        # A connection is refused or reset before the control connection is known to have ended: the cause, then.
        if wait([self._control.sock], _LOOK_S):
            raise self._control.gone()
        raise LoadError(str(said))


def _work(share: Share, epoll: select.epoll, pipe: Connection) -> None:
    """One process: from its start to its numbers."""
    children.pin(share.spec.cpus, share.place)
    children.wake_on_time()
    times: Times = pipe.recv()
    try:
        phases = _exchanged(share, epoll, times)
    except LoadError as error:
        pipe.send(str(error))
        return
    tally = phases.measured or phases.tally
    pipe.send(
        _Part(
            tally.histogram(),
            tally.transactions,
            tally.errors,
            tally.reconnects,
            tally.lost,
            tally.waiting,
            phases.cpu_ns,
        )
    )


def _exchanged(share: Share, epoll: select.epoll, times: Times) -> Phases:
    if ping_pong.fits(share):
        phases = Phases(times)
        ping_pong.run(share, phases)
        return phases
    if ring.fits(share):
        phases = Phases(times)
        connections = Ring(share, epoll, phases)
        connections.run()
        connections.close()
        return phases
    loop = Loop(share, epoll, times)
    loop.run()
    loop.close()
    return loop.phases


def _result(
    spec: LoadSpec, seconds: float, parts: Sequence[_Part], server_ns: int, cpus: tuple[int, ...]
) -> LoadResult:
    transactions = sum(part.transactions for part in parts)
    if not transactions:
        more = ": is UDP let through to all ports there?" if spec.kind is LoadKind.UDP_RR else ""
        raise LoadError(f"not one answer within {seconds:g} s{more}")
    client_s = sum(part.cpu_ns for part in parts) / 1e9
    return LoadResult(
        seconds=seconds,
        transactions=transactions,
        latency=merged(part.latency for part in parts),
        errors=sum(part.errors for part in parts),
        reconnects=sum(part.reconnects for part in parts),
        lost=sum(part.lost for part in parts),
        client_cpu_s=client_s,
        server_cpu_s=_believed(server_ns / 1e9, seconds),
        client_cpus=cpus,
        notes=tuple(_notes(spec, seconds, transactions, sum(part.waiting for part in parts), client_s)),
    )


def _believed(cpu_s: float, seconds: float) -> float | None:
    """The CPU time that a server tells of itself; None for what no machine can use in this time."""
    return cpu_s if 0 <= cpu_s <= seconds * MOST_CPUS else None


def _notes(spec: LoadSpec, seconds: float, transactions: int, waiting: int, client_s: float) -> Iterator[str]:
    if client_s / seconds / spec.processes > _BUSY:
        yield "the load's own processes were busy all the time: they may be the limit, and more of them may give more"
    rate = spec.rate_per_sec
    if rate is not None and transactions < _KEPT_RATE * rate * seconds:
        yield f"{rate:g} requests/s were due, {transactions / seconds:.6g} came back"
    if waiting:
        yield f"{waiting} requests were due and without an answer at the end; they count in the latency with their age"
