"""Ends what tests of the machine leave open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tuneagent.machine.libvirt_connection import Connection


@pytest.fixture(autouse=True)
def ended(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ends every connection that a test opened."""
    opened: list[Connection] = []
    ask = Connection.ask

    def remembering(self: Connection, question: Any) -> Any:
        opened.append(self)
        return ask(self, question)

    monkeypatch.setattr(Connection, "ask", remembering)
    yield
    for connection in opened:
        connection.close()
