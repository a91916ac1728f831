"""What ends a load before its time, as one line."""

from __future__ import annotations


class LoadError(Exception):
    """A load could not be run to its end: refused, a wrong token, the server died, a program failed."""
