"""Debian packages fetched and unpacked without installing them: apt with a state of its own, the machine's mirrors."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.vm import cache

SUITE = "bookworm"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
TARGETS = ("apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages")


class PackageError(Exception):
    """apt or dpkg refused; the message holds the last lines of what they said."""


@dataclass(frozen=True, slots=True)
class Mirrors:
    """Where this machine's own apt gets Debian from."""

    main: str
    security: str


def mirrors() -> Mirrors:
    """The URIs of the machine's own sources, as apt itself reads them (either format of sources file).

    Raises PackageError where they name no Debian archive with a security suite.
    """
    rows = [line.split() for line in _checked(*TARGETS).splitlines()]
    uris = {row[0]: row[1] for row in rows if len(row) == 2}
    security = next((uri for release, uri in uris.items() if release.endswith("-security")), None)
    main = next((uri for release, uri in uris.items() if f"{release}-security" in uris), None)
    if main is None or security is None:
        raise PackageError("apt's sources of this machine name no Debian release with its security suite")
    return Mirrors(main, security)


def sources() -> str:
    """A sources.list of Debian 12 with updates, security and backports, on the machine's mirrors."""
    found = mirrors()
    options = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
    rows = ((found.main, ""), (found.main, "-updates"), (found.main, "-backports"), (found.security, "-security"))
    return "".join(f"deb {options}{uri} {SUITE}{pocket} main\n" for uri, pocket in rows)


@dataclass(frozen=True, slots=True)
class Apt:
    """apt-get with its lists and archives under ``directory``; nothing of the machine's own apt is touched."""

    directory: Path

    def update(self) -> None:
        """Fetch the lists of packages."""
        for below in ("lists/partial", "archives/partial"):
            (self.directory / below).mkdir(parents=True, exist_ok=True)
        (self.directory / "sources.list").write_text(sources())
        self._run("update")

    def alias(self, metapackage: str) -> str:
        """The package that ``metapackage`` stands for: its first dependency."""
        text = _checked("apt-cache", *self._options(), "depends", "--important", metapackage)
        names = [line.split()[-1] for line in text.splitlines() if "Depends:" in line]
        if not names:
            raise PackageError(f"{metapackage} depends on nothing")
        return names[0]

    def missing_of(self, *packages: str, suite: str = SUITE) -> list[Path]:
        """Archives of ``packages`` and of all they need that this machine has not installed."""
        wanted = ("--yes", "--no-install-recommends", "--download-only", "--target-release", suite)
        self._run("install", *wanted, *packages)
        return sorted((self.directory / "archives").glob("*.deb"))

    def archive(self, package: str) -> Path:
        """The archive of one package alone."""
        place = self.directory / "alone" / package
        place.mkdir(parents=True)
        self._run("download", package, cwd=place)
        return next(place.glob("*.deb"))

    def _options(self) -> list[str]:
        pairs = {
            "Dir::Etc::sourcelist": self.directory / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State::lists": self.directory / "lists",
            "Dir::Cache": self.directory,
            "APT::Sandbox::User": "root",
            "Debug::NoLocking": "true",
        }
        return [word for name, value in pairs.items() for word in ("-o", f"{name}={value}")]

    def _run(self, *words: str, cwd: Path | None = None) -> None:
        _checked("apt-get", "--quiet=2", *self._options(), *words, cwd=cwd)


def apt(directory: Path) -> Apt:
    """An apt of our own in ``directory/apt``, with fresh lists."""
    made = Apt(directory / "apt")
    with cache.locked("apt"):
        made.update()
    return made


def unpack(archive: Path, into: Path) -> None:
    """The files of a Debian package, without its scripts."""
    into.mkdir(parents=True, exist_ok=True)
    _checked("dpkg-deb", "--extract", str(archive), str(into))


def _checked(*words: str, cwd: Path | None = None) -> str:
    environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PackageError(f"{words[0]} failed:\n" + "\n".join((done.stdout + done.stderr).splitlines()[-12:]))
    return done.stdout
