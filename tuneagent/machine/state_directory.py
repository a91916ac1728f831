"""The directory of the journals: for its owner alone, with one writer at a time, and on the disk when it says so."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

from tuneagent.machine import rooted

DEFAULT = "/var/lib/tuneagent"
LOCK = "lock"
MOST_NAMES = 10_000
MOST_BYTES = 64 * 1024 * 1024
NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
"""What a file here may be called; whatever else lies in the directory is left alone."""

_CHUNK = 1 << 20
_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_TO_READ = os.O_RDONLY | _SAFE
_TO_APPEND = os.O_WRONLY | os.O_APPEND | _SAFE
_TO_LOCK = os.O_RDWR | _SAFE
_TO_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST_PID = 20
_PID = re.compile(rb"[1-9][0-9]{0,6}\n")  # PID_MAX_LIMIT is 4194304


class UntrustedError(OSError):
    """The directory or a file in it is one that somebody else made, or may change: what it says counts for nothing."""


class LockHeldError(OSError):
    """Another process is writing. ``pid`` is what it wrote down about itself; None where that cannot be known."""

    def __init__(self, path: str, pid: int | None) -> None:
        who = f"process {pid}" if pid is not None else "another process"
        super().__init__(errno.EAGAIN, f"{who} is changing this machine: wait for its end, or interrupt it", path)
        self.pid = pid


class Lock:
    """The right to write, until it is released or its process ends, however it ends.

    A child that was forked meanwhile shares it, so that it would outlive its process; ``fileno`` is what the child
    has to close. A program that is executed does not get it.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        """The descriptor that holds it; -1 when it was released."""
        return self._fd

    def release(self) -> None:
        """Gives the right back, also where a child still has the descriptor; again does nothing."""
        if self._fd >= 0:
            fcntl.flock(self._fd, fcntl.LOCK_UN)
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


class StateDirectory:
    """Files below ``path``, an absolute path seen from ``root``, which no link leads out of.

    Every method raises OSError: UntrustedError where the directory or the file is a link, belongs to others than root
    and this process's user, or may be written by more than its owner; EINVAL for a name that no file here has.
    The directory is made, 0700, by the first ``lock`` or ``append``; files are 0600.
    """

    def __init__(self, path: str = DEFAULT, *, root: str = "/") -> None:
        self._root = os.path.abspath(root) if root.strip("/") else "/"
        self._below = path

    @property
    def path(self) -> str:
        """Where it is, for people."""
        return f"{self._root.rstrip('/')}{self._below}"

    def lock(self) -> Lock:
        """Takes the one right to write; LockHeldError at once where another process has it."""
        with self._errors(LOCK), self._directory(make=True) as directory:
            fd, _ = _open(directory, f"{self.path}/{LOCK}", _TO_LOCK, make=True)
            try:
                self._take(fd)
            except BaseException:
                os.close(fd)
                raise
            return Lock(fd)

    def append(self, name: str, data: bytes, *, durable: bool, new: bool = False) -> None:
        """Adds to the end of a file, which is made where it is not there; FileExistsError for a ``new`` one that is.

        ``durable``: it is on the disk when this returns. Where it does not fit (ENOSPC, EFBIG, EDQUOT) the file is cut
        back to what it was, so that no half of a record stands before the next one.
        """
        with self._errors(name), self._directory(make=True) as directory:
            path = self._file(name)
            fd, made = _make_new(directory, path) if new else _open(directory, path, _TO_APPEND, make=True)
            try:
                _add(fd, data)
                if durable:
                    os.fsync(fd)
            finally:
                os.close(fd)
            if made:
                os.fsync(directory)

    def cut(self, name: str, size: int) -> None:
        """Takes away, durably, what stands behind the first ``size`` bytes: the half record of a writer that died."""
        with self._errors(name), self._directory() as directory:
            fd, _ = _open(directory, self._file(name), _TO_APPEND)
            try:
                if os.fstat(fd).st_size > size:
                    os.ftruncate(fd, size)
                    os.fsync(fd)
            finally:
                os.close(fd)

    def read(self, name: str, most: int = MOST_BYTES) -> bytes:
        """A file's whole content; EFBIG where it is more than ``most`` bytes."""
        with self._errors(name), self._directory() as directory:
            fd, _ = _open(directory, self._file(name), _TO_READ)
            try:
                data = _read(fd, most + 1)
            finally:
                os.close(fd)
            if len(data) > most:
                raise OSError(errno.EFBIG, f"larger than {most} bytes")
            return data

    def names(self) -> tuple[str, ...]:
        """The files here, sorted, without the lock; () where there is no directory yet. E2BIG above 10,000 of them."""
        found: list[str] = []
        try:
            with self._errors(), self._directory() as directory, os.scandir(directory) as entries:
                for seen, entry in enumerate(entries):
                    if seen >= MOST_NAMES:
                        raise OSError(errno.E2BIG, f"more than {MOST_NAMES} files")
                    if NAME.fullmatch(entry.name) and entry.name != LOCK:
                        found.append(entry.name)
        except FileNotFoundError:
            return ()
        return tuple(sorted(found))

    def remove(self, name: str) -> None:
        """Takes a file away, durably."""
        with self._errors(name), self._directory() as directory:
            os.unlink(_checked(name), dir_fd=directory)
            os.fsync(directory)

    def _take(self, fd: int) -> None:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LockHeldError(f"{self.path}/{LOCK}", _pid(os.pread(fd, _LONGEST_PID, 0))) from None
        with suppress(OSError):  # a full disk must not keep anybody from undoing
            os.ftruncate(fd, 0)
            os.pwrite(fd, b"%d\n" % os.getpid(), 0)

    def _file(self, name: str) -> str:
        return f"{self.path}/{_checked(name)}"

    @contextmanager
    def _directory(self, *, make: bool = False) -> Iterator[int]:
        # Looked at anew each time: what was trustworthy at the start of a long run need not be at its end.
        try:
            fd = self._opened()
        except FileNotFoundError:
            if not make:
                raise
            self._make()
            fd = self._opened()
        try:
            _refuse_untrusted(os.fstat(fd), stat.S_IFDIR, self.path)
            yield fd
        finally:
            os.close(fd)

    def _opened(self) -> int:
        with rooted.walk(self._root) as walker:
            name = walker.to(self._below, follow=False) or "."
            status = os.stat(name, dir_fd=walker.directory, follow_symlinks=False)
            _refuse_untrusted(status, stat.S_IFDIR, self.path)
            return os.open(name, _TO_LIST, dir_fd=walker.directory)

    def _make(self) -> None:
        parts = [part for part in self._below.split("/") if part]
        for count in range(1, len(parts) + 1):
            last = count == len(parts)
            with rooted.walk(self._root) as walker, suppress(FileExistsError):
                name = walker.to("/".join(parts[:count]), follow=not last)
                if name is not None:
                    os.mkdir(name, 0o700 if last else 0o755, dir_fd=walker.directory)
                    _sync(walker.directory)

    @contextmanager
    def _errors(self, name: str | None = None) -> Iterator[None]:
        path = self.path if name is None else f"{self.path}/{name}"
        try:
            yield
        except (UntrustedError, LockHeldError):
            raise
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), path) from error
        except ValueError as error:  # a NUL, or half a surrogate pair, in the directory's path
            raise OSError(errno.EINVAL, str(error), path) from error


def _checked(name: str) -> str:
    if not NAME.fullmatch(name) or name == LOCK:
        raise OSError(errno.EINVAL, "no name of a file of this directory")
    return name


def _make_new(directory: int, path: str) -> tuple[int, bool]:
    return os.open(os.path.basename(path), _TO_APPEND | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=directory), True


def _open(directory: int, path: str, flags: int, *, make: bool = False) -> tuple[int, bool]:
    """A descriptor of the file at the end of ``path``, in the directory, and whether it was made."""
    name = os.path.basename(path)
    try:
        # Looked at first: opening a device has effects. And again when it is open, for what it is by then.
        _refuse_untrusted(os.stat(name, dir_fd=directory, follow_symlinks=False), stat.S_IFREG, path)
        fd = os.open(name, flags, dir_fd=directory)
    except FileNotFoundError:
        if not make:
            raise
        with suppress(FileExistsError):  # another process made it just now
            return os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=directory), True
        return _open(directory, path, flags)
    try:
        _refuse_untrusted(os.fstat(fd), stat.S_IFREG, path)
    except BaseException:
        os.close(fd)
        raise
    return fd, False


def _refuse_untrusted(status: os.stat_result, kind: int, path: str) -> None:
    what = "directory" if kind == stat.S_IFDIR else "regular file"
    if stat.S_IFMT(status.st_mode) != kind:
        raise UntrustedError(errno.EPERM, f"not a {what} of its own", path)
    if status.st_uid not in {0, os.geteuid()}:
        raise UntrustedError(errno.EPERM, f"belongs to user {status.st_uid}", path)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UntrustedError(errno.EPERM, "others than its owner may write it", path)
    if kind == stat.S_IFREG and status.st_nlink > 1:
        raise UntrustedError(errno.EPERM, "has a further hard link", path)


def _add(fd: int, data: bytes) -> None:
    before = os.fstat(fd).st_size
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except BaseException:
        with suppress(OSError):
            os.ftruncate(fd, before)
        raise


def _read(fd: int, most: int) -> bytes:
    chunks: list[bytes] = []
    while most > 0 and (chunk := os.read(fd, min(most, _CHUNK))):
        chunks.append(chunk)
        most -= len(chunk)
    return b"".join(chunks)


def _sync(directory: int) -> None:
    fd = os.open(".", _TO_LIST, dir_fd=directory)  # the walk's descriptor is O_PATH, which cannot be synced
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _pid(text: bytes) -> int | None:
    return int(text) if _PID.fullmatch(text) else None
