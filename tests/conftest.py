"""Options of the whole test suite."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A shared machine stalls for seconds; a slow example is no fault, and pytest's own timeout ends one that hangs.
settings.register_profile("tuneagent", deadline=None)
settings.load_profile("tuneagent")


def pytest_addoption(parser: pytest.Parser) -> None:
    """--update-golden: write the golden reports anew instead of comparing."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/*.txt and *.json anew")
