"""All machines of one run of the tests: booted when first asked for, booted again when the lab breaks them, ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.lab import hypervisor, wheels
from tests.lab.definition import Definition
from tests.lab.domain import Domain
from tests.lab.faults import TRIES, LabBrokenError, LabFaultError, Ledger, tried
from tests.lab.hypervisor import Hypervisor
from tests.lab.images import Images, images
from tests.lab.ssh import UnansweredError
from tests.vm.process import last_lines
from tests.vm.workspace import workspace

T = TypeVar("T")


@dataclass(slots=True)
class _Booted:
    machine: Hypervisor
    ending: ExitStack
    domains: dict[Definition, Domain] = field(default_factory=dict)


@dataclass(slots=True)
class Lab:
    """The hypervisors by series and CPUs, each with the domains defined in it; at most ``TRIES`` boots of each thing.

    The program in ``wheels``, where there are any, is in every machine before a test sees it.
    """

    images: Images
    directory: Path
    ledger: Ledger
    wheels: Path | None
    booted: dict[tuple[str, int], _Booted] = field(default_factory=dict)
    running: list[Domain] = field(default_factory=list)

    def hypervisor(self, kernel: str = "6.1", cpus: int = 1) -> Hypervisor:
        """The hypervisor with that kernel and CPUs, booted on first use. LabBrokenError where it never comes up."""
        return self._booted(kernel, cpus).machine

    def domain(self, definition: Definition, kernel: str = "6.1", cpus: int = 1) -> Domain:
        """A running domain as it was after its first boot. LabBrokenError where that fails in every try."""
        return self.tried(f"domain {definition.name}", lambda: self._start(definition, kernel, cpus))

    def stop_domains(self) -> None:
        """End the running domains, so that the next test finds none; a hypervisor that broke is ended too."""
        while self.running:
            domain = self.running.pop()
            try:
                domain.stop()
            except (LabFaultError, UnansweredError):
                self._end(domain.hypervisor)

    def recover(self, fault: LabFaultError) -> None:
        """Note a fault and end whatever may have been touched by it."""
        self.ledger.faults.append(str(fault).partition("\n")[0])
        self.stop_domains()
        for booted in list(self.booted.values()):
            try:
                booted.machine.examine()
            except LabFaultError:
                self._end(booted.machine)

    def consoles(self) -> list[tuple[str, str]]:
        """Titles and last lines of the consoles of all that runs."""
        shown = [(f"console of {one.machine.name}", last_lines(one.machine.console)) for one in self.booted.values()]
        for domain in self.running:
            try:
                shown.append((f"console of {domain.name}", domain.console()))
            except (LabFaultError, UnansweredError, AssertionError) as error:
                shown.append((f"console of {domain.name}", f"cannot be read: {error}"))
        return shown

    def end(self) -> None:
        """End everything."""
        self.running.clear()
        for booted in list(self.booted.values()):
            self._end(booted.machine)

    def _booted(self, kernel: str, cpus: int) -> _Booted:
        return self.tried(f"hypervisor {kernel}", lambda: self._known(kernel, cpus) or self._boot(kernel, cpus))

    def _known(self, kernel: str, cpus: int) -> _Booted | None:
        known = self.booted.get((kernel, cpus))
        if known is not None:
            known.machine.alive()
        return known

    def _boot(self, kernel: str, cpus: int) -> _Booted:
        with ExitStack() as undo:
            with self.ledger.timed(f"hypervisor {kernel}, {cpus} CPU: boot to login"):
                machine = undo.enter_context(hypervisor.booted(self.images, kernel, cpus, self.directory))
            if self.wheels is not None:
                with self.ledger.timed(f"{machine.name}: program installed"):
                    wheels.install(self.wheels, machine.shell)
            self.booted[kernel, cpus] = made = _Booted(machine, undo.pop_all())
        return made

    def _start(self, definition: Definition, kernel: str, cpus: int) -> Domain:
        booted = self._booted(kernel, cpus)
        plain = definition.booted()
        if plain not in booted.domains:
            booted.domains[plain] = Domain(booted.machine, plain, self.ledger)
        domain = booted.domains[plain]
        self.running.append(domain)
        domain.start(self._prepare if self.wheels else None)
        if definition != plain:
            with self.ledger.timed(f"{domain.name}: NICs exchanged"):
                domain.exchange_nics(definition)
        return domain

    def _prepare(self, domain: Domain) -> None:
        with self.ledger.timed(f"{domain.name}: program installed"):
            wheels.carry(domain.hypervisor.shell, domain.guest.shell)

    def _end(self, machine: Hypervisor) -> None:
        booted = self.booted.pop((machine.kernel, machine.cpus), None)
        if booted is not None:
            booted.ending.close()

    def tried(self, what: str, action: Callable[[], T]) -> T:
        """What ``action`` returns, tried again when the lab breaks. LabBrokenError where it broke in every try."""
        try:
            return tried(action, self.recover)
        except LabFaultError as fault:
            raise LabBrokenError(f"{what} broke {TRIES} times; the last time: {fault}") from None


@contextmanager
def lab(ledger: Ledger, wheels: Path | None = None) -> Iterator[Lab]:
    """A lab that boots nothing until asked, and leaves nothing running; ``wheels`` as in Lab."""
    with workspace("lab") as directory:
        made = Lab(images(), directory, ledger, wheels)
        try:
            yield made
        finally:
            made.end()
