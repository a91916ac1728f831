"""Options of the whole test suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """--update-golden: write the golden reports anew instead of comparing."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/*.txt and *.json anew")
