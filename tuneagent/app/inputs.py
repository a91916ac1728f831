"""Where samples come from: this machine, one or two captured trees, or snapshot files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import click

from tuneagent import rates
from tuneagent.app import exits
from tuneagent.machine import own_cost
from tuneagent.machine.captured_json import CapturedJsonError
from tuneagent.machine.live import Live
from tuneagent.machine.replay import Replay
from tuneagent.machine.source import Source
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.observe import snapshot as observe
from tuneagent.report.safe import safe

SNAPSHOT_SCHEMA = "tuneagent.snapshot/1"
LARGEST_FILE_BYTES = 64 * 1024 * 1024
"""Two samples of 256 CPUs and 1,000 interrupts take 20 MB with their parsed values."""
MOST_VALUES = 4_000_000
"""JSON values of a snapshot file; each takes about 100 bytes of memory, so that small ones can be many."""
LONGEST_LINE = 2000
PARTS_OF_A_TREE = ("proc", "sys", "etc", "run", "captured")
Wait = Callable[[float], None]


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


@dataclass(frozen=True, slots=True)
class Sampled:
    """A view, where it came from, and what the sampling cost this process and the commands that it ran."""

    view: View
    origin: str
    sampling_cpu_s: float | None
    waited_s: float


def sample(
    trees: Sequence[Path],
    files: Sequence[Path],
    interval_s: float,
    wait: Wait,
    *,
    stated: bool,
    once: bool = False,
    meanwhile: Callable[[], object] = lambda: None,
) -> Sampled:
    """The view over what the options name; the live machine when they name nothing.

    ``interval_s`` is how long to look at the live machine, and the time between two trees that carry no clock.
    ``meanwhile`` is done while the live machine is left alone between its two samples: loading what comes next costs
    no time beyond the interval then, and its CPU time disturbs neither sample. ``stated`` tells whether the user gave
    the interval: then a clock in the samples that tells of three times as much means that the machine stood still.
    """
    if trees and files:
        raise click.UsageError("--sysroot and --snapshot exclude each other")
    if files:
        return _recorded(files_as_sources(files), f"snapshot {' '.join(map(str, files))}", interval_s, stated=stated)
    if trees:
        return _recorded(trees_as_sources(trees), f"tree {' '.join(map(str, trees))}", interval_s, stated=stated)
    return _live(interval_s, wait, meanwhile, once=once)


def _live(interval_s: float, wait: Wait, meanwhile: Callable[[], object], *, once: bool) -> Sampled:
    source = Live()
    started = own_cost.cpu_seconds()
    before = observe(source)
    first_cost = own_cost.cpu_seconds() - started
    if once:
        return Sampled(rates.alone(before), "this machine", first_cost, 0.0)
    waiting = time.monotonic()
    meanwhile()
    wait(max(0.0, interval_s - (time.monotonic() - waiting)))
    waited = time.monotonic() - waiting
    started = own_cost.cpu_seconds()
    after = observe(source, before)
    cost = first_cost + own_cost.cpu_seconds() - started
    return Sampled(rates.view(before, after, expected_s=interval_s), "this machine", cost, waited)


def _recorded(sources: Sequence[Source], origin: str, interval_s: float, *, stated: bool) -> Sampled:
    if len(sources) > 2:  # noqa: PLR2004 - before and after
        raise InputError(f"{origin}: {len(sources)} samples; one moment or two can be looked at")
    snapshots: list[Snapshot] = []
    for source in sources:
        snapshots.append(observe(source, snapshots[-1] if snapshots else None))
    if len(snapshots) == 1:
        return Sampled(rates.alone(snapshots[0]), origin, None, 0.0)
    view = rates.view(snapshots[0], snapshots[1], interval_s, interval_s if stated else None)
    timed = all(one.clock is not None for one in snapshots)
    return Sampled(replace(view, interval_assumed=not (timed or stated)), origin, None, 0.0)


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
    text = _text(file)
    if sum(map(text.count, "[{,")) > MOST_VALUES:
        raise InputError(f"{file}: more than {MOST_VALUES} values; not a snapshot")
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise InputError(f"{file}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from error
    except RecursionError as error:
        raise InputError(f"{file}: nested too deeply; not a snapshot") from error
    except ValueError as error:  # a constant that JSON lacks, or an integer of thousands of digits
        raise InputError(f"{file}: not JSON: {error}") from error


def _text(file: Path) -> str:
    try:
        # Not stat(): a pipe or a device has no size, and a file can grow.
        with file.open("rb") as opened:
            data = opened.read(LARGEST_FILE_BYTES + 1)
        if len(data) > LARGEST_FILE_BYTES:
            raise InputError(f"{file}: larger than {LARGEST_FILE_BYTES} bytes; not a snapshot")
        return data.decode("utf-8")
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 at byte {error.start}") from error


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
