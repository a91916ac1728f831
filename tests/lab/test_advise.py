"""The program on both sides of a real NIC."""

from __future__ import annotations

import pytest

from tests.lab.conftest import DomainFactory

pytestmark = pytest.mark.lab


def test_the_program_runs_on_both_sides(domain: DomainFactory, program: str) -> None:
    one = domain()
    for side in (one, one.guest):
        assert "Usage: tuneagent" in side.run(f"{program} --help").checked()
