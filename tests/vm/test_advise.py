"""The agent inside a guest with real interrupts, against what the kernel and ethtool say there.

The repository and its virtual environment lie inside at the paths they have here, so ``PYTHON -m tuneagent`` works.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.vm.machine import Machine, quoted

pytestmark = [pytest.mark.vm, pytest.mark.timeout(400)]
REPOSITORY = Path(__file__).parents[2]


def test_the_program_under_test_is_importable_inside(machine: Machine) -> None:
    import_it = quoted(sys.executable, "-c", "import tuneagent; print(tuneagent.__file__)")
    done = machine.run(f"cd {quoted(REPOSITORY)} && {import_it}")
    assert done.checked().strip() == str(REPOSITORY / "tuneagent/__init__.py")
