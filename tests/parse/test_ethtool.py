from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.model.nic import Channels, Coalesce, QueueStatistics, Rings
from tuneagent.parse.ethtool import EthtoolReport, SectionFault, parse, queue_statistics


def test_reads_all_sections() -> None:
    value = {
        "eth0": {
            "driver": "virtio_net",
            "bus_info": "0000:00:03.0",
            "channels": {"combined": 1, "combined_max": 4, "rx": None},
            "rings": {"rx": 256, "rx_max": 257, "tx": 258, "tx_max": 259},
            "coalesce": {"rx_usecs": 3, "tx_max_frames": 5, "adaptive_rx": False},
            "features": {"rx-gro": True, "tx-tcp-segmentation": False},
            "statistics": {"rx0_kicks": 6, "error": 7},
        }
    }
    assert parse(value) == {
        "eth0": EthtoolReport(
            driver="virtio_net",
            bus_info="0000:00:03.0",
            channels=Channels(combined=1, combined_max=4),
            rings=Rings(256, 257, 258, 259),
            coalesce=Coalesce(rx_usecs=3, tx_max_frames=5, adaptive_rx=False),
            offloads={"rx-gro": True, "tx-tcp-segmentation": False},
            statistics={"rx0_kicks": 6, "error": 7},
            faults={},
        )
    }


def test_a_section_that_could_not_be_had_says_why() -> None:
    value = {"eth0": {"coalesce": {"error": "unsupported", "detail": "EOPNOTSUPP"}, "rings": {"error": "permission"}}}
    report = parse(value)["eth0"]
    assert (report.coalesce, report.rings, report.channels) == (None, None, None)
    assert report.faults == {
        "coalesce": SectionFault(Reason.UNSUPPORTED, "EOPNOTSUPP"),
        "rings": SectionFault(Reason.PERMISSION, "permission"),
    }


@pytest.mark.parametrize(
    ("report", "path"),
    [
        ([], "$.eth0:"),
        ({"driver": 5}, "$.eth0.driver:"),
        ({"channels": {"combined": "4"}}, "$.eth0.channels.combined:"),
        ({"channels": {"combined": -1}}, "$.eth0.channels.combined:"),
        ({"rings": {"rx": 2**32}}, "$.eth0.rings.rx:"),
        ({"coalesce": {"adaptive_rx": 0}}, "$.eth0.coalesce.adaptive_rx:"),
        ({"coalesce": {"error": "whatever"}}, "$.eth0.coalesce.error:"),
        ({"features": {"rx-gro": 1}}, "$.eth0.features['rx-gro']:"),
        ({"statistics": {"rx0_kicks": 2**64}}, "$.eth0.statistics.rx0_kicks:"),
    ],
)
def test_a_fault_is_named_with_its_path(report: Any, path: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse({"eth0": report})
    assert str(caught.value).startswith(path)


@pytest.mark.parametrize("between", ["", "_queue_"])
def test_queue_counters_have_two_generations_of_names(between: str) -> None:
    statistics = {
        f"rx{between}10_packets": 1,
        f"rx{between}10_bytes": 2,
        f"rx{between}10_drops": 3,
        f"rx{between}10_kicks": 4,
        f"tx{between}10_packets": 5,
        f"tx{between}10_bytes": 6,
        f"tx{between}10_drops": 7,
        f"tx{between}10_kicks": 8,
        f"tx{between}10_tx_timeouts": 9,
        f"rx{between}2_kicks": 11,
        f"rx{between}10_xdp_drops": 12,
        f"rx{between}99999_kicks": 13,
        "rx_kicks": 14,
        "rx_queue_kicks": 15,
    }
    assert queue_statistics(statistics) == (
        QueueStatistics(2, rx_kicks=11),
        QueueStatistics(10, 1, 2, 3, 4, 5, 6, 7, 8, 9),
    )
