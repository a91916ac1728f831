"""Fixtures of the vm tier."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.vm import balancing
from tests.vm.machine import Machine, booted
from tests.vm.prerequisites import VM, require, sbin_in_path
from tests.vm.process import last_lines


@pytest.fixture(scope="session")
def vm_tier() -> None:
    """Everything the tier needs, or a skip (in CI a failure) that names what is missing."""
    sbin_in_path()
    require(VM, "vm")


@pytest.fixture(scope="module")
def machine(vm_tier: None) -> Iterator[Machine]:  # noqa: ARG001 - must come first
    """A guest with four vCPUs and four queue pairs, booted once for the tests of a module."""
    with booted() as guest:
        yield guest


@pytest.fixture(scope="session")
def irqbalance(vm_tier: None) -> Path:  # noqa: ARG001 - must come first
    """Debian's irqbalance, for tests.vm.balancing."""
    return balancing.unpacked()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a failed test's console."""
    report = yield
    guest = getattr(item, "funcargs", {}).get("machine")
    if report.failed and isinstance(guest, Machine):
        report.sections.append(("console of the guest, last lines", last_lines(guest.console)))
    return report
