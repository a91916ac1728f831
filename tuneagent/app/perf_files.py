"""Kept profiles and texts of perf as profiles and waits; what cannot be used is one line with its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import click

from tuneagent.app.inputs import LONGEST_LINE, InputError, json_value
from tuneagent.model.contention import ImportedLocks, LockRecord
from tuneagent.model.errors import ParseError
from tuneagent.model.profile import Profile, ProfileDelta
from tuneagent.parse import perf_diff, perf_kind, perf_lock_contention, perf_report, perf_script, stored_profile
from tuneagent.parse.perf_kind import PerfText
from tuneagent.parse.perf_script import PerfScript
from tuneagent.report.safe import safe

LARGEST_FILE_BYTES = 64 * 1024 * 1024
BEGINNING = 4096
UNENDED = "no newline ends the last line: it may be cut off, and with it a name"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Told:
    """What a file says; one of the four, but a script can hold two."""

    file: Path
    profile: Profile | None = None
    deltas: tuple[ProfileDelta, ...] | None = None
    locks: ImportedLocks | None = None
    record: LockRecord | None = None
    fault: ParseError | None = None
    """The first line that was not understood, beside what was."""
    unended: int | None = None
    """The number of a last line that no newline ends: perf ends each, so a name in it may be half a name."""


def read(file: Path) -> Told:
    """What the file holds, whichever kind it is. InputError for one that cannot be read or is of no kind."""
    text = _text(file)
    if text.lstrip()[:1] == "{":
        value = json_value(file, text, "a profile")
        return Told(file, profile=_from(file, _placed(file, lambda: stored_profile.parse(value))))
    told = _of_perf(file, text)
    return told if text.endswith("\n") else _unended(told, text.count("\n") + 1)


def _of_perf(file: Path, text: str) -> Told:
    kind = _placed(file, lambda: perf_kind.recognise(text))
    match kind:
        case PerfText.SCRIPT:
            return _script(file, _placed(file, lambda: perf_script.parse(text)))
        case PerfText.REPORT:
            return Told(file, profile=_from(file, _placed(file, lambda: perf_report.parse(text))))
        case PerfText.DIFF:
            return Told(file, deltas=_placed(file, lambda: perf_diff.parse(text)))
        case PerfText.LOCKS:
            return Told(file, locks=_placed(file, lambda: perf_lock_contention.parse(text)))


def profile(file: Path) -> Profile:
    """The profile that the file holds; InputError where it holds something else."""
    told = read(file)
    if told.profile is None:
        raise InputError(f"{file}: {_no_profile(told)}")
    warn(told)
    return told.profile


def warn(told: Told) -> None:
    """Says on standard error what of a file that is used was not understood: its limits say it too."""
    if told.fault is not None:
        place = told.file if told.fault.line is None else f"{told.file}:{told.fault.line}"
        click.echo(safe(f"tuneagent: {place}: {told.fault.detail}; the rest is used", LONGEST_LINE), err=True)
    if told.unended is not None:
        click.echo(safe(f"tuneagent: {told.file}:{told.unended}: {UNENDED}; it is used", LONGEST_LINE), err=True)


def _unended(told: Told, line: int) -> Told:
    limit = f"line {line}: {UNENDED}"
    found, record = told.profile, told.record
    return replace(
        told,
        profile=found and replace(found, limits=(limit, *found.limits)),
        record=record and replace(record, limits=(limit, *record.limits)),
        unended=line,
    )


def _no_profile(told: Told) -> str:
    if told.deltas is not None:
        return "a text of perf diff, which is of two profiles: `tuneagent profile diff FILE`"
    return "waits for locks and no profile: `tuneagent contention --import FILE`"


def _script(file: Path, script: PerfScript) -> Told:
    limits = () if script.fault is None else (f"not understood, and left out with what may be like it: {script.fault}",)
    found, record = script.profile, script.locks
    return Told(
        file,
        profile=found and replace(_from(file, found), limits=(*limits, *found.limits)),
        record=record and replace(record, limits=(*limits, *record.limits)),
        fault=script.fault,
    )


def _from(file: Path, told: Profile) -> Profile:
    return replace(told, origin=str(file))


def _placed(file: Path, parse: Callable[[], T]) -> T:
    try:
        return parse()
    except ParseError as error:
        place = file if error.line is None else f"{file}:{error.line}"
        raise InputError(f"{place}: {error.detail}") from error


def _text(file: Path) -> str:
    try:
        # Not stat(): a pipe or a device has no size, and a file can grow.
        with file.open("rb") as opened:
            data = opened.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error
    if len(data) > LARGEST_FILE_BYTES:
        raise InputError(f"{file}: larger than {LARGEST_FILE_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        # Names of commands are bytes: one that is no UTF-8 spoils no report. Of what is no text, which would become
        # four times as large, the beginning is enough to say what it is.
        return (data[:BEGINNING] if b"\0" in data[:BEGINNING] else data).decode("utf-8", "backslashreplace")
