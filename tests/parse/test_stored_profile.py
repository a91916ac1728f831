from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.make_profile import reported, sampled
from tuneagent.model.errors import ParseError
from tuneagent.model.profile import Profile
from tuneagent.parse import stored_profile
from tuneagent.profile.fold import fold
from tuneagent.report.profile_json import to_json

PROFILE = sampled(
    {"virtio_net:virtnet_poll": {0: 11, 3: 7}, "dst_release": {3: 5}},
    user=13,
    idle=17,
    seconds=1.5,
    cpus=(0, 2, 3),
    lost=3,
    throttled=4,
    limits=("a limit",),
    kernel_release="6.12.1",
    taken_at_ns=1_700_000_000_000_000_001,
    cpu_s=0.125,
)


def stored(profile: Profile) -> Any:
    return json.loads(json.dumps(to_json(fold(profile), "9.9")))


def test_what_is_written_is_read_back() -> None:
    assert stored_profile.parse(stored(PROFILE)) == PROFILE


def test_shares_are_read_back() -> None:
    shares = reported(dst_release=3.43, ip_rcv=2.5)
    assert stored_profile.parse(stored(shares)) == shares


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("schema", "tuneagent.snapshot/1", '$.schema: not "tuneagent.profile/1"'),
        ("event", "\x1b[31m", "$.event: holds the unprintable character '\\x1b'"),
        ("cpus", "3-1", "$.cpus: '3-1' runs backwards"),
        ("cpus", 5, "$.cpus: a number, not a string"),
        ("seconds", -1, "$.seconds: not within 0 to 86400"),
        ("seconds", True, "$.seconds: not a number"),
        ("seconds", 10**400, "$.seconds: not within 0 to 86400"),
        ("user_samples", None, "$.user_samples: null, not a whole number"),
        ("limits", {}, "$.limits: an object, not an array"),
        ("symbols", None, "$.symbols: null, not an array"),
        ("symbols", [5], "$.symbols[0]: a number, not an object"),
        ("symbols", [{"symbol": "f", "percent": 101}], "$.symbols[0].percent: not within 0 to 100"),
        (
            "symbols",
            [{"symbol": "f", "samples": 4, "per_cpu": {"0": 1, "5": 2}}],
            "$.symbols[0].samples: not the sum of per_cpu",
        ),
        (
            "symbols",
            [{"symbol": "f", "samples": 1, "per_cpu": {"x": 1}}],
            "$.symbols[0].per_cpu.x: 'x' is not a number",
        ),
        (
            "symbols",
            [{"symbol": "f", "samples": 1, "per_cpu": {"0": 1}}] * 2,
            "$.symbols[1]: the symbol 'f' occurs twice",
        ),
        (
            "symbols",
            [{"symbol": "f", "samples": 1, "per_cpu": {"0": 1}}, {"symbol": "g", "percent": 2}],
            "$.symbols: some have samples and some have none",
        ),
    ],
)
def test_the_first_wrong_value_is_named(key: str, value: Any, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        stored_profile.parse(stored(PROFILE) | {key: value})
    assert caught.value.detail == said


@given(st.data())
def test_whatever_stands_there_is_read_or_refused(data: st.DataObject) -> None:
    value = copy.deepcopy(stored(PROFILE))
    odd = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just([]), st.just({}))
    place = data.draw(st.sampled_from([value, value["symbols"][0], value["symbols"][0]["per_cpu"]]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(odd)
    try:
        stored_profile.parse(value)
    except ParseError as error:
        assert error.detail.startswith("$")  # noqa: PT017 - most values are refused, some are not
