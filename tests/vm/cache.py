"""Things that take minutes to make, kept outside the repository and never half-made."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

KEPT_SECONDS = 14 * 24 * 3600.0


def root() -> Path:
    """The cache of these tests: ``$XDG_CACHE_HOME/tuneagent-lab`` (``~/.cache`` where that is not set)."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    directory = Path(base) / "tuneagent-lab"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return directory


def key(*recipe: str) -> str:
    """Sixteen hexadecimal digits that change with any word of the recipe."""
    return hashlib.sha256("\0".join(recipe).encode()).hexdigest()[:16]


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Only one process builds ``name`` at a time; the lock ends with the process that holds it."""
    with (root() / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made(name: str, recipe: tuple[str, ...], build: Callable[[Path], None]) -> Path:
    """The directory ``name-KEY``, built by ``build(directory)`` where it is not there yet.

    It is built beside its place and renamed when whole, so what exists is complete. The seconds it took stand in
    ``built-seconds`` inside. What another recipe of the same name made goes when it was not used for two weeks. A build
    that fails leaves nothing and raises what ``build`` raised.
    """
    place = root() / f"{name}-{key(*recipe)}"
    with locked(name):
        if not place.exists():
            _build_aside(place, build)
            _forget_unused(name)
        os.utime(place)
    return place


def _forget_unused(name: str) -> None:
    oldest = time.time() - KEPT_SECONDS
    for other in root().glob(f"{name}-{'[0-9a-f]' * 16}"):
        if other.stat().st_mtime < oldest:
            shutil.rmtree(other)


def _build_aside(place: Path, build: Callable[[Path], None]) -> None:
    aside = place.with_name(f".{place.name}.unfinished")
    shutil.rmtree(aside, ignore_errors=True)  # left by a process that was killed; the lock is ours
    aside.mkdir(mode=0o755)
    started = time.monotonic()
    try:
        build(aside)
        (aside / "built-seconds").write_text(f"{time.monotonic() - started:.1f}\n")
        aside.rename(place)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
