"""One SQLite file, its owner's alone: opened, made and migrated; every trouble with it is one StoreError.

WAL, so that a list can be read while a trial writes; https://www.sqlite.org/wal.html.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from tuneagent.record.errors import StoreError, Trouble
from tuneagent.record.migrations import APPLICATION_ID, MIGRATIONS

BUSY_S = 5.0
"""How long one waits for another writer: each writes for milliseconds."""
_FILE_MODE, _DIRECTORY_MODE = 0o600, 0o700
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_FLOCK = "hhqqi"  # struct flock, with the alignment that the compiler gives it
_WHOLE_SETUP = 0
_FORBIDDEN = frozenset({errno.EPERM, errno.EACCES, errno.EROFS, errno.ELOOP})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DAMAGED = "the database is damaged"
_NO_TEXT = "Could not decode to UTF-8"
"""What Python says of a column; it has no code."""
_TROUBLES = {
    sqlite3.SQLITE_FULL: (Trouble.FULL, "the disk is full"),
    sqlite3.SQLITE_BUSY: (Trouble.BUSY, f"another process has been writing to it for more than {BUSY_S:g} s"),
    sqlite3.SQLITE_LOCKED: (Trouble.BUSY, "this process is writing to it already"),
    sqlite3.SQLITE_CORRUPT: (Trouble.CORRUPT, _DAMAGED),
    sqlite3.SQLITE_NOTADB: (Trouble.CORRUPT, "no database, or a damaged one"),
    sqlite3.SQLITE_READONLY: (Trouble.FORBIDDEN, "it cannot be written"),
    sqlite3.SQLITE_PERM: (Trouble.FORBIDDEN, "not permitted"),
    sqlite3.SQLITE_CANTOPEN: (Trouble.FORBIDDEN, "it, or the -wal and -shm beside it, cannot be opened"),
}


class Locks:
    """Bytes of the file beside the database that are locked as long as something goes on (F_OFD_SETLK).

    The kernel lets them go with the process, however that ends; unlike the number of a process, no other can have one
    later. Byte 0 is setting up, byte n the running of trial n.
    """

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, _OPEN | os.O_CREAT, _FILE_MODE)
        self._mine: set[int] = set()

    def take(self, byte: int, *, wait: bool = False) -> None:
        """Locks a byte; BlockingIOError where another has it and one does not ``wait``."""
        fcntl.fcntl(self._fd, fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK, _byte(fcntl.F_WRLCK, byte))
        self._mine.add(byte)

    def drop(self, byte: int) -> None:
        """Lets it go, where this process has it."""
        if byte not in self._mine:
            return
        fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, _byte(fcntl.F_UNLCK, byte))
        self._mine.discard(byte)

    def is_held(self, byte: int) -> bool:
        """Whether somebody has it."""
        if byte in self._mine:
            return True
        answer = fcntl.fcntl(self._fd, fcntl.F_OFD_GETLK, _byte(fcntl.F_WRLCK, byte))
        return bool(struct.unpack(_FLOCK, answer[: struct.calcsize(_FLOCK)])[0] != fcntl.F_UNLCK)

    def close(self) -> None:
        """Lets all go."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _byte(kind: int, place: int) -> bytes:
    return struct.pack(_FLOCK + "4x", kind, os.SEEK_SET, place, 1, 0)


@dataclass(frozen=True, slots=True)
class Opened:
    """A database in use."""

    connection: sqlite3.Connection
    locks: Locks
    identity: tuple[int, int]
    """Of the file that was opened: whoever removes it or moves another there leaves us one that nobody finds."""

    def is_at(self, path: str) -> bool:
        """Whether that file is still the one at ``path``."""
        try:
            return _identity(path) == self.identity
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Lets go of all of it."""
        self.connection.close()
        self.locks.close()


def opened(path: str, *, make: bool) -> Opened:
    """The database at an absolute ``path``, at the newest schema. StoreError; MISSING where it may not be made."""
    with errors(path):
        _prepare(path, make=make)
        identity = _identity(path)
        locks = Locks(f"{path}-lock")
        try:
            return Opened(_connected(path, locks), locks, identity)
        except BaseException:
            locks.close()
            raise


def _identity(path: str) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_dev, status.st_ino


def _connected(path: str, locks: Locks) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA foreign_keys = ON")
        locks.take(_WHOLE_SETUP, wait=True)
        try:
            _set_up(connection, path)
        finally:
            locks.drop(_WHOLE_SETUP)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection, path: str) -> None:
    version = _one(connection, "PRAGMA user_version")
    tables = _one(connection, "SELECT count(*) FROM sqlite_schema")
    if (version or tables) and _one(connection, "PRAGMA application_id") != APPLICATION_ID:
        raise StoreError(path, "a database of something else than trials", Trouble.FOREIGN)
    if version > len(MIGRATIONS):
        said = f"made by a newer version of tuneagent (schema {version}; this one knows {len(MIGRATIONS)})"
        raise StoreError(path, said, Trouble.NEWER)
    if version == len(MIGRATIONS):
        return
    connection.execute("PRAGMA journal_mode = WAL")
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        with writing(connection):
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number}")


def _one(connection: sqlite3.Connection, question: str) -> int:
    return int(connection.execute(question).fetchone()[0])


@contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction: all of it is on the disk afterwards, or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite has rolled back by itself where the disk is full
            connection.execute("ROLLBACK")
        raise


@contextmanager
def errors(path: str) -> Iterator[None]:
    """What SQLite and the kernel say, as a StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(path, error) from error
    except UnicodeDecodeError as error:  # of SQLite's own message, which quotes the schema that it cannot read
        raise StoreError(path, _DAMAGED, Trouble.CORRUPT) from error
    except FileNotFoundError as error:
        raise StoreError(path, "no such file", Trouble.MISSING) from error
    except OSError as error:
        kind = Trouble.FORBIDDEN if error.errno in _FORBIDDEN else Trouble.FAILED
        kind = Trouble.FULL if error.errno in _FULL else kind
        raise StoreError(path, error.strerror or str(error), kind) from error


def _translated(path: str, error: sqlite3.Error) -> Exception:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None and str(error).startswith(_NO_TEXT):
        return StoreError(path, _DAMAGED, Trouble.CORRUPT)
    if code is None:  # a fault of ours, which keeps its traceback
        return error
    if code in {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_SHMSIZE}:
        return StoreError(path, "the disk does not take it: a limit, a quota, or a fault", Trouble.FULL)
    kind, words = _TROUBLES.get(code & 0xFF, (Trouble.FAILED, str(error)))
    return StoreError(path, words, kind)


def _prepare(path: str, *, make: bool) -> None:
    directory = os.path.dirname(path)
    if make and not os.path.lexists(directory):
        with suppress(FileExistsError):  # another process made it just now
            os.makedirs(directory, _DIRECTORY_MODE)
    _refuse_untrusted(directory, stat.S_IFDIR)
    if make:
        with suppress(FileExistsError):
            os.close(os.open(path, _OPEN | os.O_CREAT | os.O_EXCL, _FILE_MODE))
    _refuse_untrusted(path, stat.S_IFREG)


def _refuse_untrusted(path: str, kind: int) -> None:
    """The rules that the journals' directory has: what others may change counts for nothing."""
    status = os.lstat(path)
    if stat.S_IFMT(status.st_mode) != kind:
        raise StoreError(path, f"not a {'directory' if kind == stat.S_IFDIR else 'file'} of its own", Trouble.FORBIDDEN)
    if status.st_uid not in {0, os.geteuid()}:
        raise StoreError(path, f"belongs to user {status.st_uid}", Trouble.FORBIDDEN)
    if status.st_mode & _OTHERS_MAY_WRITE:
        raise StoreError(path, "others than its owner may write it", Trouble.FORBIDDEN)
    if kind == stat.S_IFREG and status.st_nlink > 1:
        raise StoreError(path, "has a further hard link", Trouble.FORBIDDEN)
