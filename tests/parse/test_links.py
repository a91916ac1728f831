from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.model.nic import Link
from tuneagent.parse.links import parse


def test_reads_links_by_name() -> None:
    value = [
        {"ifindex": 2, "name": "eth0", "kind": None, "qdisc": "mq", "tx_queues": 4, "rx_queues": 5},
        {"ifindex": 7, "name": "vlan7", "kind": "vlan"},
    ]
    assert parse(value) == {"eth0": Link(None, "mq", 4, 5), "vlan7": Link("vlan", None, None, None)}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({}, "$:"),
        ([7], "$[0]:"),
        ([{"ifindex": 2}], "$[0].name:"),
        ([{"name": "a"}], "$[0].ifindex:"),
        ([{"name": "a", "ifindex": 1, "tx_queues": "4"}], "$[0].tx_queues:"),
        ([{"name": "a", "ifindex": 1}, {"name": "a", "ifindex": 2}], "$[1].name:"),
    ],
)
def test_a_fault_is_named_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(value)
    assert str(caught.value).startswith(path)
