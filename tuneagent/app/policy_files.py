"""The policies that ship with tuneagent and those that a user names, read from their files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import click

import tuneagent
from tuneagent.app.inputs import InputError
from tuneagent.model.policy import Policy
from tuneagent.plan.fault import PolicyError
from tuneagent.plan.policy_load import load

MOST_FILES = 1000
LARGEST_FILE_BYTES = 64 * 1024
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""What a policy, and so its file, may be called."""


def shipped() -> Path:
    """The directory of the shipped policies: inside the installed package, or beside it in a checkout."""
    package = Path(tuneagent.__file__).parent
    inside = package / "policies"
    return inside if inside.is_dir() else package.parent / "policies"


@cache
def rule_names() -> frozenset[str]:
    """Every rule's name. By their pages, for the rules themselves are forty modules that an apply has no use for."""
    return frozenset(path.stem for path in (Path(tuneagent.__file__).parent / "diagnose" / "pages").glob("*.md"))


@cache
def policies(directories: tuple[Path, ...] = ()) -> tuple[Policy, ...]:
    """All policies, shipped ones first, read once; InputError that lists every fault of every file."""
    texts: dict[str, str] = {}
    for directory in (shipped(), *directories):
        texts |= _texts(directory)
    try:
        return load(texts, rule_names())
    except PolicyError as error:
        raise InputError(str(error)) from error


@cache
def named(names: tuple[str, ...], directories: tuple[Path, ...] = ()) -> tuple[Policy, ...]:
    """The policies of these names; where all of them are shipped, no other file is read. UsageError for others."""
    files = [shipped() / f"{name}.yaml" for name in names if _NAME.fullmatch(name)]
    if not directories and len(files) == len(names) and all(map(_is_file, files)):
        return check(list(dict.fromkeys(files)))
    every = {policy.name: policy for policy in policies(directories)}
    for name in names:
        if name not in every:
            raise click.UsageError(f"no policy {name!r}; there are: {', '.join(sorted(every))}")
    return tuple(every[name] for name in dict.fromkeys(names))


def _is_file(path: Path) -> bool:
    with suppress(OSError):
        return path.is_file()
    return False


def check(paths: Sequence[Path]) -> tuple[Policy, ...]:
    """The policies in these files and directories alone."""
    texts: dict[str, str] = {}
    for path in paths:
        texts |= _texts(path) if _is_directory(path) else {str(path): _text(path)}
    try:
        return load(texts, rule_names())
    except PolicyError as error:
        raise InputError(str(error)) from error


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _texts(directory: Path) -> dict[str, str]:
    try:
        return _texts_of(directory)
    except OSError as error:
        raise InputError(f"{directory}: {error.strerror or error}") from error


def _texts_of(directory: Path) -> dict[str, str]:
    if not directory.is_dir():
        raise InputError(f"{directory}: no such directory of policies")
    files = sorted(path for path in directory.iterdir() if path.suffix in {".yaml", ".yml"})
    if len(files) > MOST_FILES:
        raise InputError(f"{directory}: {len(files)} files; at most {MOST_FILES} policies are read")
    return {str(path): _text(path) for path in files}


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise InputError(f"{path}: not a regular file")
        if path.stat().st_size > LARGEST_FILE_BYTES:
            raise InputError(f"{path}: larger than {LARGEST_FILE_BYTES} bytes; not a policy")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from error
