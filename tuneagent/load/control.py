"""A client's control connection: it holds the server for one run, and asks it for its CPU time."""

from __future__ import annotations

import socket
import time

from tuneagent.load.dial import PATIENCE_S, Busy, Target, dial, read
from tuneagent.load.errors import LoadError
from tuneagent.load.session import notice_when_gone
from tuneagent.load.wire import ANSWER, COMMAND, Ask, Order, Role, Sizes, Status

BUSY_S = 10.0
"""How long a server is asked again that is busy: what is left of a client that died goes away within 7 s."""
_AGAIN_S = 0.25


class Control:
    """A session of the server. Closing it ends the load's connections there."""

    def __init__(self, to: Target) -> None:
        """LoadError where the server cannot be had."""
        self._to = to
        self.sock, self.session = _admitted(to)
        notice_when_gone(self.sock)

    def server_cpu_ns(self) -> int:
        """CPU time that the server's processes have used since they started, as it says."""
        return self._ask(Order.MARK, 0, Sizes(0, 0))[1]

    def datagrams(self, sizes: Sizes) -> socket.socket:
        """A UDP socket connected to one of the server's that hears it alone."""
        here = self.sock.getsockname()
        sock = socket.socket(self._to.family, socket.SOCK_DGRAM)
        try:
            sock.bind((here[0], 0, *here[2:]))
            port, _ = self._ask(Order.DATAGRAMS, sock.getsockname()[1], sizes)
            sock.connect((self._to.address[0], port, *self._to.address[2:]))
        except OSError as error:
            sock.close()
            raise LoadError(f"{self._to.name}: {error.strerror or error}") from error
        except BaseException:
            sock.close()
            raise
        return sock

    def close(self) -> None:
        """Leave the server."""
        self.sock.close()

    def gone(self) -> LoadError:
        """What to raise as the server said something unasked, or ended."""
        return LoadError(f"the server at {self._to.name} ended in the middle of the load")

    def _ask(self, order: Order, port: int, sizes: Sizes) -> tuple[int, int]:
        self.sock.settimeout(PATIENCE_S)  # reading the last answer has left less
        try:
            self.sock.sendall(COMMAND.pack(order, port, sizes.request, sizes.response))
            status, port, cpu_ns = ANSWER.unpack(read(self.sock, ANSWER.size, time.monotonic() + PATIENCE_S))
        except TimeoutError as error:
            raise LoadError(
                f"no answer from {self._to.name} within {PATIENCE_S:g} s: the link or the server is down"
            ) from error
        except ConnectionError as error:
            raise self.gone() from error
        except OSError as error:
            raise LoadError(f"{self._to.name}: {error.strerror or error}") from error
        if status != Status.OK:
            raise LoadError(f"{self._to.name}: the server refused a connection: too many, or too large datagrams")
        return port, cpu_ns


def _admitted(to: Target) -> tuple[socket.socket, bytes]:
    ends = time.monotonic() + BUSY_S
    while True:
        try:
            return dial(to, Ask(Role.CONTROL))
        except Busy:
            if time.monotonic() >= ends:
                raise
        time.sleep(_AGAIN_S)
