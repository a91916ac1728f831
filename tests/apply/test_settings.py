from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apply import nics
from tuneagent.apply import settings
from tuneagent.apply.actuator import Actuator, Place, Refusal
from tuneagent.apply.channels import ChannelCount
from tuneagent.apply.coalescing import Coalescing
from tuneagent.apply.rings import RingSizes
from tuneagent.apply.settings import SettingsError

TARGETS: tuple[tuple[type[ChannelCount | RingSizes | Coalescing], str | None], ...] = (
    (ChannelCount, None),
    (RingSizes, "rx tx"),
    (Coalescing, "rx-usecs tx-usecs"),
)
KEYS: dict[str, type[int]] = {"adaptive-rx": bool, "rx-usecs": int, "tx-usecs": int}


def test_a_text_is_read_and_spelt_again_in_one_order() -> None:
    values = settings.parse("tx-usecs=7 adaptive-rx=on rx-usecs=4294967295", KEYS)
    assert values == {"adaptive-rx": True, "rx-usecs": 4294967295, "tx-usecs": 7}
    assert settings.spell(values) == "adaptive-rx=on rx-usecs=4294967295 tx-usecs=7"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "'' where one of adaptive-rx, rx-usecs, tx-usecs is set, as in adaptive-rx=on"),
        ("usecs=1", "'usecs=1' where one of"),
        ("rx-usecs=1  tx-usecs=2", "'' where one of"),
        ("rx-usecs=1\ttx-usecs=2", "rx-usecs is a number up to 4294967295"),
        ("rx-usecs=1\n", "rx-usecs is a number"),
        ("rx-usecs=1 rx-usecs=1", "rx-usecs twice"),
        ("rx-usecs=4294967296", "rx-usecs is a number up to 4294967295, and not '4294967296'"),
        ("rx-usecs=-1", "and not '-1'"),
        ("rx-usecs=0x10", "and not '0x10'"),
        ("rx-usecs=on", "and not 'on'"),
        ("rx-usecs=²", "and not '²'"),
        ("rx-usecs", "and not ''"),
        ("adaptive-rx=1", "adaptive-rx is on or off, and not '1'"),
        ("adaptive-rx=ON", "on or off"),
        ("rx-usecs=1 " * 40, "a text of 440 characters; at most 200 are read"),
        ("x" * 150, f"'{'x' * 40}' where"),
    ],
)
def test_a_text_that_is_none(text: str, wrong: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings.parse(text, KEYS)
    assert wrong in str(caught.value)


@given(st.text(max_size=250) | st.from_regex(r"((adaptive-rx|rx-usecs)=(on|off|\d+) ?)+", fullmatch=True))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        values = settings.parse(text, KEYS)
    except SettingsError:
        return
    assert settings.parse(settings.spell(values), KEYS) == values


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Actuator, Place]]:
    machine = nics.tree(tmp_path_factory.mktemp("nic"))
    made: list[tuple[Actuator, Place]] = []
    for make, parameter in TARGETS:
        actuator = make(machine)
        made.append((actuator, actuator.locate(actuator.kinds[0], replace(nics.VIRTIO, parameter=parameter))))
    return made


@given(st.text(max_size=250) | st.from_regex(r"(rx|tx|rx-usecs|tx-usecs)=\d+( (rx|tx)=\d+)*|\d+", fullmatch=True))
def test_a_journal_or_a_plan_may_hold_anything(known: list[tuple[Actuator, Place]], value: str) -> None:
    for actuator, place in known:
        now = actuator.read(place)
        line = actuator.by_hand(place, value)
        assert line.isprintable()
        assert line.startswith("# ") or "'" not in line
        assert actuator.same(value, value)
        if actuator.check(place, value) is None:
            assert line.startswith("ethtool -")
        assert actuator.same(now, value) is actuator.same(value, now)
        for act in (lambda: actuator.write(place, value), lambda: actuator.effect(place, value, None)):  # noqa: B023 - called at once
            with suppress(Refusal):
                act()
