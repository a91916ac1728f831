"""Paths inside a directory that is taken for the system root, resolved as openat2(2) does with RESOLVE_IN_ROOT.

Absolute link targets begin at the root and ``..`` stops there. The walk holds a descriptor for every directory on the
way and opens no link, so that a tree that changes under the walk cannot lead it out either. (openat2 itself has no
Python binding, and is refused by older seccomp filters of containers.)
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

MAX_LINKS = 40  # MAXSYMLINKS in include/linux/namei.h
MAX_DEPTH = 128

_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Walk:
    """One walk from the root. Keeps the directories passed, and their names, so that ``..`` knows where it leads.

    Every method raises OSError.
    """

    def __init__(self, root: str) -> None:
        self._fds = [os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
        self._names: list[str] = []
        self._links = 0

    def close(self) -> None:
        """Closes every directory of the walk."""
        for fd in self._fds:
            os.close(fd)
        self._fds = []

    @property
    def directory(self) -> int:
        """Descriptor of the directory reached."""
        return self._fds[-1]

    @property
    def path(self) -> str:
        """The directory reached, as seen from the root."""
        return "/" + "/".join(self._names)

    def to(self, path: str, *, follow: bool = True) -> str | None:
        """Goes to the directory of a path and gives the last name in it; None for the directory itself.

        With ``follow`` a last name that is a link is followed, so that what comes back is not a link.
        """
        todo = _components(path)
        while todo:
            name = todo.pop()
            if name == "..":
                self._up()
            elif not todo:
                target = self._target(name) if follow else None
                if target is None:
                    return name
                todo.extend(self._followed(target))
            else:
                todo.extend(self._enter(name))
        return None

    def _enter(self, name: str) -> list[str]:
        """Enters a directory; where it is a link, gives the components to walk instead."""
        if len(self._fds) > MAX_DEPTH:
            raise OSError(errno.ELOOP, f"more than {MAX_DEPTH} directories deep")
        try:
            self._fds.append(os.open(name, _DIRECTORY, dir_fd=self.directory))
        except NotADirectoryError:
            target = self._target(name)
            if target is None:
                raise
            return self._followed(target)
        self._names.append(name)
        return []

    def _target(self, name: str) -> str | None:
        try:
            return os.readlink(name, dir_fd=self.directory)
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def _followed(self, target: str) -> list[str]:
        self._links += 1
        if self._links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if target.startswith("/"):
            while self._names:
                self._up()
        return _components(target)

    def _up(self) -> None:
        if self._names:
            os.close(self._fds.pop())
            self._names.pop()


def _components(path: str) -> list[str]:
    """Last first, so that pop() gives the next."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


@contextmanager
def walk(root: str) -> Iterator[Walk]:
    """A walk that closes what it opened."""
    walker = Walk(root)
    try:
        yield walker
    finally:
        walker.close()


def open_file(root: str, path: str) -> int:
    """A descriptor of the regular file at a path. The name is looked at first: opening a device has effects."""
    with walk(root) as walker:
        name = walker.to(path)
        if name is None:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        refuse_special(os.stat(name, dir_fd=walker.directory, follow_symlinks=False).st_mode)
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=walker.directory)


def refuse_special(mode: int) -> None:
    """Anything but a regular file may block, or do something, when it is read."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EBADF, "not a regular file")


def open_directory(root: str, path: str) -> int:
    """A descriptor of the directory at a path, for listing."""
    with walk(root) as walker:
        name = walker.to(path) or "."
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=walker.directory)


def mode(root: str, path: str) -> int:
    """st_mode of what a path leads to."""
    with walk(root) as walker:
        return os.stat(walker.to(path) or ".", dir_fd=walker.directory, follow_symlinks=False).st_mode


def resolve_link(root: str, path: str) -> str:
    """Where the link at a path leads, as an absolute path seen from the root. What does not exist is taken as written.

    A captured tree often has a link without what it points to, and its name is the message: ``driver``.
    """
    with walk(root) as walker:
        name = walker.to(path, follow=False)
        target = os.readlink(name or ".", dir_fd=walker.directory)
        here = "/" if target.startswith("/") else walker.path
    joined = _lexical(f"{here}/{target}")
    with suppress(FileNotFoundError, NotADirectoryError), walk(root) as walker:
        name = walker.to(joined)
        return walker.path if name is None else os.path.join(walker.path, name)
    return joined


def _lexical(path: str) -> str:
    done: list[str] = []
    for part in reversed(_components(path)):
        if part != "..":
            done.append(part)
        elif done:
            done.pop()
    return "/" + "/".join(done)
