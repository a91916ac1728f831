"""The program under test as wheels, put into machines of the lab, which reach no registry."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.lab.recipe import BRIDGES
from tests.lab.ssh import Shell
from tests.vm import cache

PLACE = "/root/wheels"
INSTALL_SECONDS = 900.0
# What is installed, packed in the hypervisor; and where its guests fetch it, over the bridge.
PACKED = "/root/program.tar"
ADDRESS, PORT = BRIDGES["br0"].partition("/")[0], 4000
SERVE_ONCE = f"""\
import socket
with socket.create_server(("{ADDRESS}", {PORT})) as server, server.accept()[0] as guest:
    guest.sendfile(open("{PACKED}", "rb"))
"""
# Every guest is restored to before the program's first run, so what is not compiled here is compiled in every test.
# Left out is what hardly any command imports: compiling all of it took a minute and more of emulation.
UNCOMPILED = "/(pip|setuptools|pkg_resources|pygments|rich|markdown_it|v1|deprecated)/"
# The distribution's module for libvirt, where there is one; the environment sees nothing else of the system's.
LINK_LIBVIRT = (
    "ln -sf /usr/lib/python3/dist-packages/libvirt*.py /usr/lib/python3/dist-packages/libvirtmod*.so "
    "/opt/tuneagent/lib/python3.11/site-packages/"
)
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
    _pip("--no-deps", "--wheel-dir", str(directory), str(repository))
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
    shell.run(LINK_LIBVIRT).checked()
    shell.run(
        f"/opt/tuneagent/bin/python -m compileall -q -x '{UNCOMPILED}' /opt/tuneagent/lib", INSTALL_SECONDS
    ).checked()
    unchanged = " ".join(f"--exclude={name}" for name in ("pip", "pip-*", "setuptools*", "pkg_resources"))
    shell.run(f"tar --create --file={PACKED} {unchanged} --directory=/ opt/tuneagent").checked()


def carry(hypervisor: Shell, guest: Shell) -> None:
    """Put what ``install`` installed in the hypervisor into a guest: the same files at the same place.

    pip in a nested machine takes two minutes, and what it would do there is the same. The files go past ssh, whose
    encryption would be most of what is left.
    """
    serve = f"systemd-run --quiet --collect --unit=lab-carry python3 -c {shlex.quote(SERVE_ONCE)}"
    listening = f"timeout 60 sh -c 'until ss -Hlt sport = :{PORT} | grep -q .; do sleep 0.2; done'"
    hypervisor.run(f"{serve} && {listening}").checked()
    fetch = f"tar --extract --directory=/ --file=- </dev/tcp/{ADDRESS}/{PORT}"
    guest.run(f"bash -c {shlex.quote(fetch)}").checked()


def _pip(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise WheelError("\n".join(done.stderr.splitlines()[-12:]))
