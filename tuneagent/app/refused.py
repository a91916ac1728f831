"""What a command is for cannot be had here: the kernel, a permission or a container is in the way."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click

from tuneagent.app import exits
from tuneagent.app.inputs import LONGEST_LINE
from tuneagent.model.errors import SourceError
from tuneagent.report.safe import safe


class Refused(click.ClickException):
    """One line with the reason, and what would help."""

    exit_code = exits.FAILED

    def __init__(self, error: SourceError) -> None:
        super().__init__(f"{error}; {error.remedy}" if error.remedy else str(error))

    def show(self, file: Any = None) -> None:  # noqa: ARG002 - click's signature
        """On standard error; what a source says cannot steer the terminal."""
        with suppress(OSError):  # that nobody can be told changes no exit code
            click.echo(safe(f"tuneagent: {self.message}", LONGEST_LINE), err=True)
