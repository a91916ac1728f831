"""Debian 12 with KVM, libvirt and vhost under emulated SVM, booted over an overlay that is thrown away."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab import states
from tests.lab.faults import LabFaultError
from tests.lab.images import STATES, Images
from tests.lab.ssh import COMMAND_SECONDS, Door, Shell, UnansweredError, UnreachableError
from tests.vm.completed import Completed
from tests.vm.emulator import Emulator, emulator
from tests.vm.process import Child, last_lines, start

BOOT_SECONDS = 240.0
ANSWER_SECONDS = 90.0
MEMORY = 4096
KERNEL_LINE = "root=/dev/vda rw console=ttyS0 panic=-1 mitigations=off nokaslr net.ifnames=0 apparmor=0"
BARE = ("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none")
DEAD = ("Kernel panic", "Oops:", "soft lockup")


@dataclass(slots=True)
class Hypervisor:
    """A booted hypervisor. ``kernel`` is its series; ``cpus`` above 1 are fast, and break about one guest in four."""

    name: str
    kernel: str
    cpus: int
    child: Child
    console: Path
    shell: Shell
    door: Door

    def run(self, command: str, timeout: float = COMMAND_SECONDS) -> Completed:
        """Shell text run there as root.

        LabFaultError where the hypervisor broke, UnansweredError where it only took too long.
        """
        try:
            return self.shell.run(command, timeout)
        except UnansweredError:
            self.examine()
            raise

    def put(self, source: Path, directory: str) -> None:
        """Copy a file or tree into ``directory`` there."""
        self.shell.put(source, directory)

    def virsh(self, *words: str) -> str:
        """What ``virsh WORDS`` prints; it must succeed."""
        return self.run(" ".join(("virsh --quiet", *words))).checked()

    def alive(self) -> None:
        """LabFaultError where its emulator ended or its kernel says on the console that it is broken."""
        _alive(self.name, self.child, self.console)

    def examine(self) -> None:
        """LabFaultError where it is not alive, or answers nothing any more."""
        self.alive()
        try:
            self.shell.run("true", ANSWER_SECONDS)
        except UnansweredError:
            raise LabFaultError(f"{self.name}: answers nothing\n{last_lines(self.console)}") from None


@contextmanager
def booted(images: Images, kernel: str, cpus: int, directory: Path) -> Iterator[Hypervisor]:
    """A hypervisor with ``kernel`` ("6.1" or "6.12") and ``cpus`` CPUs; files of its run lie in ``directory``.

    LabFaultError where it dies while booting or cannot be logged into.
    """
    name = f"hypervisor-{kernel}-{cpus}"
    system, console, port = emulator(), directory / f"{name}.console", _free_port()
    door = Door(name, ("-p", str(port), "-o", "HostName=127.0.0.1"), images.keys, directory)
    overlay = _overlay(system, images.hypervisor, directory / f"{name}.qcow2")
    machine = [
        # One thread for each emulated CPU; with one thread for all, guests hang in their early boot.
        *("-machine", "pc", "-accel", "tcg,thread=multi,tb-size=1024", "-cpu", "EPYC,svm=on,-rdseed"),
        *("-smp", str(cpus), "-m", str(MEMORY), "-serial", f"file:{console}", "-append", KERNEL_LINE),
        *("-kernel", images.kernels[kernel].image, "-initrd", images.initramfs[kernel]),
        *("-netdev", f"user,id=wire,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22"),
        *("-device", "virtio-net-pci,netdev=wire"),
        *_drive(overlay, "format=qcow2"),
        *_drive(images.guest, "format=raw,readonly=on"),
    ]
    with states.disk(images, kernel) as kept:
        words = [*system.command(), *BARE, *machine, *(_drive(kept, "format=raw") if kept else ())]
        console.unlink(missing_ok=True)  # what one before it died of is not told of this one
        child = start(words, directory, name, system.environment())
        try:
            shell = _entered(door, child, console)
            made = Hypervisor(name, kernel, cpus, child, console, shell, door)
            made.run(f"mkdir -p {STATES} && {{ test ! -e /dev/vdc || mount -t ext4 /dev/vdc {STATES}; }}").checked()
            yield made
            shell.close()
        finally:
            child.end()
            overlay.unlink(missing_ok=True)


def _drive(file: Path, options: str) -> tuple[str, str]:
    return ("-drive", f"file={file},if=virtio,cache=unsafe,{options}")


def _entered(door: Door, child: Child, console: Path) -> Shell:
    try:
        return door.open(BOOT_SECONDS, lambda: _alive(door.name, child, console))
    except UnreachableError as error:
        raise LabFaultError(f"{error}\n{last_lines(console)}") from None


def _alive(name: str, child: Child, console: Path) -> None:
    if not child.running:
        raise LabFaultError(f"{name}: its emulator ended\n{last_lines(console)}\n{last_lines(child.said)}")
    said = console.read_text(errors="replace") if console.exists() else ""
    if broken := next((word for word in DEAD if word in said), None):
        raise LabFaultError(f"{name}: {broken}\n{last_lines(console)}")


def _overlay(system: Emulator, base: Path, overlay: Path) -> Path:
    words = [str(system.image_tool), "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(base), str(overlay)]
    subprocess.run(words, env=system.environment(), check=True, capture_output=True)
    return overlay


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
