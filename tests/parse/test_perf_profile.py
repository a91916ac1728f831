"""The JSON value of a profile, whole and wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.model.profile import Profile, SymbolSamples
from tuneagent.parse.perf_profile import parse

VALUE: dict[str, Any] = {
    "event": "cycles",
    "seconds": 2.5,
    "frequency_hz": 999,
    "cpus": [3, 0],
    "kernel": [
        ["dst_release", None, {"0": 5, "3": 10}],
        ["start_xmit", "virtio_net", {"3": 25}],
        ["start_xmit", None, {"0": 5}],
    ],
    "user_samples": 55,
    "idle_samples": 1000,
    "lost": 4,
    "throttled": 6,
    "limits": ["cpu 7 went offline"],
    "kernel_release": "6.18.1",
    "taken_at_ns": 17,
    "cpu_s": 0.25,
}


def test_the_whole() -> None:
    assert parse(VALUE, "a file") == Profile(
        origin="a file",
        event="cycles",
        seconds=2.5,
        cpus=(0, 3),
        kernel=(
            SymbolSamples("start_xmit", "virtio_net", {3: 25}),
            SymbolSamples("dst_release", None, {0: 5, 3: 10}),
            SymbolSamples("start_xmit", None, {0: 5}),
        ),
        user_samples=55,
        idle_samples=1000,
        lost=4,
        throttled=6,
        shares_percent={"start_xmit": 30.0, "dst_release": 15.0},
        limits=("cpu 7 went offline",),
        kernel_release="6.18.1",
        taken_at_ns=17,
        cpu_s=0.25,
    )


def test_nothing_was_sampled() -> None:
    found = parse(VALUE | {"kernel": [], "user_samples": 0})
    assert found.shares_percent == {}
    assert found.origin == "this machine"


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"event": 5}, "$.event:"),
        ({"seconds": -1}, "$.seconds:"),
        ({"seconds": 10**400}, "$.seconds:"),
        ({"seconds": True}, "$.seconds:"),
        ({"seconds": float("nan")}, "$.seconds:"),
        ({"cpus": [8192]}, "$.cpus[0]:"),
        ({"cpus": "0-3"}, "$.cpus:"),
        ({"kernel": [["a", None]]}, "$.kernel[0]:"),
        ({"kernel": [["a", None, {"0": 1}], ["a", None, {"1": 2}]]}, "$.kernel[1]: the symbol 'a' occurs twice"),
        ({"kernel": [["a\x1b[1m", None, {"0": 1}]]}, "$.kernel[0][0]:"),
        ({"kernel": [["a", "", {"0": 1}]]}, "$.kernel[0][1]:"),
        ({"kernel": [["a", None, {"x": 1}]]}, "$.kernel[0][2].x:"),
        ({"kernel": [["a", None, {"0": 1.5}]]}, "$.kernel[0][2]['0']:"),
        ({"kernel": [["a", None, {"0": 10**30}]]}, "$.kernel[0][2]['0']:"),
        ({"user_samples": None}, "$.user_samples:"),
        ({"idle_samples": -3}, "$.idle_samples:"),
        ({"lost": "4"}, "$.lost:"),
        ({"throttled": 2**70}, "$.throttled:"),
        ({"limits": [""]}, "$.limits[0]:"),
        ({"limits": ["a"] * 65}, "$.limits:"),
        ({"kernel_release": 6.18}, "$.kernel_release:"),
        ({"taken_at_ns": "now"}, "$.taken_at_ns:"),
        ({"cpu_s": []}, "$.cpu_s:"),
    ],
)
def test_a_fault_is_named_with_its_path(changed: dict[str, Any], path: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(VALUE | changed)
    assert str(caught.value).startswith(path)
