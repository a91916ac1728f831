from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.model.nic import QueueStatistics
from tuneagent.parse.queue_statistics import merge, parse


def test_reads_both_sides_of_each_queue() -> None:
    value = {
        "eth0": [
            {"type": "tx", "index": 10, "packets": 4, "bytes": 5, "drops": 6},
            {"type": "rx", "index": 10, "packets": 1, "bytes": 2, "drops": 3},
            {"type": "rx", "index": 2, "packets": 7, "bytes": None},
        ]
    }
    assert parse(value) == {
        "eth0": (
            QueueStatistics(2, rx_packets=7),
            QueueStatistics(10, 1, 2, 3, None, 4, 5, 6),
        )
    }


@pytest.mark.parametrize(
    ("queues", "path"),
    [
        ({}, "$.eth0:"),
        ([1], "$.eth0[0]:"),
        ([{"type": "combined", "index": 0}], "$.eth0[0].type:"),
        ([{"type": ["rx"], "index": 0}], "$.eth0[0].type:"),
        ([{"type": "rx"}], "$.eth0[0].index:"),
        ([{"type": "rx", "index": 65_536}], "$.eth0[0].index:"),
        ([{"type": "rx", "index": 0, "packets": 1.5}], "$.eth0[0].packets:"),
        ([{"type": "rx", "index": 0}, {"type": "rx", "index": 0}], "$.eth0[1].index:"),
    ],
)
def test_a_fault_is_named_with_its_path(queues: Any, path: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse({"eth0": queues})
    assert str(caught.value).startswith(path)


def test_the_driver_fills_what_the_kernel_does_not_say() -> None:
    kernel = (QueueStatistics(0, rx_packets=1, rx_drops=0), QueueStatistics(2, rx_packets=2))
    driver = (QueueStatistics(0, rx_packets=9, rx_kicks=3, rx_drops=8), QueueStatistics(1, tx_kicks=4))
    assert merge(kernel, driver) == (
        QueueStatistics(0, rx_packets=1, rx_drops=0, rx_kicks=3),
        QueueStatistics(1, tx_kicks=4),
        QueueStatistics(2, rx_packets=2),
    )
    assert merge((), ()) == ()
