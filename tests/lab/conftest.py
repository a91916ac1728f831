"""Fixtures of the lab tier, and what keeps its own faults apart from what the tests find."""

from __future__ import annotations

import inspect
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.lab import wheels
from tests.lab.definition import Definition
from tests.lab.domain import Domain
from tests.lab.faults import Ledger, tried
from tests.lab.hypervisor import Hypervisor
from tests.lab.lab import Lab
from tests.lab.lab import lab as a_lab
from tests.lab.prerequisites import LAB
from tests.vm.prerequisites import require, sbin_in_path
from tests.vm.workspace import workspace

# Images from nothing, three boots of a hypervisor and of a domain, and the test itself.
TEST_SECONDS = 3600
PROGRAM = "program"
LEDGER = pytest.StashKey[Ledger]()


class HypervisorFactory(Protocol):
    """The ``hypervisor`` fixture."""

    def __call__(self, kernel: str = "6.1", cpus: int = 1) -> Hypervisor: ...


class DomainFactory(Protocol):
    """The ``domain`` fixture."""

    def __call__(
        self,
        *,
        event_idx: bool = True,
        queues: int = 2,
        vcpus: int = 2,
        vhost: bool = True,
        nics: int = 1,
        memory: int = 768,
        guest_kernel: str = "6.1",
        twin: int = 0,
        kernel: str = "6.1",
        cpus: int = 1,
    ) -> Domain: ...


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEDGER] = Ledger()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("lab") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_SECONDS))


@pytest.fixture(scope="session")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """The lab of this run; images that are missing are made here.

    Where a test of this run asks for ``program``, every machine gets it before it is saved.
    """
    sbin_in_path()
    require(LAB, "lab")
    wanted = any(PROGRAM in getattr(item, "fixturenames", ()) for item in request.session.items)
    ledger = request.config.stash[LEDGER]
    with workspace("wheels") as directory, a_lab(ledger, _wheels(directory) if wanted else None) as made:
        yield made


def _wheels(directory: Path) -> Path:
    """Those of the directory that TUNEAGENT_WHEELS names, else of this repository as it is."""
    named = os.environ.get("TUNEAGENT_WHEELS")
    return Path(named) if named else wheels.build(Path(__file__).parents[2], directory)


@pytest.fixture
def program(lab: Lab) -> str:  # noqa: ARG001 - it installs the program
    """The command of the program under test, installed in every hypervisor and guest of this run."""
    return "/usr/local/bin/tuneagent"


@pytest.fixture
def hypervisor(lab: Lab) -> HypervisorFactory:
    """``hypervisor(kernel=…, cpus=…)``: booted once for all tests that ask for the same."""
    return lab.hypervisor


@pytest.fixture
def domain(lab: Lab) -> Iterator[DomainFactory]:
    """``domain(event_idx=…, queues=…, …)``: running, as after its first boot; ended after the test."""

    def start(*, kernel: str = "6.1", cpus: int = 1, **asked: bool | int | str) -> Domain:
        return lab.domain(Definition(**asked), kernel, cpus)  # type: ignore[arg-type]  # DomainFactory has the types

    yield start
    lab.stop_domains()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test of the lab again, at most twice, when the lab broke under it. A failed assertion is never retried."""
    lab = _lab_of(pyfuncitem)
    if not isinstance(lab, Lab):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in wanted}
    tried(lambda: pyfuncitem.obj(**arguments), lab.recover)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the consoles of a failed test."""
    report = yield
    if report.failed and isinstance(lab := _lab_of(item), Lab):
        report.sections.extend(lab.consoles())
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    rows = config.stash[LEDGER].rows()
    if rows:
        terminalreporter.section("lab")
        for row in rows:
            terminalreporter.write_line(row)


def _lab_of(item: pytest.Item) -> object:
    return getattr(item, "funcargs", {}).get("lab")
