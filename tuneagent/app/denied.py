"""What stops a command that changes the machine before it has changed anything, as one line and an exit code."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from tuneagent.app import exits
from tuneagent.app.inputs import LONGEST_LINE
from tuneagent.report.safe import safe

if TYPE_CHECKING:
    from tuneagent.app.writing import Site
    from tuneagent.model.transaction import Transaction

_FORBIDDEN = frozenset({errno.EPERM, errno.EACCES, errno.EROFS})


class Denied(click.ClickException):
    """One line with the reason, and what would help."""

    exit_code = exits.FAILED

    def show(self, file: Any = None) -> None:  # noqa: ARG002 - click's signature
        """On standard error; what a file or a daemon says cannot steer the terminal."""
        with suppress(OSError):  # that nobody can be told changes no exit code
            click.echo(safe(f"tuneagent: {self.message}", LONGEST_LINE), err=True)


class Forbidden(Denied):
    """This process may not."""

    exit_code = exits.FORBIDDEN


class BadRequest(Denied):
    """What was asked for is refused, whoever asks."""

    exit_code = exits.BAD_INPUT


@contextmanager
def told() -> Iterator[None]:
    """An OSError of the state directory as what it means here: not permitted, or failed."""
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        kind = Forbidden if error.errno in _FORBIDDEN else Denied
        raise kind(f"{where}{error.strerror or error}") from error


@contextmanager
def damage() -> Iterator[None]:
    """A journal that cannot be used, as one line; the rest of what it tells is shown by ``--print`` and ``status``."""
    from tuneagent.app.writing import JournalError

    try:
        yield
    except JournalError as error:
        more = "its changes, as far as it tells them: tuneagent rollback ID --print"
        raise Denied(f"{error}; {more}" if error.line is not None else str(error)) from error


def loaded(site: Site, number: int) -> Transaction:
    """A transaction that was named; UsageError where there is none."""
    from tuneagent.app.writing import JournalError

    try:
        return site.load(number)
    except JournalError as error:
        raise click.UsageError(
            f"no transaction {number} in {site.directory.path}; `tuneagent status` lists them"
        ) from error
