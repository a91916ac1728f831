"""The table of all sockets' flows."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apply.machines import Faulty, machine
from tests.observe.looking import put
from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.flow_entries import PATH, FlowEntries
from tuneagent.machine.writable import WritableRoot
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect

KIND = TunableKind.RPS_SOCK_FLOW_ENTRIES


class Rounding(WritableRoot):
    """Keeps what the kernel makes of a number: the next power of two (rps_sock_flow_sysctl())."""

    def write_value(self, path: str, text: str) -> None:
        size = 1
        while size < int(text):
            size *= 2
        super().write_value(path, f"{size if int(text) else 0}\n")


def test_the_kernel_rounds_up(tmp_path: Path) -> None:
    put(tmp_path, PATH, "4096\n")
    entries = FlowEntries(machine(tmp_path, Rounding(str(tmp_path))))
    place = entries.locate(KIND, Target())
    assert (place.where, entries.read(place)) == (PATH, "4096")
    entries.write(place, "30000")
    assert entries.read(place) == "32768"
    assert entries.same(entries.read(place), "30000")
    assert entries.effect(place, "30000", None).effect is Effect.VERIFIED
    assert entries.effect(place, "16384", None).effect is Effect.CONTRADICTED
    entries.write(place, "4096")
    assert (tmp_path / PATH[1:]).read_text() == "4096\n"
    assert entries.by_hand(place, "0") == f"echo 0 > {PATH}"


def test_a_network_namespace_does_not_show_it(tmp_path: Path) -> None:
    put(tmp_path, "/proc/sys/net/core/rps_default_mask", "0\n")
    entries = FlowEntries(machine(tmp_path))
    place = entries.locate(KIND, Target())
    for attempt in (lambda: entries.read(place), lambda: entries.write(place, "64")):
        with pytest.raises(Refusal) as refused:
            attempt()
        assert refused.value.why is Why.FACT


def test_a_sandbox(tmp_path: Path) -> None:
    put(tmp_path, PATH, "4096\n")
    entries = FlowEntries(machine(tmp_path, Faulty(str(tmp_path), {PATH: errno.EROFS})))
    with pytest.raises(Refusal) as refused:
        entries.write(entries.locate(KIND, Target()), "64")
    assert refused.value.why is Why.FORBIDDEN
    assert "ProtectKernelTunables=no" in (refused.value.remedy or "")


def test_bounds(tmp_path: Path) -> None:
    put(tmp_path, PATH, "4096\n")
    files = Faulty(str(tmp_path), {})
    entries = FlowEntries(machine(tmp_path, files))
    place = entries.locate(KIND, Target())
    assert entries.check(place, str(1 << 22)) is None
    assert entries.check(place, str((1 << 22) + 1))
    for value in (str((1 << 29) + 1), "-1", "", "many", "1\n2"):
        with pytest.raises(Refusal):
            entries.write(place, value)
    assert files.tried == []
    entries.write(place, str(1 << 29))  # what an administrator chose is given back


@given(st.integers(0, 1 << 30), st.integers(0, 1 << 30))
def test_numbers_are_one_when_the_table_is(one: int, other: int) -> None:
    entries = FlowEntries(machine("/nonexistent"))
    assert entries.same(str(one), f"{other}\n") == (_size(one) == _size(other))


@given(st.text(max_size=8), st.text(max_size=8))
def test_texts_of_any_kind_can_be_compared(one: str, other: str) -> None:
    entries = FlowEntries(machine("/nonexistent"))
    assert entries.same(one, other) == entries.same(other, one)


def _size(count: int) -> int:
    size = 1
    while size < count:
        size *= 2
    return size if count else 0
