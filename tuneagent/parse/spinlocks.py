"""Whether lock:contention_begin shows waits for spinlocks here, from what the kernel said when it booted.

arch/x86/kernel/paravirt-spinlocks.c, kvm.c, hyperv/hv_spinlock.c, xen/spinlock.c: with paravirtual spinlocks each wait
takes the queueing path, where the event is. A guest without them spins in virt_spin_lock(), where there is none, unless
its hypervisor says that its CPUs are its own, or the option nopvspin was given: then it has native spinlocks.
"""

from __future__ import annotations

import re

from tuneagent.model.contention import SpinVisibility

QUEUED_EVERYWHERE = frozenset({"aarch64", "loongarch64"})
"""Architectures but x86 whose spinlocks are the generic queued ones (ARCH_USE_QUEUED_SPINLOCKS) in every kernel."""
_BEGINS = "Linux version "
_PARAVIRTUAL = "Booting paravirtualized kernel"
_TOLD = re.compile(r"(kvm-guest|Hyper-V|xen): PV spinlocks (enabled|disabled)(.*)", re.IGNORECASE)
_NATIVE = re.compile(r"KVM_HINTS_REALTIME|single CPU|nopvspin")


def visibility(architecture: str, *, hypervisor: bool | None, boot_log: str | None) -> SpinVisibility:
    """What is seen. ``hypervisor``: the CPU's flag; ``boot_log``: the kernel's lines, None where they are hidden.

    The log decides only where it holds the line, or the whole boot without the line; it forgets its oldest lines.
    """
    if architecture in QUEUED_EVERYWHERE:
        return SpinVisibility.FROM_THIRD
    if architecture != "x86_64":
        return SpinVisibility.UNKNOWN
    if hypervisor is False:
        return SpinVisibility.FROM_THIRD
    if boot_log is None or hypervisor is None:
        return SpinVisibility.UNKNOWN
    told = _TOLD.search(boot_log)
    return _silent(boot_log) if told is None else _said(told[1].lower(), told[2].lower(), told[3])


def _said(by: str, word: str, why: str) -> SpinVisibility:
    if word == "enabled":
        return SpinVisibility.EVERY
    native = _NATIVE.search(why) if by == "kvm-guest" else by == "xen"
    return SpinVisibility.FROM_THIRD if native else SpinVisibility.NONE


def _silent(boot_log: str) -> SpinVisibility:
    if _BEGINS not in boot_log:
        return SpinVisibility.UNKNOWN
    # virt_spin_lock() is compiled in with CONFIG_PARAVIRT, which says so.
    return SpinVisibility.NONE if _PARAVIRTUAL in boot_log else SpinVisibility.UNKNOWN
