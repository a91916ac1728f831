"""What a command in a machine gave back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Completed:
    """The command as shell text, its exit code, and both its streams with bytes that are no UTF-8 escaped."""

    command: str
    returncode: int
    stdout: str
    stderr: str

    def checked(self) -> str:
        """The standard output of a command that must have succeeded; an AssertionError with its errors otherwise."""
        assert self.returncode == 0, f"{self.command!r} gave {self.returncode}: {self.stderr or self.stdout}"
        return self.stdout
