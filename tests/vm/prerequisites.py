"""What a tier needs from the machine that runs it, and what becomes of the tests where it is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class Needs:
    """Programs with the Debian packages that have them, device nodes, and whether root is needed."""

    programs: Mapping[str, str]
    devices: tuple[str, ...] = ()
    root: bool = False

    def missing_packages(self) -> list[str]:
        """Debian packages whose programs are not in PATH, sorted."""
        path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
        return sorted({package for program, package in self.programs.items() if not shutil.which(program, path=path)})

    def missing(self) -> list[str]:
        """All that is missing, in words; empty where the tier can run."""
        packages = [f"package {name}" for name in self.missing_packages()]
        devices = [f"access to {name}" for name in self.devices if not os.access(name, os.R_OK | os.W_OK)]
        return packages + devices + (["root"] if self.root and os.geteuid() else [])


VM = Needs(
    programs={
        "apt-get": "apt",
        "depmod": "kmod",
        "dpkg-deb": "dpkg",
        "ethtool": "ethtool",
        "ip": "iproute2",
        "nsenter": "util-linux",
        "setpriv": "util-linux",
        "unshare": "util-linux",
        "zstd": "zstd",
    },
    devices=("/dev/net/tun",),
)


def in_ci() -> bool:
    """Whether CI runs the tests: there a missing prerequisite is a failure, never a skip."""
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


def require(needs: Needs, tier: str) -> None:
    """Return where all is there. In CI root installs what packages give; what is missing then fails the test.

    Elsewhere nothing is installed, and the test is skipped by a message that names what is missing.
    """
    if in_ci() and os.geteuid() == 0 and (packages := needs.missing_packages()):
        _install(packages)
    if missing := needs.missing():
        message = f"the {tier} tier needs {', '.join(missing)}"
        if in_ci():
            pytest.fail(message, pytrace=False)
        pytest.skip(message)


def _install(packages: list[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        done = subprocess.run(
            ["apt-get", "--quiet=2", *words], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            pytest.fail(f"apt-get {words[0]} failed:\n{done.stderr[-2000:]}", pytrace=False)


def sbin_in_path() -> None:
    """Let a plain user's processes find ip, ethtool and depmod, which Debian keeps out of users' PATH."""
    words = os.environ.get("PATH", "").split(":")
    for place in ("/usr/sbin", "/sbin"):
        if place not in words and Path(place).is_dir():
            os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{place}"
