"""The look as a whole: its parts, its clock, and any text in the largest file."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.observe.damage import changed
from tests.observe.looking import gaps_at, look, put
from tests.trees import Guest, guest
from tuneagent import observe
from tuneagent.machine.recording import Recording
from tuneagent.machine.replay import Replay
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.clock import Clock
from tuneagent.model.missing import Reason
from tuneagent.observe.whole import COLLECTORS, snapshot

PLAIN = Guest(cpus=2, queues=2)
ROWS = st.sampled_from(
    [
        "           CPU0       CPU1",
        "           CPU0",
        " 31:       5       6  PCI-MSIX-0000:00:03.0   1-edge      virtio0-input.0",
        " 31:       5",
        " 31:       5       6       7  PCI-MSIX-0000:00:03.0   1-edge      virtio0-input.0",
        " 32:       5       6  PCI-MSIX-0000:00:99.0   1-edge      virtio0-input.99999999",
        "4294967295: 5 6 x",
        "99999999999: 5 6 x",
        " 33: 5 6  IO-APIC 11-fasteoi  virtio0, virtio0-input.1, virtio0-config",
        "ERR:  1",
        "NMI: 1 2 text",
        "\x1b[31m",
        ": :",
        "",
    ]
)
TEXTS = st.lists(ROWS | st.text(max_size=30), max_size=8).map("\n".join)


def test_every_collector_is_registered() -> None:
    modules = {module.name for module in pkgutil.iter_modules(observe.__path__)} - {"gaps", "whole"}
    assert {collector.__name__.rpartition(".")[2] for collector in COLLECTORS} == modules


def test_the_clock(tmp_path: Path) -> None:
    assert look(guest(tmp_path, clock_ns=123)).clock == Clock(123, 130, 10**18 + 123)


def test_no_clock_is_no_gap(tmp_path: Path) -> None:
    seen = look(guest(tmp_path, clock_ns=None))
    assert (seen.clock, seen.missing) == (None, ())


@pytest.mark.parametrize("text", ["", "[]", '{"monotonic_ns": 1}', '{"monotonic_ns": -1}', "{", "\x00"])
def test_a_clock_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    put(guest(tmp_path), "/captured/clock.json", text)
    seen = look(tmp_path)
    assert seen.clock is None
    assert [(gap.what, gap.reason) for gap in gaps_at(seen, "/captured/clock.json")] == [("clock", Reason.MALFORMED)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return PLAIN.write(tmp_path_factory.mktemp("plain"))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(text=TEXTS)
def test_no_table_of_interrupts_breaks_the_look(root: Path, text: str) -> None:
    put(root, "/proc/interrupts", PLAIN.files()["/proc/interrupts"])
    plain = snapshot(Sysroot(str(root)))
    (root / "proc/interrupts").write_bytes(text.encode(errors="surrogatepass"))
    seen = snapshot(Sysroot(str(root)))
    assert changed(plain, seen) <= {"interrupts", "irqs", "nics"}
    assert (seen.interrupts is None) == bool(gaps_at(seen, "/proc/interrupts"))
    nic = seen.nic("eth0")
    assert nic is not None
    assert (
        all(line.irq in {row.irq for row in seen.interrupts.rows} for line in seen.irqs or ())
        if seen.interrupts
        else (nic.queue_irqs == ())
    )


def test_a_recording_says_the_same_again(root: Path) -> None:
    put(root, "/proc/interrupts", PLAIN.files()["/proc/interrupts"])
    recording = Recording(Sysroot(str(root)))
    first = snapshot(recording)
    assert snapshot(Replay(recording.sample())) == first
