"""The program under test, put into a machine of the lab, which reaches no registry."""

from __future__ import annotations

from pathlib import Path

from tests.lab.ssh import Shell

PLACE = "/root/wheels"
INSTALL_SECONDS = 900.0


def install(directory: Path, shell: Shell, package: str = "tuneagent") -> None:
    """Install ``package`` and its dependencies from the wheels in ``directory``, as /usr/local/bin/PACKAGE there.

    AssertionError with pip's words where a wheel is missing or does not fit (the machines have Python 3.11).
    """
    shell.put(directory, PLACE)
    pip = "/opt/tuneagent/bin/python -m pip install --quiet --no-index --no-compile --disable-pip-version-check"
    shell.run(f"{pip} --find-links {PLACE}/{directory.name} {package}", INSTALL_SECONDS).checked()
