"""A guest agent that means ill, run inside a guest in place of the real one: `python3 hostile_agent.py KIND`."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress

PORT = "/dev/virtio-ports/org.qemu.guest_agent.0"
COMMANDS = ("guest-info", "guest-exec", "guest-exec-status", "guest-file-open", "guest-file-read", "guest-file-close")
KINDS = ("hang", "garbage", "flood", "escapes", "endless")
ESCAPES = b"\x1b]0;owned\x07\x1b[2J" * 10
"""What would name the operator's terminal and clear it."""


def main(kind: str) -> None:
    """Answers until it is ended; what it cannot say to a closed port it leaves."""
    port = os.open(PORT, os.O_RDWR)
    for request in requests(port):
        with suppress(OSError):
            for piece in answer(kind, request):
                os.write(port, piece)


def requests(port: int) -> Iterator[dict[str, object]]:
    """The requests of the other side, a line each; a byte 0xFF before one only resets a parser."""
    pending = b""
    while True:
        with suppress(OSError):
            pending += os.read(port, 65536)
        *lines, pending = pending.split(b"\n")
        for line in lines:
            with suppress(ValueError):
                yield json.loads(line.lstrip(b"\xff"))


def answer(kind: str, request: dict[str, object]) -> Iterator[bytes]:
    """What goes over the port."""
    command = str(request["execute"])
    arguments = request.get("arguments")
    if command in {"guest-sync", "guest-sync-delimited"} and isinstance(arguments, dict):
        yield b"\xff" * command.endswith("delimited") + _reply(arguments["id"])
    elif kind == "garbage":
        yield b'{"return": \x1b[2J\x07 nonsense\n'
    elif kind == "flood":
        yield from (b"A" * 65536 for _ in range(1000))
    elif kind != "hang":
        yield _reply(_lie(kind, command))


def _lie(kind: str, command: str) -> object:
    if command == "guest-info":
        named = [{"name": name, "enabled": True, "success-response": True} for name in COMMANDS]
        return {"version": "\x1b[31mevil", "supported_commands": named}
    if command == "guest-exec":
        return {"pid": 1}
    if command == "guest-exec-status":
        said = b"/proc/interrupts\0" + ESCAPES if kind == "escapes" else b"A" * 700_000
        return {"exited": True, "exitcode": 0, "out-data": base64.b64encode(said).decode()}
    return {}


def _reply(value: object) -> bytes:
    return json.dumps({"return": value}).encode() + b"\n"


if __name__ == "__main__":
    main(sys.argv[1])
