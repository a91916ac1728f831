"""What perf's texts call things: events, objects, symbols (tools/perf/util/dso.c, symbol_fprintf.c)."""

from __future__ import annotations

import re
from enum import StrEnum

from tuneagent.model.contention import Frame
from tuneagent.model.errors import ParseError

UNKNOWN = "[unknown]"
MAX_TEXT = 64 << 20
"""Characters of a text; what is longer is cut by who made it, not read for minutes."""
MAX_SYMBOL = 512
"""KSYM_NAME_LEN."""

_CYCLES = re.compile(r"cpu[-_]cycles|cycles|cpu-clock|task-clock|ref-cycles", re.IGNORECASE)
_MODULE_FILE = re.compile(r"([^/]{1,128})\.ko(?:\.(?:gz|xz|zst|debug))?")
_OFFSET = re.compile(r"0x[0-9a-f]{1,16}")
_ADDRESS = re.compile(r"(?:0x)?[0-9a-f]{1,16}")
_OF_PROCESSES = ("[vdso", "[vsyscall", "[vvar", "[heap", "[stack", "[anon", "[JIT]")
_UPPER_HALF = 1 << 63

_IDLE = frozenset({
    "__cpuidle_text_start", "acpi_idle_do_entry", "acpi_idle_enter", "acpi_processor_ffh_cstate_enter",
    "acpi_safe_halt", "arch_cpu_idle", "cpu_do_idle", "cpu_idle", "cpu_idle_poll", "cpu_startup_entry",
    "cpuidle_enter", "cpuidle_enter_state", "default_enter_idle", "default_idle", "default_idle_call", "do_idle",
    "enabled_wait", "enter_idle", "exit_idle", "haltpoll_enter_idle", "idle_cpu", "intel_idle", "intel_idle_hlt",
    "intel_idle_ibrs", "intel_idle_irq", "mwait_idle", "mwait_idle_with_hints", "native_safe_halt", "poll_idle",
    "ppc64_runlatch_off", "pseries_dedicated_idle_sleep", "psw_idle", "psw_idle_exit", "pv_native_safe_halt",
    "shared_cede_loop", "snooze_loop", "xen_safe_halt",
})  # fmt: skip
"""tools/perf/util/symbol.c ``symbol__is_idle``, and what kernels have named so since."""


class Place(StrEnum):
    """Whose code a sample hit."""

    KERNEL = "kernel"
    USER = "user"
    GUEST = "guest"


def require_bounded(text: str) -> None:
    """ParseError for a text that is too long to read."""
    if len(text) > MAX_TEXT:
        raise ParseError(f"more than {MAX_TEXT >> 20} Mi characters")


def event_name(printed: str) -> str:
    """``cycles:ppp`` and ``cpu_core/cycles/P`` are ``cycles``; a tracepoint keeps both its names."""
    unit, slash, rest = printed.partition("/")
    name = rest.partition("/")[0].partition(",")[0] if slash else printed
    if slash and not _CYCLES.fullmatch(name):
        return printed
    return name.partition(":")[0] if slash or _CYCLES.fullmatch(unit.partition(":")[0]) else printed


def is_profile_event(name: str) -> bool:
    """Whether samples of the event stand for time on a CPU."""
    return _CYCLES.fullmatch(name) is not None


def place_of(dso: str | None, address: int | None) -> Place:
    """Whose code lies in the object; an object that perf does not know goes by the half of the address space."""
    if dso is not None and dso.startswith("[guest"):
        return Place.GUEST
    if dso is None or dso in {"", UNKNOWN}:
        return Place.KERNEL if address is not None and address >= _UPPER_HALF else Place.USER
    if dso.startswith(_OF_PROCESSES):
        return Place.USER
    base = dso.rpartition("/")[2]
    if dso.startswith(("[", "bpf_")) or base.startswith("vmlinux") or base == "kcore" or _MODULE_FILE.fullmatch(base):
        return Place.KERNEL
    return Place.USER


def is_idle(symbol: str) -> bool:
    """Whether the idle task waits there; whatever else is done in its name, interrupts above all, is no idleness."""
    return symbol.partition(".")[0] in _IDLE


def module_of(dso: str | None) -> str | None:
    """Name of the module as lsmod prints it; None for the kernel proper and for what is not the kernel's."""
    if dso is None or dso.startswith("[kernel") or place_of(dso, None) is not Place.KERNEL:
        return None
    if dso.startswith("bpf_"):
        return "bpf"
    if dso.startswith("["):
        return dso.strip("[]") or None
    file = _MODULE_FILE.fullmatch(dso.rpartition("/")[2])
    return file[1].replace("-", "_") if file else None


def symbol_of(printed: str) -> str | None:
    """The symbol without the dot that ppc64 puts before code; None for an address or nothing."""
    name = printed[:MAX_SYMBOL]
    if name.startswith(".") and len(name) > 1 and (name[1].isalpha() or name[1] == "_"):
        name = name[1:]
    return None if name in {"", UNKNOWN} or (name.startswith("0x") and _ADDRESS.fullmatch(name)) else name


def frame_of(printed: str, module: str | None = None) -> Frame:
    """``symbol+0x10`` as a frame; without symbol where perf printed an address or nothing."""
    name, plus, offset = printed.rpartition("+")
    if not plus or not _OFFSET.fullmatch(offset):
        name, offset = printed, "0x0"
    symbol = symbol_of(name.strip())
    return Frame(symbol, module, None if symbol is None else int(offset, 16))


def address_of(word: str) -> int | None:
    """A hexadecimal address, with or without 0x; None for another word."""
    return int(word, 16) if _ADDRESS.fullmatch(word) else None
