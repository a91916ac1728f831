"""The processes of a transaction, its writer and its guardian: who they are, and whether they are still there."""

from __future__ import annotations

import os
import pwd
import signal
from contextlib import suppress

from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.transaction import Keeper, Writer
from tuneagent.parse import task_stat
from tuneagent.parse.task_stat import TaskStat

_SSH = "sshd"
"""How the names of OpenSSH's processes begin: sshd, sshd-session."""
_MOST_PARENTS = 64


def this() -> Writer:
    """This process."""
    stat = _stat(os.getpid())
    return Writer(os.getpid(), None if stat is None else stat.start_ticks, _user())


def runs(writer: Writer) -> bool:
    """Whether that process runs. Numbers come again: only with the same start is it the same; a zombie does nothing."""
    stat = _stat(writer.pid)
    return (
        stat is not None and not stat.ended and (writer.start_ticks is None or stat.start_ticks == writer.start_ticks)
    )


def keeper(pid: int) -> Keeper | None:
    """A guardian, unmistakably; None where it cannot be seen."""
    stat = _stat(pid)
    return None if stat is None or stat.start_ticks is None else Keeper(pid, stat.start_ticks)


def end(one: Keeper, name: str) -> None:
    """Ends a guardian that still waits, which goes by ``name``; once it undoes it has another, and is left alone.

    What cannot be ended (pidfd_open(2) came with Linux 5.3) wakes at its deadline and finds nothing to do.
    """
    with suppress(OSError):
        process = os.pidfd_open(one.pid)  # from here on the number cannot come to mean another
        try:
            stat = _stat(one.pid)
            if stat is not None and (stat.name, stat.start_ticks) == (name, one.start_ticks):
                signal.pidfd_send_signal(process, signal.SIGKILL)
        finally:
            os.close(process)


def over_ssh() -> bool:
    """Whether a person came in over ssh: sudo takes the variables away, and leaves the parents."""
    if "SSH_CONNECTION" in os.environ:
        return True
    pid = os.getppid()
    for _ in range(_MOST_PARENTS):
        stat = _stat(pid) if pid > 1 else None
        if stat is None:
            return False
        if stat.name.startswith(_SSH):
            return True
        pid = stat.parent
    return False


def _stat(pid: int) -> TaskStat | None:
    try:
        return task_stat.parse(Sysroot("/").read(f"/proc/{pid}/stat").text)
    except (SourceError, ParseError):
        return None


def _user() -> str:
    name = _name(os.geteuid())
    caller = os.environ.get("SUDO_USER", "")
    return f"{name} (sudo: {caller})" if caller and caller != name else name


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
