"""What a measurer does at the edges of the measured seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hooks:
    """Called in our own process as the measured seconds begin and end, while the load runs."""

    began: Callable[[], None] | None = None
    ended: Callable[[], None] | None = None


NO_HOOKS = Hooks()
