"""irqbalance's side of its socket, written after its irqbalance.c and classify.c (1.9), in a process of its own.

The real one moves the interrupts of the machine that it runs on; the tier with virtual machines runs that.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME_OF_KERNEL = "irqbalance"
ABSTRACT = b"\0" * 108
UCRED = struct.Struct("iII")
ROOT_UID = 0


class Daemon:
    """``banned`` is cl_banned_irqs; a look makes it count, and places what is not banned."""

    def __init__(self, run: str, banned: list[int], irqs: list[int], answer: str | None) -> None:
        self.banned, self.irqs, self.placed = list(banned), irqs, [irq for irq in irqs if irq not in banned]
        self.answer = answer
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.bind(f"{run}/irqbalance{os.getpid()}.sock")
        except OSError:
            self.socket.bind(ABSTRACT)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.listen(1)
        signal.signal(signal.SIGHUP, self.look)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # whoever hangs up before the answer kills the real one too

    def look(self, *_: object) -> None:
        self.placed = [irq for irq in self.irqs if irq not in self.banned]

    def serve(self) -> None:
        while True:
            connection, _ = self.socket.accept()
            with connection:
                self.handle(connection)

    def handle(self, connection: socket.socket) -> None:
        said, control, _, _ = connection.recvmsg(500, socket.CMSG_SPACE(UCRED.size))
        (level, kind, data) = control[0]
        assert (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)
        if UCRED.unpack(data)[1] != ROOT_UID:
            return
        command = said.decode()
        if self.answer is not None and not command.startswith("settings "):
            connection.sendall(self.answer.encode("latin-1"))
        elif command.startswith("stats"):
            connection.sendall(
                f"TYPE 3 NUMBER -1 LOAD 7 SAVE_MODE 0 {rows(self.placed)}TYPE 0 NUMBER 1 LOAD 8 SAVE_MODE 0 ".encode()
            )
        elif command.startswith("settings ban irqs "):
            self.ban(command.removeprefix("settings ban irqs "))
        elif command.startswith("setup"):
            connection.sendall(f"SLEEP 10 {rows(self.banned)}BANNED 00000000".encode())

    def ban(self, words: str) -> None:
        self.banned = []
        if words.startswith("NONE"):
            return
        first, *rest = (int(word) for word in words.split())
        self.banned.append(first)
        for irq in rest:
            if irq == 0:
                break  # while ((irq = strtoul(end, &end, 10)))
            if irq not in self.banned:
                self.banned.append(irq)


def rows(irqs: list[int]) -> str:
    return "".join(f"IRQ {irq} LOAD {irq + 1} DIFF {irq + 2} CLASS -1 " for irq in irqs)


@contextmanager
def running(
    run: Path, banned: tuple[int, ...] = (), irqs: tuple[int, ...] = (), answer: str | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A daemon with these bans from its command line, among these interrupts; ``answer`` is what it always says."""
    words = json.dumps({"run": str(run), "banned": banned, "irqs": irqs, "answer": answer})
    child = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdin is not None
        child.stdin.write(words + "\n")
        child.stdin.close()
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield child
    finally:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()


if __name__ == "__main__":
    daemon = Daemon(**json.loads(sys.stdin.readline()))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    daemon.serve()
