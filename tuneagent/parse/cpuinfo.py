"""/proc/cpuinfo: whether the CPU says that a hypervisor is below (CPUID.1:ECX bit 31, arch/x86/kernel/cpu/proc.c)."""

from __future__ import annotations

from tuneagent.parse.lines import empty


def parse(text: str) -> bool | None:
    """Whether ``flags`` of the first CPU holds ``hypervisor``; None where there are no flags, as on arm.

    ParseError (EMPTY) for a text with nothing in it.
    """
    if not text or text.isspace():
        raise empty()
    for line in text.split("\n"):
        key, colon, value = line.partition(":")
        if colon and key.strip() == "flags":
            return "hypervisor" in value.split()
    return None
