"""A shell on a machine of the lab: one ssh connection kept open, and every command a channel of it.

A login costs seconds of emulated time, a channel a tenth of one.
"""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.lab.keys import NAME_OF_HOST_KEY, Keys
from tests.vm.completed import Completed
from tests.vm.process import Child, last_lines, start

COMMAND_SECONDS = 300.0


class UnansweredError(Exception):
    """A command was not through in time, or the connection broke: the test's fault or the machine's."""


class UnreachableError(Exception):
    """No login in time; the message holds what ssh said last."""


@dataclass(slots=True)
class Shell:
    """An open connection. ``run`` takes shell text for the far side; nothing of it is read by a shell here."""

    name: str
    control: Path
    master: Child

    def run(self, command: str, timeout: float = COMMAND_SECONDS) -> Completed:
        """``command`` run as root there. UnansweredError where it takes more than ``timeout`` seconds."""
        return self._ssh(command, timeout, b"")

    def put(self, source: Path, directory: str, timeout: float = COMMAND_SECONDS) -> None:
        """Copy the file or tree ``source`` into ``directory`` there, which is made where it is missing."""
        packed = subprocess.run(
            ["tar", "--create", "--file=-", f"--directory={source.parent}", source.name],
            capture_output=True,
            check=True,
        )
        into = shlex.quote(directory)
        unpack = f"mkdir -p {into} && tar --extract --no-same-owner --file=- --directory={into}"
        self._ssh(unpack, timeout, packed.stdout).checked()

    def through(self, address: str) -> str:
        """A ProxyCommand that reaches port 22 of ``address`` from there."""
        return shlex.join(["ssh", "-S", str(self.control), "-W", f"{address}:22", self.name])

    def close(self) -> None:
        """End the connection."""
        self.master.end()

    def _ssh(self, command: str, timeout: float, given: bytes) -> Completed:
        words = ["ssh", "-S", str(self.control), "-o", "ControlMaster=no", self.name, "--", command]
        try:
            done = subprocess.run(words, input=given, capture_output=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            raise UnansweredError(f"{self.name}: {command!r} was not through after {timeout:.0f} s") from None
        if done.returncode == 255 and not self.master.running:
            raise UnansweredError(f"{self.name}: the connection broke in {command!r}")
        texts = (stream.decode(errors="backslashreplace") for stream in (done.stdout, done.stderr))
        return Completed(command, done.returncode, *texts)


@dataclass(frozen=True, slots=True)
class Door:
    """How to log in: ``options`` of ssh that lead to the machine."""

    name: str
    options: tuple[str, ...]
    keys: Keys
    directory: Path

    def open(self, seconds: float, alive: Callable[[], None]) -> Shell:
        """Log in, trying for ``seconds``; ``alive`` is asked before each try and raises where waiting is in vain."""
        deadline = time.monotonic() + seconds
        while True:
            alive()
            master = self._dial()
            if self._answered(master, deadline):
                return Shell(self.name, self._control, master)
            master.end()
            if time.monotonic() > deadline:
                raise UnreachableError(f"{self.name}: no login in {seconds:.0f} s\n{last_lines(master.said)}")
            time.sleep(1)

    @property
    def _control(self) -> Path:
        return self.directory / f"{self.name}.ssh"

    def _dial(self) -> Child:
        settings = {
            "IdentityFile": self.keys.login,
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": self.keys.known_hosts,
            "HostKeyAlias": NAME_OF_HOST_KEY,
            "StrictHostKeyChecking": "yes",
            "BatchMode": "yes",
            "ConnectTimeout": 120,
            "ControlPersist": "no",
            "User": "root",
        }
        options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        self._control.unlink(missing_ok=True)
        # -F none: whatever the developer's own configuration says about hosts, it is not about these.
        words = ["ssh", "-F", "none", "-M", "-N", "-S", str(self._control), *options, *self.options, self.name]
        return start(words, self.directory, f"{self.name}-ssh")

    def _answered(self, master: Child, deadline: float) -> bool:
        while master.running and time.monotonic() < deadline:
            if self._control.exists():
                return True
            time.sleep(0.1)
        return False
