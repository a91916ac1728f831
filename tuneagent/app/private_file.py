"""Writing a file that tells about a machine: whole or not at all, for its owner alone, and through nothing planted."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from tuneagent.app.inputs import InputError

MODE = 0o600


def write(file: Path, text: str, *, over: bool) -> None:
    """Write ``text``; ``over`` replaces a regular file that is there. As :func:`write_pieces`."""
    write_pieces(file, (text,), over=over)


def write_pieces(file: Path, pieces: Iterable[str], *, over: bool) -> None:
    """Write one piece after the other; ``over`` replaces a regular file that is there.

    Raises InputError where something is in the way (a link, a device, a pipe, a directory; a file without ``over``) or
    writing fails; what was there before is then as it was.
    """
    try:
        if not over:
            _create(file, pieces)
            return
        _refuse_special(file)
        beside = file.with_name(f".{file.name}.{os.getpid()}.new")
        _create(beside, pieces)
        beside.replace(file)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error


def check(file: Path, *, over: bool) -> None:
    """Raises the InputError that :func:`write` would, as far as it can be known before there is a text."""
    try:
        if over:
            _refuse_special(file)
        elif os.path.lexists(file):
            raise InputError(f"{file}: {os.strerror(errno.EEXIST)}")
        if not stat.S_ISDIR(file.parent.stat().st_mode):
            raise InputError(f"{file}: {os.strerror(errno.ENOTDIR)}")
        if not os.access(file.parent, os.W_OK | os.X_OK):
            raise InputError(f"{file}: {os.strerror(errno.EACCES)}")
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error


def _create(file: Path, pieces: Iterable[str]) -> None:
    # O_EXCL follows no link and opens no device: what we write to is ours from its first byte.
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, MODE)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            os.fchmod(out.fileno(), MODE)
            out.writelines(pieces)
            out.flush()
            os.fsync(out.fileno())
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _refuse_special(file: Path) -> None:
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise InputError(f"{file}: not a regular file; it is left alone")
