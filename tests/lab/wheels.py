"""The program under test as wheels, put into machines of the lab, which reach no registry."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.lab.ssh import Shell
from tests.vm import cache

PLACE = "/root/wheels"
INSTALL_SECONDS = 900.0
PIP = "/opt/tuneagent/bin/python -m pip install --quiet --no-index --no-compile --disable-pip-version-check"


class WheelError(Exception):
    """pip built or fetched no wheel; the message holds its last lines."""


def build(repository: Path, into: Path) -> Path:
    """A directory with the wheel of ``repository`` as it is now, and those of its dependencies.

    The dependencies are fetched by pip once for each pyproject.toml. The lab's Python must be ours (3.11), since pip
    fetches for the Python that runs it.
    """
    directory = into / "wheels"
    directory.mkdir(exist_ok=True)
    _pip("--no-deps", "--no-build-isolation", "--wheel-dir", str(directory), str(repository))
    own = next(directory.glob("*.whl"))
    recipe = ("wheels 1", sys.version, (repository / "pyproject.toml").read_text())
    for wheel in cache.made("wheels", recipe, lambda kept: _pip("--wheel-dir", str(kept), str(own))).glob("*.whl"):
        if wheel.name.partition("-")[0] != own.name.partition("-")[0]:
            shutil.copyfile(wheel, directory / wheel.name)
    return directory


def install(directory: Path, shell: Shell, package: str = "tuneagent") -> None:
    """Install ``package`` and its dependencies from the wheels in ``directory``, as /usr/local/bin/PACKAGE there.

    AssertionError with pip's words where a wheel is missing or does not fit (the machines have Python 3.11).
    """
    shell.put(directory, PLACE)
    shell.run(f"{PIP} --find-links {PLACE}/{directory.name} {package}", INSTALL_SECONDS).checked()


def _pip(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise WheelError("\n".join(done.stderr.splitlines()[-12:]))
