"""Who may write what a command that changes the machine is told by: root and the caller, and nobody else."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from tuneagent.app.inputs import InputError

MOST_LINKS = 40
"""On the way to one file (MAXSYMLINKS in include/linux/namei.h)."""
_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_USER = re.compile(r"[0-9]{1,10}")


def check_trusted(path: Path) -> None:
    """A policy, a plan, or a directory of policies: what they say is done as root, so that nobody else may write them.

    The file, each directory and link on the way to it, and each policy in a directory must belong to root, to this
    process's user, or under sudo to its caller, and be writable for the owner alone. A directory on the way may be
    sticky instead: there others can add names and take none away. Raises InputError with what to do about it.
    """
    _check(path)
    try:
        inside = [one for one in path.iterdir() if one.suffix in {".yaml", ".yml"}] if path.is_dir() else []
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    for one in sorted(inside):
        _check(one)


def _check(path: Path) -> None:
    trusted = _trusted_users()
    try:
        for where, status, last in _way(path):
            fault = _fault(where, status, trusted, last=last)
            if fault:
                raise InputError(f"{path}: not used to change this machine: {fault}")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL, or half a surrogate pair
        raise InputError(f"{path}: {error}") from error


def _trusted_users() -> frozenset[int]:
    user = os.geteuid()
    caller = os.environ.get("SUDO_UID", "") if user == 0 else ""
    return frozenset({0, user, int(caller)} if _USER.fullmatch(caller) else {0, user})


def _way(path: Path) -> Iterator[tuple[Path, os.stat_result, bool]]:
    """What the kernel passes from / to what the path leads to, links too, and whether it is the end of it."""
    here, links = Path("/"), 0
    todo = list(reversed(path.absolute().parts[1:]))
    yield here, here.lstat(), not todo
    while todo:
        name = todo.pop()
        if name == "..":
            here = here.parent
            if not todo:
                yield here, here.lstat(), True
            continue
        status = (here / name).lstat()
        is_link = stat.S_ISLNK(status.st_mode)
        yield here / name, status, not todo and not is_link
        if not is_link:
            here /= name
            continue
        links += 1
        if links > MOST_LINKS:
            raise InputError(f"{path}: more than {MOST_LINKS} links on the way")
        target = (here / name).readlink()
        todo.extend(part for part in reversed(target.parts) if part != "/")
        here = Path("/") if target.is_absolute() else here


def _fault(where: Path, status: os.stat_result, trusted: frozenset[int], *, last: bool) -> str:
    quoted = shlex.quote(str(where))
    if status.st_uid not in trusted:
        remedy = f"chown root {quoted}" if last else "keep it in a directory of root's or of your own"
        return f"{where} belongs to user {status.st_uid}; look at what it says, then {remedy}"
    if stat.S_ISLNK(status.st_mode) or not status.st_mode & _OF_OTHERS:  # a link's mode means nothing
        return ""
    if status.st_mode & stat.S_ISVTX and stat.S_ISDIR(status.st_mode) and not last:
        return ""
    mode = f"{stat.S_IMODE(status.st_mode):04o}"
    return f"others than its owner may write {where} (mode {mode}); look at what it says, then chmod go-w {quoted}"
