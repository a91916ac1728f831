"""A running irqbalance's socket: what it was told to leave alone, and a ban that lasts as long as its process.

irqbalance.c: a stream socket /run/irqbalance/irqbalance<PID>.sock, one command a connection, taken from the first 500
bytes that arrive and only from uid 0 (SCM_CREDENTIALS); it answers and closes. Where it could not bind the file it
binds the abstract name of 107 NULs, not the one in its manual. Compiled in with its ncurses user interface only.

It answers by send() without MSG_NOSIGNAL and leaves SIGPIPE as it is: who asks and closes before the answer kills it.
So a question that is given up is left to a small process that waits for the answer in our place.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from tuneagent.machine.reasons import RUN_AS_ROOT
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.missing import Reason
from tuneagent.parse import irqbalance_answers
from tuneagent.parse.irqbalance_answers import IrqbalanceSetup

TIMEOUT_S = 5.0
"""It does one thing at a time, and a look of its own takes seconds on a machine that is out of CPU time."""
MAX_ANSWER = 1 << 20
MAX_COMMAND = 500
"""irqbalance.c: ``char buff[500]``. What is longer is cut, in the middle of a number perhaps."""
MAX_IRQ = 2**31 - 1
ABSTRACT = b"\0" * 108
"""unix(7): all bytes of the address count, and irqbalance binds the whole of an empty sun_path."""
RUN = "/run/irqbalance"

_UCRED = struct.Struct("iII")
_CHUNK = 1 << 16
_WAITING = f"import socket\npeer = socket.socket(fileno=0)\nwhile peer.recv({_CHUNK}): pass"
_NOWHERE = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_DUP2, 1, 2)
T = TypeVar("T")


class IrqbalanceSocket:
    """The socket of the irqbalance whose process is ``pid``. A connection for each question, as it wants it.

    Every method raises SourceError: ABSENT without a socket, PERMISSION without root, MALFORMED for an answer that is
    none of irqbalance's, FAILED where somebody else answers, or nobody within five seconds.
    """

    def __init__(self, pid: int, run: str = RUN) -> None:
        self.pid = pid
        self.path = f"{run}/irqbalance{pid}.sock"

    def setup(self) -> IrqbalanceSetup:
        """What it was told: its interval and the interrupts banned by number, on its command line or here."""
        return self._understood("setup", irqbalance_answers.setup)

    def balanced(self) -> frozenset[int]:
        """The interrupts that it places since its last look."""
        return self._understood("stats", irqbalance_answers.balanced)

    def ban(self, irqs: Iterable[int]) -> None:
        """Gives it the whole list of interrupts to leave alone by number, in place of the one it has.

        It acts on it at its next look, before it moves anything, and places all that is not banned anew then. --banmod
        and policy scripts are lists of their own, which this leaves. UNSUPPORTED where it would not read all of it.
        Interrupt 0 is put first: anywhere else it would end the list (``while ((irq = strtoul(…)))``).
        """
        numbers = list(dict.fromkeys(irqs))
        if not all(0 <= irq <= MAX_IRQ for irq in numbers):
            raise SourceError(self.path, Reason.MALFORMED, "not all are numbers of interrupts")
        numbers.sort(key=bool)  # stable: others' bans stay before ours
        command = f"settings ban irqs {' '.join(map(str, numbers)) or 'NONE'}"
        if len(command) >= MAX_COMMAND:
            raise SourceError(
                self.path,
                Reason.UNSUPPORTED,
                f"a list of {len(numbers)} interrupts is longer than the {MAX_COMMAND} bytes that irqbalance reads",
            )
        self._ask(command)

    def _understood(self, command: str, parse: Callable[[str], T]) -> T:
        answer = self._ask(command)
        if not answer:
            hint = None if os.geteuid() == 0 else RUN_AS_ROOT
            reason = Reason.EMPTY if hint is None else Reason.PERMISSION
            raise SourceError(
                self.path, reason, f"irqbalance closed the connection without an answer to {command}", hint
            )
        try:
            return parse(answer.decode("utf-8", "backslashreplace"))
        except ParseError as error:
            raise SourceError(self.path, Reason.MALFORMED, f"the answer to {command}: {error.detail}") from None

    def _ask(self, command: str) -> bytes:
        deadline = time.monotonic() + TIMEOUT_S
        try:
            with self._connected() as connection:
                credentials = (socket.SOL_SOCKET, socket.SCM_CREDENTIALS, self._credentials())
                connection.sendmsg([command.encode()], [credentials])
                try:
                    return self._answer(connection, deadline)
                except BaseException:
                    _leave_waiting(connection)
                    raise
        except TimeoutError:
            raise SourceError(
                self.path, Reason.FAILED, f"irqbalance (pid {self.pid}) did not answer within {TIMEOUT_S:g} s"
            ) from None
        except OSError as error:
            raise SourceError(self.path, Reason.FAILED, error.strerror or str(error)) from None

    @staticmethod
    def _credentials() -> bytes:
        return _UCRED.pack(os.getpid(), os.geteuid(), os.getegid())

    def _connected(self) -> socket.socket:
        """A connection to that process and no other; by the file, else by the abstract name."""
        connection = self._open(self.path)
        if connection is None:
            connection = self._open(ABSTRACT)
        if connection is None:
            raise SourceError(
                self.path,
                Reason.ABSENT,
                f"irqbalance (pid {self.pid}) has no socket: it was built without its user interface, or has no {RUN}",
            )
        peer, uid, _ = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
        if peer != self.pid:
            connection.close()
            raise SourceError(
                self.path,
                Reason.FAILED,
                f"process {peer} of user {uid} answers there, and not irqbalance (pid {self.pid})",
            )
        return connection

    def _open(self, address: str | bytes) -> socket.socket | None:
        """None where nobody listens there."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            connection.settimeout(TIMEOUT_S)
            connection.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            return None
        except BlockingIOError:  # its backlog of one is full
            connection.close()
            raise TimeoutError from None
        except PermissionError:
            connection.close()
            raise SourceError(self.path, Reason.PERMISSION, "its socket may not be used", RUN_AS_ROOT) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _answer(self, connection: socket.socket, deadline: float) -> bytes:
        """All that comes until it closes, which it does after a command without an answer too: then it was heard."""
        said = bytearray()
        while True:
            connection.settimeout(max(0.001, deadline - time.monotonic()))
            chunk = connection.recv(_CHUNK)
            if not chunk:
                return bytes(said)
            said += chunk
            if len(said) > MAX_ANSWER:
                raise SourceError(self.path, Reason.TOO_LARGE, f"the answer is longer than {MAX_ANSWER} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError


def _leave_waiting(connection: socket.socket) -> None:
    """Keeps the connection open until irqbalance has closed it. Its backlog of one keeps these processes few."""
    actions = (os.POSIX_SPAWN_DUP2, connection.fileno(), 0), *_NOWHERE
    with suppress(OSError):
        connection.settimeout(None)  # which is of the connection, and so of that process too
        os.posix_spawn(sys.executable, [sys.executable, "-ISc", _WAITING], {}, file_actions=actions, setsid=True)
