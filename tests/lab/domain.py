"""A KVM domain in the hypervisor and a shell in its guest."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.definition import Definition
from tests.lab.faults import LabFaultError, Ledger, Pulse, hangs
from tests.lab.hypervisor import Hypervisor
from tests.lab.images import LAB, STATES
from tests.lab.ssh import COMMAND_SECONDS, Door, Shell, UnansweredError, UnreachableError
from tests.vm import cache
from tests.vm.completed import Completed

BOOT_SECONDS = 420.0
LOGIN_SECONDS = 180.0
POLL_SECONDS = 4.0
HANG_SECONDS = 20.0
ANSWER_SECONDS = 90.0


@dataclass(slots=True)
class Guest:
    """The inside of a domain. A fault of the lab raises LabFaultError, a command that is only slow UnansweredError."""

    domain: Domain
    shell: Shell

    def run(self, command: str, timeout: float = COMMAND_SECONDS) -> Completed:
        """Shell text run there as root."""
        try:
            return self.shell.run(command, timeout)
        except UnansweredError:
            self.domain.examine()
            raise

    def put(self, source: Path, directory: str) -> None:
        """Copy a file or tree into ``directory`` there."""
        try:
            self.shell.put(source, directory)
        except UnansweredError:
            self.domain.examine()
            raise


@dataclass(slots=True)
class Domain:
    """A domain of ``hypervisor``, as ``definition`` says it is now."""

    hypervisor: Hypervisor
    definition: Definition
    ledger: Ledger
    guest: Guest = field(init=False)

    @property
    def name(self) -> str:
        """Its name in libvirt."""
        return self.definition.name

    @property
    def address(self) -> str:
        """The guest's address on the first bridge."""
        return self.definition.address(0)

    def run(self, command: str, timeout: float = COMMAND_SECONDS) -> Completed:
        """Shell text run beside the domain, in its hypervisor."""
        return self.hypervisor.run(command, timeout)

    def virsh(self, command: str, *words: str) -> str:
        """What ``virsh COMMAND THIS-DOMAIN WORDS`` prints."""
        return self.hypervisor.virsh(command, self.name, *words)

    def start(self, prepare: Callable[[Domain], None] | None) -> None:
        """Running and logged into: restored from a saved state, which is made by booting it where there is none.

        What was booted in an earlier run is used again. ``prepare`` is done once and saved for this run.
        LabFaultError where the domain dies, hangs or cannot be reached.
        """
        usual = self.definition.booted()
        kept = f"{STATES}/{usual.name}-{cache.key(usual.xml('disk', 'console'))}"
        ours = self._file("prepared") if prepare else kept
        if not self._has(ours):
            self._make(kept, ours, prepare)
        self._restore(ours)
        self.definition = usual
        self.ledger.boots += 1

    def _make(self, kept: str, ours: str, prepare: Callable[[Domain], None] | None) -> None:
        if not self._has(kept):
            self.boot()
            self._save(kept)
        if prepare is not None:
            self._restore(kept)
            prepare(self)
            self._save(ours)

    def exchange_nics(self, wanted: Definition) -> None:
        """Take each NIC out of the running domain and put it back as ``wanted`` has it, with the same MAC.

        Seconds, where another boot is minutes; the link is down meanwhile, and the guest probes its driver anew.
        """
        assert wanted.booted() == self.definition.booted(), "only event_idx, queues and vhost can be exchanged"
        for nic in range(wanted.nics):
            old, new = (self.definition.interface(nic), wanted.interface(nic))
            device = f"{LAB}/{self.name}.nic"
            mac = wanted.mac(nic)
            steps = (
                f"printf %s {shlex.quote(old)} > {device}",
                f"virsh --quiet detach-device {self.name} {device} --live --config",
                f"timeout 60 sh -c 'while virsh --quiet domiflist {self.name} | grep -q {mac}; do sleep 0.5; done'",
                f"printf %s {shlex.quote(new)} > {device}",
                f"virsh --quiet attach-device {self.name} {device} --live --config",
            )
            self.run(" && ".join(steps)).checked()
        self.definition = wanted
        reached = self.run(f"timeout 90 sh -c 'until ping -q -c 1 -W 1 {self.address} >/dev/null; do :; done'")
        if reached.returncode:
            self.examine()
        reached.checked()

    def log_out(self) -> None:
        """End the session in the guest."""
        self.guest.shell.close()

    def log_in(self) -> None:
        """A new session in the guest, after :meth:`log_out`. LabFaultError where it cannot be reached."""
        self._enter()

    def stop(self) -> None:
        """Ended, whatever state it is in; its saved state stays."""
        if hasattr(self, "guest"):
            self.guest.shell.close()
        self.run(f"virsh --quiet destroy {self.name} 2>/dev/null; true")

    def console(self, size: int = 3000) -> str:
        """The last bytes of its console."""
        return self.run(f"tail --bytes={size} {self._file('console')}", 60).stdout

    def pulse(self) -> Pulse:
        """Exits so far, from KVM's debugfs, so that a QEMU that answers no monitor is still seen.

        LabFaultError where the domain is gone or its kernel panicked.
        """
        text = self.run(PULSE.format(name=self.name, console=self._file("console")), 60).checked()
        at, exits, halt_exits, state = text.split()
        if state != "running":
            raise LabFaultError(f"{self._where}: {state}\n{self.console()}")
        return Pulse(float(at), int(exits), int(halt_exits))

    def examine(self) -> None:
        """LabFaultError where the domain is gone, panicked, hangs, or answers nothing any more."""
        self.hypervisor.examine()
        earlier = self.pulse()
        time.sleep(POLL_SECONDS)
        if hangs(earlier, later := self.pulse()):
            raise LabFaultError(f"{self._where}: hangs, {earlier} then {later}\n{self.console()}")
        try:
            self.guest.shell.run("true", ANSWER_SECONDS)
        except UnansweredError:
            raise LabFaultError(f"{self._where}: answers nothing\n{self.console()}") from None

    @property
    def _where(self) -> str:
        return f"{self.hypervisor.name} {self.name}"

    def _file(self, kind: str) -> str:
        return f"{LAB}/{self.name}.{kind}"

    def _has(self, state: str) -> bool:
        return self.run(f"test -e {state}.saved").returncode == 0

    def boot(self) -> None:
        """Started from an empty overlay and logged into. LabFaultError where it dies, hangs or cannot be reached."""
        disk, console = self._file("qcow2"), self._file("console")
        xml = shlex.quote(self.definition.booted().xml(disk, console))
        steps = (
            f"rm -f {disk} {console}",
            f"qemu-img create -q -f qcow2 -F raw -b /dev/vdb {disk}",
            f"printf %s {xml} > {self._file('xml')}",
            # Without a UUID in it, a definition of a name that is there already is refused: a boot may be tried again.
            f"{{ virsh --quiet undefine {self.name} 2>/dev/null || true; }}",
            f"virsh --quiet define {self._file('xml')}",
            f"virsh --quiet start {self.name}",
        )
        with self.ledger.timed(f"{self._where}: first boot to login"):
            self.run(" && ".join(steps)).checked()
            self._await_prompt(time.monotonic() + BOOT_SECONDS)
            self._enter()

    def _await_prompt(self, deadline: float) -> None:
        """Wait for the console's login prompt, which is last in a boot; a domain that hangs is not waited for."""
        steady = self.pulse()
        while self.run(f"grep -q 'guest login:' {self._file('console')}", 60).returncode:
            if time.monotonic() > deadline:
                raise LabFaultError(f"{self._where}: not up in {BOOT_SECONDS:.0f} s\n{self.console()}")
            time.sleep(POLL_SECONDS)
            now = self.pulse()
            if now.halt_exits != steady.halt_exits:
                steady = now
            elif now.at - steady.at > HANG_SECONDS and hangs(steady, now):
                raise LabFaultError(f"{self._where}: hangs in its boot, {steady} then {now}\n{self.console()}")

    def _save(self, state: str) -> None:
        """Leave STATE.saved, STATE.disk and STATE.xml; the first is there only when all are whole."""
        self.guest.shell.close()
        steps = (
            f"virsh --quiet dumpxml --inactive {self.name} > {state}.xml",
            f"virsh --quiet save {self.name} {state}.saving",
            f"cp {self._file('qcow2')} {state}.disk",
            "sync",
            f"mv {state}.saving {state}.saved",
            "sync",
        )
        with self.ledger.timed(f"{self._where}: saved"):
            self.run(" && ".join(steps)).checked()

    def _restore(self, state: str) -> None:
        steps = (
            f"cp {state}.disk {self._file('qcow2')}",
            f"virsh --quiet define {state}.xml",
            f"virsh --quiet restore {state}.saved",
        )
        try:
            with self.ledger.timed(f"{self._where}: restore to login"):
                self._or_fault(" && ".join(steps))
                self._enter()
        except LabFaultError:
            with suppress(LabFaultError, UnansweredError):
                self.run(f"rm -f {state}.saved")  # it may have been saved when it was broken already
            raise

    def _or_fault(self, command: str) -> None:
        done = self.run(command)
        if done.returncode:
            raise LabFaultError(f"{self._where}: {done.stderr.strip()}")

    def _enter(self) -> None:
        way = ("-o", f"ProxyCommand={self.hypervisor.shell.through(self.address)}")
        door = Door(self.name, way, self.hypervisor.door.keys, self.hypervisor.door.directory)
        try:
            self.guest = Guest(self, door.open(LOGIN_SECONDS, self.hypervisor.alive))
        except UnreachableError as error:
            raise LabFaultError(f"{error}\n{self.console()}") from None


PULSE = """\
cut -d' ' -f1 /proc/uptime
if cd /sys/kernel/debug/kvm/$(cat /run/libvirt/qemu/{name}.pid)-*/ 2>/dev/null && cat exits halt_exits 2>/dev/null
then if grep -q 'Kernel panic' {console}; then echo panicked; else echo running; fi
else echo 0 0 gone; fi
"""
