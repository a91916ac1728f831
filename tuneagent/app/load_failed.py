"""A load that failed, as one line and an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tuneagent.app.denied import Denied
from tuneagent.load.errors import LoadError


@contextmanager
def told() -> Iterator[None]:
    """A LoadError as what the command line says; nothing was changed, whatever it is."""
    try:
        yield
    except LoadError as error:
        raise Denied(str(error)) from error
