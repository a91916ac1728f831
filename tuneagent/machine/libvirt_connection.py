"""Connections to libvirt that keep nobody waiting: each has a thread of its own, and an answer has a deadline.

libvirt's calls cannot be interrupted, and a daemon that hangs hangs its clients. The thread that asks is a daemon
thread and alone holds libvirt's objects, so that a call that never ends keeps neither the asker nor the interpreter.
"""

from __future__ import annotations

import errno
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tuneagent.machine.reasons import reason_of
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

SYSTEM = "qemu:///system"
SESSION = "qemu:///session"
SESSION_SOCKETS = ("libvirt/libvirt-sock", "libvirt/virtqemud-sock")
TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 2.0
MOST_WAIT_S = 12.0
REFILL = 0.1
"""Seconds of waiting that each second gives back."""
GRACE_S = 1.0
MOST_DETAIL = 200
INSTALL = (
    "packaging/prepare run .venv, where libvirt is installed; elsewhere pip install libvirt-python, which builds it"
)
START = "start libvirt's daemon (libvirtd or virtqemud), where the domains are libvirt's"
BECOME = "run as root, or as a member of the group libvirt"

T = TypeVar("T")
Question = Callable[[Any], T]
"""What is asked of a libvirt.virConnect, in the connection's thread. Its answer is plain data, no object of libvirt."""


@dataclass(slots=True)
class _Job:
    question: Question[Any]
    answer: queue.SimpleQueue[tuple[Any, BaseException | None]] = field(default_factory=queue.SimpleQueue)


class Patience:
    """How long libvirt is waited for over all connections: MOST_WAIT_S at once, then a tenth of the time that passes.

    However many connections hang, and however often one that is slow is asked, a look ends.
    """

    def __init__(self, most_s: float = MOST_WAIT_S, now: Callable[[], float] = time.monotonic) -> None:
        self._most_s = most_s
        self._now = now
        self._left_s, self._at = most_s, now()

    def left_s(self) -> float:
        """Seconds that may be waited now."""
        now = self._now()
        self._left_s = min(self._most_s, self._left_s + REFILL * (now - self._at))
        self._at = now
        return max(0.0, self._left_s)

    def spend(self, seconds: float) -> None:
        """Takes away what was waited."""
        self._left_s = max(0.0, self.left_s() - seconds)


class Connection:
    """One connection, opened at the first question, and again at the next one where it was lost."""

    def __init__(
        self, uri: str, *, read_only: bool = True, timeout_s: float = TIMEOUT_S, patience: Patience | None = None
    ) -> None:
        self.uri = uri
        self._read_only = read_only
        self._timeout_s = timeout_s
        self._patience = patience
        self._grace_s = GRACE_S  # what others have waited for must not cost it all of its answers
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._unanswered: _Job | None = None
        self._waited_s = 0.0

    def ask(self, question: Question[T]) -> T:
        """The answer to a question.

        Raises SourceError: ABSENT (no libvirt-python, no daemon), PERMISSION, or FAILED, also after the deadline, which
        is sooner where others that share its ``patience`` have used that up; then
        every further question fails at once until the call that hangs has ended.
        """
        libvirt = bindings()
        if self._unanswered is not None and self._unanswered.answer.empty():
            raise self._late()
        if self._thread is None:
            work = _Worker(libvirt, self.uri, self._read_only).work
            self._thread = threading.Thread(target=work, args=(self._jobs,), name="libvirt", daemon=True)
            self._thread.start()
        job = self._unanswered = _Job(question)  # known as such also to who is interrupted while waiting
        self._jobs.put(job)
        answer, failure = self._answer(job)
        self._unanswered = None
        if failure is not None:
            raise failure
        return answer  # type: ignore[no-any-return]  # the job's question is this one

    def close(self) -> None:
        """Ends the connection; waits two seconds at most, and not for a call that hangs. It may be asked again."""
        thread, jobs = self._thread, self._jobs
        hangs = self._unanswered is not None and self._unanswered.answer.empty()
        self._thread, self._jobs, self._unanswered = None, queue.SimpleQueue(), None
        jobs.put(None)
        if thread is not None and not hangs:
            thread.join(CLOSE_TIMEOUT_S)

    def _answer(self, job: _Job) -> tuple[Any, BaseException | None]:
        left_s = self._patience.left_s() if self._patience is not None else self._timeout_s
        wait_s, began = min(self._timeout_s, max(left_s, self._grace_s)), time.monotonic()
        try:
            return job.answer.get(timeout=wait_s)
        except queue.Empty:
            self._waited_s = wait_s
            raise self._late() from None
        finally:
            waited_s = time.monotonic() - began
            if self._patience is not None:
                self._patience.spend(waited_s)
            if waited_s > left_s:
                self._grace_s = max(0.0, self._grace_s - waited_s)

    def _late(self) -> SourceError:
        return SourceError(self.uri, Reason.FAILED, f"libvirt did not answer within {self._waited_s:.3g} s")


class _Worker:
    """The thread's side of a connection."""

    def __init__(self, libvirt: Any, uri: str, read_only: bool) -> None:  # noqa: FBT001 - handed on as it came
        self._libvirt = libvirt
        self._uri = uri
        self._open = libvirt.openReadOnly if read_only else libvirt.open
        self._connection: Any = None

    def work(self, jobs: queue.SimpleQueue[_Job | None]) -> None:
        while (job := jobs.get()) is not None:
            job.answer.put(self._serve(job.question))
        if self._connection is not None:
            self._try(lambda connection: connection.close())
            self._connection = None

    def _serve(self, question: Question[Any]) -> tuple[Any, BaseException | None]:
        """Asks a second time where the first was answered by a connection that had been lost since its last use."""
        was_open = self._connection is not None
        answer, failure = self._try(question)
        if failure is not None and not self._is_alive():
            self._connection = None
            if was_open:
                answer, failure = self._try(question)
        return answer, failure

    def _try(self, question: Question[Any]) -> tuple[Any, BaseException | None]:
        # A failure is made here and raised by the asker: one raised here would carry libvirt's objects out with it.
        try:
            if self._connection is None:
                self._connection = self._open(self._uri)
            return question(self._connection), None
        except self._libvirt.libvirtError as error:
            said = error
        except Exception as error:  # noqa: BLE001 - the asker raises it
            return None, error
        return None, failure_of(self._libvirt, self._uri, said)

    def _is_alive(self) -> bool:
        try:
            return self._connection is not None and self._connection.isAlive() == 1
        except self._libvirt.libvirtError:
            return False


class Connections:
    """The connections to the URIs given, else to the machine's own libvirt."""

    def __init__(self, uris: Sequence[str] = (), *, read_only: bool = True, patience: Patience | None = None) -> None:
        self._uris = tuple(dict.fromkeys(uris))
        self._read_only = read_only
        self._patience = patience if patience is not None else Patience()
        self._opened: dict[str, Connection] = {}

    def all(self) -> tuple[Connection, ...]:
        """One for each URI, in order; the same ones at every question."""
        return tuple(self._of(uri) for uri in self._uris or default_uris())

    def close(self) -> None:
        """Ends them all."""
        for connection in self._opened.values():
            connection.close()

    def _of(self, uri: str) -> Connection:
        return self._opened.setdefault(uri, Connection(uri, read_only=self._read_only, patience=self._patience))


def default_uris() -> tuple[str, ...]:
    """The system's libvirt; of a plain user also the session's, where its daemon runs."""
    run = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    session = os.geteuid() != 0 and any(os.path.exists(f"{run}/{socket}") for socket in SESSION_SOCKETS)
    return (SYSTEM, SESSION) if session else (SYSTEM,)


def bindings() -> Any:
    """The libvirt module, which prints nothing and starts no daemon. SourceError with ABSENT where there is none."""
    try:
        import libvirt  # noqa: PLC0415 - 25 ms and a shared library that guests do without
    except ModuleNotFoundError:
        raise SourceError("libvirt", Reason.ABSENT, "libvirt-python is not installed", INSTALL) from None
    except ImportError as error:
        detail = f"libvirt-python cannot be loaded: {one_line(str(error))}"
        raise SourceError("libvirt", Reason.ABSENT, detail, INSTALL) from None
    # A client of qemu:///session starts its daemon unless told otherwise (remote_driver.c): looking must not.
    os.environ["LIBVIRT_AUTOSTART"] = "0"
    libvirt.registerErrorHandler(_say_nothing, None)
    return libvirt


def _say_nothing(_context: object, _error: object) -> None:
    """Without a handler libvirt prints every error on the terminal, before it raises it."""


def failure_of(libvirt: Any, uri: str, error: Any) -> SourceError:
    """A libvirtError as the reading side's one error (include/libvirt/virterror.h)."""
    code, detail = error.get_error_code(), one_line(error.get_error_message() or str(error))
    if code in _denials(libvirt):
        return SourceError(uri, Reason.PERMISSION, detail, BECOME)
    if code == libvirt.VIR_ERR_NO_SUPPORT:
        return SourceError(uri, Reason.UNSUPPORTED, detail)
    if code != libvirt.VIR_ERR_SYSTEM_ERROR:
        return SourceError(uri, Reason.FAILED, detail)
    number = error.get_int1()  # virReportSystemError puts errno here
    if number in (errno.ENOENT, errno.ECONNREFUSED):
        return SourceError(uri, Reason.ABSENT, detail, START)
    reason = reason_of(number)
    return SourceError(uri, reason, detail, BECOME if reason is Reason.PERMISSION else None)


def _denials(libvirt: Any) -> tuple[int, ...]:
    names = ("OPERATION_DENIED", "AUTH_FAILED", "AUTH_CANCELLED", "AUTH_UNAVAILABLE", "ACCESS_DENIED")
    return tuple(getattr(libvirt, f"VIR_ERR_{name}") for name in names)


def none_answered(name: str, failures: Sequence[SourceError]) -> SourceError:
    """Several connections' failures as one; the first is that of the connection that matters most."""
    details = dict.fromkeys(
        failure.detail if failure.source == "libvirt" else f"{failure.source}: {failure.detail}" for failure in failures
    )
    return SourceError(name, failures[0].reason, "; ".join(details), failures[0].remedy)


def one_line(text: str) -> str:
    """A message of others as one line of at most 200 characters."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(shown.split())[:MOST_DETAIL]
