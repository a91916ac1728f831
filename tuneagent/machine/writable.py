"""The writing side of a root: values into the kernel's files, and files of the administrator's replaced whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tuneagent.machine import rooted

NEW = ".tuneagent-new"
"""Ends the name under which the new content of a file lies beside it until it takes its place."""
NOT_CARRIED_OVER = frozenset({"security.ima", "security.evm"})
"""Signatures of the old content; the kernel makes those of the new one itself (security/integrity/)."""

_CHUNK = 1 << 16
_TO_WRITE = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TO_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TO_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
Place = tuple[int, str]
"""Descriptor of a directory, and the name of a regular file in it."""


class WritableRoot:
    """Writes below ``root``; every path is absolute, as seen from there, and no link leads out of it.

    Every method raises OSError as the kernel gives it, with the path; no method makes a file where there was none.
    """

    def __init__(self, root: str = "/") -> None:
        self.root = os.path.abspath(root) if root.strip("/") else "/"

    @property
    def live(self) -> bool:
        """Whether the root is the running machine's own."""
        return self.root == "/"

    def write_value(self, path: str, text: str) -> None:
        """Hands the kernel a value in one write of the whole, as it is: a newline is the caller's.

        A short write is EIO, and an error at close counts: some files say only then what became of the value. The
        empty value is EINVAL, because a write of no bytes sets nothing and succeeds.
        """
        with self._at(path) as (directory, name):
            data = text.encode()
            if not data:
                raise OSError(errno.EINVAL, "an empty value cannot be written")
            with _closing(os.open(name, _TO_WRITE, dir_fd=directory)) as fd:
                # A kernel's file knows its value from one write. A plain file of a tree keeps the end of a longer one:
                # it is blanked by the same write, so that an end before the cut leaves this value and no other.
                size = 0 if self.live else min(os.fstat(fd).st_size, _CHUNK)
                _write_once(fd, data.ljust(size, b"\n"))
                if not self.live and os.fstat(fd).st_size > len(data):
                    os.ftruncate(fd, len(data))

    def read_bytes(self, path: str, most: int) -> bytes:
        """The whole content; EFBIG where it is more than ``most`` bytes."""
        with _path_in_errors(path):
            fd = rooted.open_file(self.root, path)
            try:
                data = _read(fd, most + 1)
            finally:
                os.close(fd)
            if len(data) > most:
                raise OSError(errno.EFBIG, f"larger than {most} bytes")
            return data

    def replace(self, path: str, data: bytes) -> None:
        """Gives a file this content, whole or not at all; its mode, owner, ACL, SELinux label and other xattrs stay.

        Both the file and its directory are on the disk when this returns. A link at the path stays, and what it leads
        to is replaced. A further hard link keeps the old content.
        """
        with self._at(path) as (directory, name), _closing(os.open(".", _TO_LIST, dir_fd=directory)) as parent:
            beside = name + NEW
            with suppress(FileNotFoundError):  # what an end in the middle of a replacement left behind
                os.unlink(beside, dir_fd=parent)
            try:
                _write_beside((parent, name), beside, data)
                os.rename(beside, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with suppress(OSError):
                    os.unlink(beside, dir_fd=parent)
                raise
            os.fsync(parent)

    def tidy(self, path: str) -> None:
        """Takes away what an end in the middle of ``replace`` left beside a file; usually nothing."""
        with self._at(path) as (directory, name), suppress(FileNotFoundError):
            os.unlink(name + NEW, dir_fd=directory)

    @contextmanager
    def _at(self, path: str) -> Iterator[Place]:
        with _path_in_errors(path), rooted.walk(self.root) as walker:
            name = walker.to(path)
            if name is None:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            # The name is looked at first: opening a device has effects, and a pipe waits for its reader.
            rooted.refuse_special(os.stat(name, dir_fd=walker.directory, follow_symlinks=False).st_mode)
            yield walker.directory, name


@contextmanager
def _path_in_errors(path: str) -> Iterator[None]:
    if not path.startswith("/"):
        raise OSError(errno.EINVAL, "not an absolute path", path)
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), path) from error
    except ValueError as error:  # a NUL, or half a surrogate pair, in a path or a value
        raise OSError(errno.EINVAL, str(error), path) from error


@contextmanager
def _closing(fd: int) -> Iterator[int]:
    """Closes; an error at close is an error, unless there was one before, which tells more."""
    try:
        yield fd
    except BaseException:
        with suppress(OSError):
            os.close(fd)
        raise
    os.close(fd)


def _write_once(fd: int, data: bytes) -> None:
    written = os.write(fd, data)
    if written != len(data):
        raise OSError(errno.EIO, f"only {written} of {len(data)} bytes were taken")


def _write_beside(place: Place, beside: str, data: bytes) -> None:
    parent, name = place
    with (
        _closing(os.open(name, _TO_READ, dir_fd=parent)) as old,
        _closing(os.open(beside, _TO_CREATE, 0o600, dir_fd=parent)) as new,
    ):
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(new, rest) :]
        _carry_over(old, new)
        os.fsync(new)


def _carry_over(old: int, new: int) -> None:
    status = os.fstat(old)
    made = os.fstat(new)
    if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
        os.fchown(new, status.st_uid, status.st_gid)
    os.fchmod(new, status.st_mode & 0o7777)  # after the owner: chown(2) takes set-id bits away
    own = _xattrs(new)
    for name, value in _xattrs(old).items():
        if own.get(name) != value:
            os.setxattr(new, name, value)


def _xattrs(fd: int) -> dict[str, bytes]:
    try:
        names = os.listxattr(fd)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:  # a file system without any
            return {}
        raise
    return {name: os.getxattr(fd, name) for name in names if name not in NOT_CARRIED_OVER}


def _read(fd: int, most: int) -> bytes:
    chunks: list[bytes] = []
    while most > 0 and (chunk := os.read(fd, min(most, _CHUNK))):
        chunks.append(chunk)
        most -= len(chunk)
    return b"".join(chunks)
