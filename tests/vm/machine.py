"""A guest of a few seconds: Debian's kernel under QEMU's emulation, the files of this machine as its root.

Its root is this machine's, read-only, with whatever it writes kept in its memory; so every program and virtual
environment of this machine is there, and nothing it does stays. Its NIC is virtio with as many queue pairs as asked, on
a tap in a network namespace of its own. Times under emulation say nothing: compare counts.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.vm.completed import Completed
from tests.vm.emulator import emulator
from tests.vm.initramfs import initramfs
from tests.vm.kernel import kernel as debian_kernel
from tests.vm.process import Child, last_lines, start
from tests.vm.workspace import workspace

BOOT_SECONDS = 90.0
BOOTS = 3  # one emulated boot in some hundreds stands still for good, on a machine with nothing else to do
COMMAND_SECONDS = 300.0
HOST_ADDRESS, GUEST_ADDRESS = "192.0.2.1", "192.0.2.2"
GUEST_UUID = "5a5a5a5a-0001-4002-8003-123456789abc"  # without one there is no product_uuid
# mitigations and address randomisation cost emulated time and show nothing here.
KERNEL_LINE = "console=ttyS0 panic=-1 mitigations=off nokaslr net.ifnames=0"
MODULES = ("virtio_pci", "9p", "9pnet_virtio", "overlay", "virtio_net")
INIT = """\
mount -t tmpfs rw /rw && mkdir -p /rw/lower /rw/upper /rw/work /rw/new
options=trans=virtio,version=9p2000.L,msize=262144
mount -t 9p -o $options,ro,cache=loose root /rw/lower || exec echo "no root"
mount -t overlay -o lowerdir=/rw/lower,upperdir=/rw/upper,workdir=/rw/work root /rw/new || exec echo "no overlay"
cd /rw/new && for place in dev proc sys; do mount --move /$place $place; done
mount -t tmpfs run run && mkdir -p run/jobs && mount -t 9p -o $options,cache=none jobs run/jobs || exec echo "no jobs"
exec switch_root /rw/new /bin/sh /run/jobs/init
"""
SERVE = """\
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
mkdir -p /dev/pts /dev/shm && mount -t devpts pts /dev/pts && mount -t tmpfs shm /dev/shm
mount -t debugfs debug /sys/kernel/debug && mount -t tracefs trace /sys/kernel/tracing
mkdir -p /lib/modules && ln -s {modules} /lib/modules/
hostname guest; ip link set lo up
ip link show eth0 >/dev/null 2>&1 && ip address add {address}/24 dev eth0 && ip link set eth0 up
exec <>/dev/ttyS1 >&0
stty raw -echo
echo ready
while read -r job; do
    cd / && sh /run/jobs/$job.command >/run/jobs/$job.stdout 2>/run/jobs/$job.stderr </dev/null
    echo "$job $?"
done
"""


class MachineError(Exception):
    """The machine did not boot, died, or did not answer in time. The message ends with its console's last lines."""


class UnansweredError(MachineError):
    """It runs, and did not answer in time."""


@dataclass(slots=True)
class Machine:
    """A booted guest. ``run`` as often as wanted; each command sees what those before it left."""

    child: Child
    jobs: Path
    console: Path
    line: socket.socket
    count: int = 0
    heard: bytes = b""

    def run(self, command: str, timeout: float = COMMAND_SECONDS) -> Completed:
        """The shell text ``command``, run as root inside, from ``/``.

        Raises MachineError where the machine dies or the command is not through after ``timeout`` seconds; the machine
        is of no use after that.
        """
        self.count += 1
        place = self.jobs / f"{self.count}.command"
        place.write_text(command + "\n")
        self.line.sendall(f"{self.count}\n".encode())
        job, _, code = self._answer(timeout).partition(" ")
        assert job == str(self.count), f"asked for {self.count}, was told of {job}"
        return Completed(command, int(code), self._text("stdout"), self._text("stderr"))

    def outside(self, command: str, timeout: float = COMMAND_SECONDS) -> Completed:
        """The same on this machine, in the network namespace at the other end of the guest's wire."""
        done = subprocess.run(
            [*self.beside(), "sh", "-c", command], capture_output=True, text=True, timeout=timeout, check=False
        )
        return Completed(command, done.returncode, done.stdout, done.stderr)

    def beside(self) -> list[str]:
        """What begins a command line of this machine to have it run in that network namespace."""
        if os.geteuid() == 0:
            return ["nsenter", f"--target={self.child.process.pid}", "--net"]
        return ["nsenter", f"--target={self.child.process.pid}", "--user", "--preserve-credentials", "--net"]

    def _text(self, stream: str) -> str:
        return (self.jobs / f"{self.count}.{stream}").read_text(errors="backslashreplace")

    def _answer(self, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        while b"\n" not in self.heard:
            self.line.settimeout(max(0.1, deadline - time.monotonic()))
            try:
                part = self.line.recv(4096)
            except TimeoutError:
                raise UnansweredError(f"no answer in {seconds:.0f} s\n{last_lines(self.console)}") from None
            except ConnectionError:
                part = b""
            if not part:
                raise MachineError(f"the machine died\n{last_lines(self.console)}\n{last_lines(self.child.said)}")
            self.heard += part
        answer, _, self.heard = self.heard.partition(b"\n")
        return answer.decode(errors="backslashreplace").strip()


@contextmanager
def booted(
    cpus: int = 4,
    queues: int = 4,
    memory: int = 1024,
    cpu: str = "EPYC,-rdseed",
    kernel: str = "6.1",
    arguments: tuple[str, ...] = (),
    kernel_line: str = "",
) -> Iterator[Machine]:
    """A guest with ``cpus`` vCPUs, ``memory`` MiB and a virtio NIC of ``queues`` queue pairs; 0 queues: no NIC.

    ``cpu`` is QEMU's -cpu ("EPYC,-rdseed,-hypervisor" hides that it is a guest), ``kernel`` a series known to
    tests.vm.kernel, ``arguments`` more of QEMU's, ``kernel_line`` more of the kernel's. Raises MachineError where it
    does not boot.
    """
    system = emulator()
    debian = debian_kernel(kernel)
    first = initramfs(debian, MODULES, INIT)
    with ExitStack() as undo:
        directory = undo.enter_context(workspace("vm"))
        jobs = directory / "jobs"
        jobs.mkdir()
        (jobs / "init").write_text(SERVE.format(modules=debian.modules, address=GUEST_ADDRESS))
        words: list[str | Path] = [
            *(*system.command(), "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
            *("-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", cpu, "-smp", str(cpus), "-m", str(memory)),
            *("-uuid", GUEST_UUID),
            *("-kernel", debian.image, "-initrd", first, "-append", f"{KERNEL_LINE} {kernel_line}"),
            *("-serial", f"file:{directory}/console", "-serial", f"unix:{directory}/line,server=on,wait=on"),
            *_shared("root", Path("/"), ",readonly=on"),
            *_shared("jobs", jobs, ""),
            *_nic(queues),
            *arguments,
        ]
        yield _boots([*_apart(queues), *words], directory, system.environment(), undo)


def _boots(words: list[str | Path], directory: Path, environment: dict[str, str], undo: ExitStack) -> Machine:
    """The machine once it answers; one that stands still is ended and started again. ``undo`` ends the one that did."""
    for left in reversed(range(BOOTS)):
        with ExitStack() as attempt:
            child = start(words, directory, "qemu", environment)
            attempt.callback(child.end)
            line = attempt.enter_context(_connected(child, directory / "line"))
            machine = Machine(child, directory / "jobs", directory / "console", line)
            try:
                said = machine._answer(BOOT_SECONDS)  # noqa: SLF001 - the one who builds it hears its first word
            except UnansweredError as error:  # one that died has something to say, and is not asked again
                if not left:
                    raise
                sys.stderr.write(f"started again: {error}\n")
                (directory / "line").unlink(missing_ok=True)  # who connects next must not find the old one
                continue
            assert said == "ready", said
            undo.push(attempt.pop_all())
            return machine
    raise AssertionError("the last attempt returns or raises")


def run(
    command: str,
    cpus: int = 4,
    queues: int = 4,
    cpu: str = "EPYC,-rdseed",
    kernel: str = "6.1",
    timeout: float = COMMAND_SECONDS,
) -> Completed:
    """Boot a guest, run one command in it, end it. What ``booted`` and ``Machine.run`` raise."""
    with booted(cpus=cpus, queues=queues, cpu=cpu, kernel=kernel) as machine:
        return machine.run(command, timeout)


def _shared(tag: str, path: Path, option: str) -> tuple[str, ...]:
    # multidevs=remap: directories of several file systems must not show the same inode numbers.
    return ("-virtfs", f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap{option}")


def _nic(queues: int) -> tuple[str, ...]:
    if not queues:
        return ()
    many = f",queues={queues}" if queues > 1 else ""
    vectors = f",mq=on,vectors={2 * queues + 2}" if queues > 1 else ""
    return (
        *("-netdev", f"tap,id=wire,ifname=tap0,script=no,downscript=no,vhost=off{many}"),
        *("-device", f"virtio-net-pci,netdev=wire,mac=52:54:00:12:34:56{vectors}"),
    )


def _apart(queues: int) -> list[str]:
    """What puts QEMU into a network namespace with the tap: the wire ends there, and goes with the process."""
    many = "multi_queue" if queues > 1 else ""
    steps = [
        "ip link set lo up",
        f"ip tuntap add dev tap0 mode tap {many}",
        f"ip address add {HOST_ADDRESS}/24 dev tap0",
        "ip link set tap0 up",
    ]
    unshare = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    killed = ["setpriv", "--pdeathsig", "KILL", "--"]  # a new user namespace clears what was set before
    setup = " && ".join(steps) if queues else "true"
    return [*unshare, *killed, "sh", "-c", f'{setup} && exec "$@"', "sh"]


@contextmanager
def _connected(child: Child, path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as line:
        deadline = time.monotonic() + 20
        while True:
            try:
                line.connect(str(path))
            except (FileNotFoundError, ConnectionRefusedError):
                if not child.running or time.monotonic() > deadline:
                    raise MachineError(f"QEMU did not start\n{last_lines(child.said)}") from None
                time.sleep(0.05)
            else:
                yield line
                return


def quoted(*words: str | Path) -> str:
    """Words as shell text for ``Machine.run``."""
    return shlex.join(map(str, words))
