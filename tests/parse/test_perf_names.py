from __future__ import annotations

import pytest

from tuneagent.model.contention import Frame
from tuneagent.model.errors import ParseError
from tuneagent.parse import perf_names
from tuneagent.parse.perf_names import (
    Place,
    event_name,
    frame_of,
    is_idle,
    is_profile_event,
    module_of,
    place_of,
    symbol_of,
)

HIGH = 0xFFFFFFFF81000000


@pytest.mark.parametrize(
    ("printed", "name", "profile"),
    [
        ("cycles", "cycles", True),
        ("cycles:ppp", "cycles", True),
        ("cpu-clock:pppH", "cpu-clock", True),
        ("task-clock:u", "task-clock", True),
        ("cpu_core/cycles/P", "cycles", True),
        ("cpu/cpu-cycles,freq=99/", "cpu-cycles", True),
        ("armv8_pmuv3_0/CPU_CYCLES/", "CPU_CYCLES", True),
        ("instructions:u", "instructions:u", False),
        ("cpu/cache-misses/", "cpu/cache-misses/", False),
        ("lock:contention_begin", "lock:contention_begin", False),
    ],
)
def test_events_lose_unit_and_modifiers(printed: str, name: str, profile: bool) -> None:  # noqa: FBT001  # a table
    assert event_name(printed) == name
    assert is_profile_event(name) is profile


@pytest.mark.parametrize(
    ("dso", "address", "place", "module"),
    [
        ("[kernel.kallsyms]", HIGH, Place.KERNEL, None),
        ("[kernel.vmlinux]", None, Place.KERNEL, None),
        ("/usr/lib/debug/boot/vmlinux-6.12.1", HIGH, Place.KERNEL, None),
        ("/proc/kcore", HIGH, Place.KERNEL, None),
        ("[virtio_net]", None, Place.KERNEL, "virtio_net"),
        ("/lib/modules/6.12/kernel/net/nf-tables.ko.xz", HIGH, Place.KERNEL, "nf_tables"),
        ("bpf_prog_6deef7357e7b4530_sd_fw_egress", HIGH, Place.KERNEL, "bpf"),
        ("[guest.kernel.kallsyms.4242]", HIGH, Place.GUEST, None),
        ("[vdso]", 0x7FFF00001000, Place.USER, None),
        ("[JIT] tid 21507", None, Place.USER, None),
        ("/usr/lib/libc.so.6", 0x2000, Place.USER, None),
        ("[unknown]", HIGH, Place.KERNEL, None),
        ("[unknown]", 0x2000, Place.USER, None),
        (None, 0xC000000000001000, Place.KERNEL, None),
        (None, None, Place.USER, None),
    ],
)
def test_objects_are_the_kernels_or_not(dso: str | None, address: int | None, place: Place, module: str | None) -> None:
    assert place_of(dso, address) is place
    assert module_of(dso) == module


@pytest.mark.parametrize(
    ("printed", "symbol"),
    [
        ("__x64_sys_call.part.0", "__x64_sys_call.part.0"),
        (".ip6_pol_route", "ip6_pol_route"),
        (".L123", "L123"),
        ("...", "..."),
        ("0xffffffffc0a1b2c3", None),
        ("[unknown]", None),
        ("", None),
        ("0xyz", "0xyz"),
    ],
)
def test_symbols_with_odd_names(printed: str, symbol: str | None) -> None:
    assert symbol_of(printed) == symbol


def test_the_idle_task_waits_in_known_places() -> None:
    assert is_idle("mwait_idle_with_hints.constprop.0")
    assert is_idle("pv_native_safe_halt")
    assert not is_idle("handle_edge_irq")


def test_a_frame_is_a_symbol_and_an_offset() -> None:
    assert frame_of("handle_edge_irq+0xd3", "m") == Frame("handle_edge_irq", "m", 0xD3)
    assert frame_of("handle_edge_irq") == Frame("handle_edge_irq", None, 0)
    assert frame_of("operator+") == Frame("operator+", None, 0)
    assert frame_of("0xffffffffc0a1b2c3", "m") == Frame(None, "m", None)


def test_a_text_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_names, "MAX_TEXT", 10)
    perf_names.require_bounded("x" * 10)
    with pytest.raises(ParseError):
        perf_names.require_bounded("x" * 11)
