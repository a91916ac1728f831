"""Sends packets over the loopback of a network of its own until standard input ends: python packet_load.py."""

from __future__ import annotations

import select
import socket
import sys

ROUND = 100


def main() -> None:
    """Prints a line when it has begun, and how many it sent when it ends."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect(receiver.getsockname())
    sys.stdout.write("on\n")
    sys.stdout.flush()
    sent = 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(ROUND):
            sender.send(b"x")
            receiver.recv(1)
        sent += ROUND
    sys.stdout.write(f"{sent}\n")


if __name__ == "__main__":
    main()
