"""The process that writes a transaction: who it is, and whether it is still there."""

from __future__ import annotations

import os
import pwd

from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.transaction import Writer
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
