"""The writing side of a root: values into the kernel's files, and files of the administrator's replaced whole."""

from __future__ import annotations


class WritableRoot:
    """Writes below ``root``; every path is absolute, as seen from there. Raises OSError as the kernel gives it."""

    def __init__(self, root: str = "/") -> None:
        self.root = root

    @property
    def live(self) -> bool:
        """Whether the root is the running machine's own."""
        return self.root == "/"
