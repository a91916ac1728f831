"""QEMU 10 or newer: the machine's own, else unpacked into the cache from the backports suite.

Older ones, when two emulated CPUs run at once, execute a stale int3 of the kernel's text patching, and the emulated
kernel dies.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.vm import cache, packages

SYSTEM = "qemu-system-x86_64"
NEEDED = (10, 0)
PACKAGES = ("qemu-system-x86", "qemu-utils")
RECIPE = ("emulator 2", *PACKAGES, packages.SUITE)


@dataclass(frozen=True, slots=True)
class Emulator:
    """Programs of one QEMU, and what they need to be told when they are not where they were built for."""

    system: Path
    image_tool: Path
    libraries: tuple[Path, ...] = ()
    firmware: tuple[Path, ...] = ()

    def command(self) -> list[str | Path]:
        """The words that begin a command line of the emulator."""
        return [self.system, *(word for place in self.firmware for word in ("-L", place))]

    def environment(self) -> dict[str, str]:
        """The environment to start either program with."""
        if not self.libraries:
            return dict(os.environ)
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, self.libraries))}

    def version(self) -> tuple[int, int]:
        """Major and minor; (0, 0) where the program does not start."""
        asked = subprocess.run(
            [self.system, "--version"], env=self.environment(), capture_output=True, text=True, check=False
        )
        found = re.search(r"version (\d+)\.(\d+)", asked.stdout)
        return (int(found[1]), int(found[2])) if found else (0, 0)


def emulator() -> Emulator:
    """The machine's own QEMU where it is new enough, else the one in the cache, fetched the first time.

    Raises packages.PackageError where it can neither be found nor fetched, or does not start.
    """
    installed = _installed()
    if installed is not None and installed.version() >= NEEDED:
        return installed
    return _in(cache.made("emulator", RECIPE, _unpack))


def _installed() -> Emulator | None:
    system, tool = shutil.which(SYSTEM), shutil.which("qemu-img")
    return Emulator(Path(system), Path(tool)) if system and tool else None


def _in(tree: Path) -> Emulator:
    libraries = tuple(tree / prefix / "lib/x86_64-linux-gnu" for prefix in ("usr", ""))
    firmware = tuple(tree / "usr" / place for place in ("share/qemu", "share/seabios", "lib/ipxe/qemu"))
    return Emulator(tree / "usr/bin" / SYSTEM, tree / "usr/bin/qemu-img", libraries, firmware)


def _unpack(into: Path) -> None:
    fetcher = packages.apt(into)
    for archive in fetcher.missing_of(*PACKAGES, suite=f"{packages.SUITE}-backports"):
        packages.unpack(archive, into)
    shutil.rmtree(fetcher.directory)
    if _in(into).version() < NEEDED:
        raise packages.PackageError(f"the QEMU of {packages.SUITE}-backports does not start here, or is too old")
