"""A server that knows the token and misbehaves on purpose: ``python -m tests.load.fake_server HOW``; prints its port.

HOW is ``breaks`` (resets the first connection of the load in its second second), ``breaks-always``, ``loses`` (answers
every fifth datagram much too late, and each other one twice), ``floods`` (answers more than it was asked),
``dribbles`` (answers in pieces), ``silent`` (admits and never answers), ``greets`` (is another protocol) or ``hangs``
(accepts and says nothing).
"""

from __future__ import annotations

import math
import os
import socket
import struct
import sys
import threading
import time
from contextlib import suppress

from tests.load.serving import TOKEN
from tuneagent.load import wire
from tuneagent.load.dial import read
from tuneagent.load.loop import LOST_AFTER_NS
from tuneagent.load.wire import Order, Role, Status

SESSION = b"sixteen bytes id"
BREAKS_AFTER_S = 1.0
LATE_S = LOST_AFTER_NS / 1e9 + 0.1


class Fake:
    def __init__(self, how: str) -> None:
        self.how = how
        self.streams = 0

    def call(self, sock: socket.socket) -> None:
        with suppress(OSError, ConnectionError):
            if self.how == "hangs":
                threading.Event().wait()
            if self.how == "greets":
                sock.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n" + bytes(64))
                return
            nonce = os.urandom(wire.NONCE_BYTES)
            sock.sendall(wire.HELLO.pack(wire.MAGIC, nonce))
            ask = wire.asked(TOKEN, nonce, read(sock, wire.REQUEST_BYTES))
            assert ask is not None
            sock.sendall(wire.REPLY.pack(Status.OK, SESSION))
            if ask.role is Role.CONTROL:
                self.control(sock)
            else:
                self.stream(sock, ask.sizes)

    def control(self, sock: socket.socket) -> None:
        while True:
            order, port, request, _ = wire.COMMAND.unpack(read(sock, wire.COMMAND.size))
            ours = 0
            if order == Order.DATAGRAMS:
                udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                udp.bind(("127.0.0.1", 0))
                udp.connect(("127.0.0.1", port))
                ours = udp.getsockname()[1]
                threading.Thread(target=self.datagrams, args=(udp,), daemon=True).start()
            sock.sendall(wire.ANSWER.pack(Status.OK, ours, request))

    def stream(self, sock: socket.socket, sizes: wire.Sizes) -> None:
        self.streams += 1
        ends = {"breaks": BREAKS_AFTER_S if self.streams == 1 else math.inf, "breaks-always": 0.0}.get(
            self.how, math.inf
        )
        ends += time.monotonic()
        while True:
            read(sock, sizes.request)
            if self.how == "silent":
                continue
            if self.how == "dribbles":
                sock.sendall(b"x")
                time.sleep(0.001)
                sock.sendall(bytes(sizes.response - 1))
                continue
            sock.sendall(bytes(sizes.response * (3 if self.how == "floods" else 1)))
            if time.monotonic() >= ends:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return

    def datagrams(self, sock: socket.socket) -> None:
        late: list[tuple[float, bytes]] = []
        number = 0
        while True:
            data = sock.recv(70_000)
            number += 1
            if number % 5 == 0:
                late.append((time.monotonic() + LATE_S, data))
                continue
            while late and late[0][0] <= time.monotonic():
                sock.send(late.pop(0)[1])
            sock.send(data)
            sock.send(data)  # a network may double them

    def serve(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=self._called, args=(sock,), daemon=True).start()

    def _called(self, sock: socket.socket) -> None:
        with sock:
            self.call(sock)


if __name__ == "__main__":
    Fake(sys.argv[1]).serve()
