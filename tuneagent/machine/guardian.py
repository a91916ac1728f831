"""A process that outlives this one and runs a command when this one ends without a word (fork(2), setsid(2)).

It is what undoes a transaction whose writer was killed. SIGKILL leaves the killed no last step, so somebody else has to
wait for it: at the other end of a socket, which the kernel closes whatever a process dies of.
"""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import select
import signal
import socket
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

NAME = "tuneagent-guard"
"""As ps(1) and top(1) show it; TASK_COMM_LEN leaves 15 bytes."""
ANSWER_S = 20.0
"""How long it may take to stand ready: a machine under load forks slowly."""
STEP_MS = 1000
"""poll(2) stands still over a suspend and CLOCK_BOOTTIME does not: the clock is looked at again after this."""
START_TRIES, START_PAUSE_S = 30, 1.0
"""An interpreter that is just being upgraded is back within seconds."""
_READY, _RELEASED = b"ready", b"released"
_IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE)
_WORD_BYTES = 64


@dataclass(frozen=True, slots=True)
class _Task:
    """What a guardian is for."""

    command: tuple[str, ...]
    again_ns: int | None


class Guardian:
    """Watches over this process from the moment it is made, and runs ``command`` once when this process ends.

    With ``again_ns``, a moment of CLOCK_BOOTTIME, it runs it then as well: a process that is killed may have done all
    but said :meth:`keep_until`, and what is not to be undone at once is to be undone then.

    It holds no file, lock or terminal of this process, is in a session of its own, and is nobody's child: none of it
    stays behind as a zombie. ``command`` starts with an absolute path and runs in ``/``, without standard streams and
    with SIGINT, SIGHUP, SIGTERM and SIGPIPE ignored. OSError where no process can be made (EAGAIN, ENOMEM).
    """

    def __init__(self, command: Sequence[str], *, again_ns: int | None = None) -> None:
        self._line, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with other:
                _fork_away(other.fileno(), _Task(tuple(command), again_ns))
            self._line.settimeout(ANSWER_S)
            self.pid = _pid_of_ready(self._line.recv(_WORD_BYTES))
            """Its number; its process is called NAME as long as it waits."""
        except BaseException:
            self._line.close()
            raise

    def release(self) -> None:
        """Ends it: there is nothing to undo any more. One that is gone or was released already is no error."""
        if self._line.fileno() < 0:
            return
        with suppress(BrokenPipeError, ConnectionResetError):
            self._line.send(_RELEASED)
        self._line.close()

    def keep_until(self, boottime_ns: int) -> None:
        """From now on it runs the command at this moment of CLOCK_BOOTTIME, and not when this process ends.

        :meth:`release` still calls it off. OSError (EPIPE) where the guardian is gone: somebody killed it.
        """
        self._line.send(str(boottime_ns).encode())

    def close(self) -> None:
        """Leaves it to itself, as the end of this process does: with no moment to wait for, it runs the command now."""
        self._line.close()


def _pid_of_ready(answer: bytes) -> int:
    word, _, pid = answer.partition(b" ")
    if word == _READY:
        return int(pid)
    number = int(answer) if answer.isdigit() else errno.ECHILD
    raise OSError(number, f"no guardian process: {os.strerror(number)}")


def _fork_away(line: int, task: _Task) -> None:
    """Has a guardian made by a child that is gone when this returns.

    What runs in the child is our own few steps and nothing else of this process: no handler of a signal, no finalizer
    of an object, whose sockets and threads are not the child's.
    """
    collecting = gc.isenabled()
    gc.disable()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = _fork()
        if pid == 0:
            _between(line, task, mask)
        with suppress(ChildProcessError):  # whoever started us may have SIGCHLD ignored
            os.waitpid(pid, 0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if collecting:
            gc.enable()


def _fork() -> int:
    with warnings.catch_warnings():
        # Python 3.12 warns where there are threads: what they hold locked stays so in the child, who asks for none.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _between(line: int, task: _Task, mask: Iterable[int]) -> NoReturn:
    """The child in between: lets go of all that is the parent's, forks the guardian, ends."""
    try:
        line = fcntl.fcntl(line, fcntl.F_DUPFD_CLOEXEC, 3)
        try:
            os.setsid()
            os.chdir("/")
            _let_go_of_files(line)
            _let_go_of_signals()
            if os.fork() == 0:
                _guard(line, task, mask)
        except OSError as error:
            os.write(line, str(error.errno).encode())
    finally:
        os._exit(0)


def _let_go_of_files(line: int) -> None:
    """Locks of flock(2) belong to the open file: they are held until the last descriptor of it is closed."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != line:  # noqa: PLR2004 - the standard streams
            with suppress(OSError):  # the one that the list was read through
                os.close(int(name))


def _let_go_of_signals() -> None:
    for number in signal.valid_signals():
        # The C library keeps some for itself, and SIGKILL and SIGSTOP are nobody's.
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN if number in _IGNORED else signal.SIG_DFL)


def _guard(line: int, task: _Task, mask: Iterable[int]) -> NoReturn:
    try:
        with suppress(OSError):  # a name is for people, and a read-only /proc no reason to go without a guardian
            _tell_name()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.write(line, b"%s %d" % (_READY, os.getpid()))
        if _is_due(line, task):
            _run(task.command)
    finally:
        os._exit(127)


def _tell_name() -> None:
    comm = os.open("/proc/self/comm", os.O_WRONLY)
    os.write(comm, NAME.encode())
    os.close(comm)


def _is_due(line: int, task: _Task) -> bool:
    """Waits for a word, the parent's end or the moment. Whether the command is to be run."""
    moment: int | None = None
    watch = select.poll()
    watch.register(line, select.POLLIN)
    while moment is None or _boottime_ns() < moment:
        if not watch.poll(None if moment is None else _step_ms(moment)):
            continue
        word = _word(line)
        if word == _RELEASED:
            return False
        if word:
            moment = int(word)
            continue
        watch.unregister(line)
        if moment is None:
            moment = task.again_ns
            if moment is None or moment <= _boottime_ns() or not _run_beside(task.command):
                return True
    return True


def _word(line: int) -> bytes:
    """What the parent says; nothing where it has ended."""
    try:
        return os.read(line, _WORD_BYTES)
    except OSError:  # ECONNRESET: it ended before it had read that we are ready
        return b""


def _step_ms(moment: int) -> int:
    left_ns = moment - _boottime_ns()
    return max(1, min(STEP_MS, -(-left_ns // 1_000_000)))


def _boottime_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def _run_beside(command: tuple[str, ...]) -> bool:
    """Runs it to its end in a process of its own. False where there can be none: then now is better than later."""
    try:
        pid = os.fork()
    except OSError:
        return False
    if pid == 0:
        try:
            _run(command)
        finally:
            os._exit(127)
    os.waitpid(pid, 0)
    return True


def _run(command: tuple[str, ...]) -> None:
    for _ in range(START_TRIES):
        with suppress(OSError):
            os.execv(command[0], command)  # noqa: S606 - the command is ours, and a shell has no part in it
        time.sleep(START_PAUSE_S)
