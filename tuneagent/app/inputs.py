"""Captured trees and snapshot files as sources of samples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import click

from tuneagent.app import exits
from tuneagent.machine.captured_json import CapturedJsonError, fault
from tuneagent.machine.replay import Replay
from tuneagent.machine.source import Source
from tuneagent.machine.sysroot import Sysroot
from tuneagent.report.safe import safe

SNAPSHOT_SCHEMA = "tuneagent.snapshot/1"
LARGEST_FILE_BYTES = 64 * 1024 * 1024
"""Two samples of 256 CPUs and 1,000 interrupts take 20 MB with their parsed values."""
MOST_VALUES = 4_000_000
"""JSON values of a snapshot file; each takes about 100 bytes of memory, so that small ones can be many."""
LONGEST_LINE = 2000
PARTS_OF_A_TREE = ("proc", "sys", "etc", "run", "captured")


class InputError(click.ClickException):
    """An input that cannot be used: one line with the file and the place."""

    exit_code = exits.BAD_INPUT

    def show(self, file: Any = None) -> None:  # noqa: ARG002 - click's signature
        """One line on standard error, or one a fault; what a file holds or is called cannot steer the terminal."""
        with suppress(OSError):  # that nobody can be told changes no exit code
            self._show()

    def _show(self) -> None:
        for line in self.message.split("\n"):
            click.echo(safe(f"tuneagent: {line}", LONGEST_LINE), err=True)


def trees_as_sources(trees: Sequence[Path]) -> list[Source]:
    """A source for each captured tree; InputError when one is no directory."""
    for tree in trees:
        try:
            _check_tree(tree)
        except OSError as error:
            raise InputError(f"{tree}: {error.strerror or error}") from error
    return [Sysroot(str(tree)) for tree in trees]


def _check_tree(tree: Path) -> None:
    if not tree.is_dir():
        raise InputError(f"{tree}: not a directory")
    if not any((tree / name).is_dir() for name in PARTS_OF_A_TREE):
        raise InputError(f"{tree}: holds no {', '.join(PARTS_OF_A_TREE)}; not a captured tree{_below(tree)}")


def _below(tree: Path) -> str:
    # `snapshot --tree DIR --interval S` makes two trees: DIR itself is then the obvious mistake.
    below = [one for one in (tree / "t0", tree / "t1") if one.is_dir()]
    return f"; below it are: {' '.join(f'--sysroot {one}' for one in below)}" if below else ""


def files_as_sources(files: Sequence[Path]) -> list[Source]:
    """A source for each sample of these snapshot files; InputError for what is no snapshot."""
    return [source for file in files for source in _file_sources(file)]


def _file_sources(file: Path) -> list[Source]:
    document = _document(file)
    if not isinstance(document, dict) or document.get("schema") != SNAPSHOT_SCHEMA:
        raise InputError(f'{file}: not a snapshot: expected an object with "schema": "{SNAPSHOT_SCHEMA}"')
    samples = document.get("samples")
    if not isinstance(samples, list) or not samples:
        raise InputError(f"{file}: samples: expected a list of at least one sample")
    try:
        return [Replay(one) for one in samples]
    except CapturedJsonError as error:
        raise InputError(f"{file}: {error}") from error


def _document(file: Path) -> Any:
    return json_value(file, bounded_text(file, LARGEST_FILE_BYTES, "a snapshot"), "a snapshot")


def json_value(file: Path, text: str, what: str) -> Any:
    """The JSON value of a file's text; InputError, with the place, for what is none or cannot be ``what``."""
    if sum(map(text.count, "[{,")) > MOST_VALUES:
        raise InputError(f"{file}: more than {MOST_VALUES} values; not {what}")
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise InputError(f"{file}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise InputError(f"{file}: nested too deeply; not {what}") from error
    except ValueError as error:  # a constant that JSON lacks, or an integer of thousands of digits
        raise InputError(f"{file}: not JSON: {fault(error)}") from error


def bounded_text(file: Path, most_bytes: int, what: str) -> str:
    """A file's text; InputError for what cannot be read, is no UTF-8, or is too large to be ``what``."""
    try:
        # Not stat(): a pipe or a device has no size, and a file can grow.
        with file.open("rb") as opened:
            data = opened.read(most_bytes + 1)
        if len(data) > most_bytes:
            raise InputError(f"{file}: larger than {most_bytes} bytes; not {what}")
        return data.decode("utf-8")
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 at byte {error.start}") from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
