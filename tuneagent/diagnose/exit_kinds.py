"""VM exits by KVM's kinds: which there were, what each means, and which of them are only idleness."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.wording import clean
from tuneagent.model.domain_view import KvmRate
from tuneagent.model.figure import figure
from tuneagent.model.finding import Evidence

MEANING = {
    "io_exits": "port access: emulated devices, and notifications of virtio's legacy interface",
    "mmio_exits": "device memory that QEMU has to serve",
    "mmio_exit_user": "device memory that QEMU has to serve",
    "mmio_exit_kernel": "device memory that the kernel serves, notifications among it",
    "halt_exits": "the guest went idle",
    "wfi_exit_stat": "the guest went idle",
    "wfe_exit_stat": "the guest waited for an event",
    "irq_exits": "an interrupt of the host came, also one that brings the vCPU one of the guest's",
    "irq_window_exits": "the guest had to be waited for to inject an interrupt",
    "nmi_window_exits": "the guest had to be waited for to inject an NMI",
    "request_irq_exits": "QEMU waited to inject an interrupt",
    "signal_exits": "a signal took the vCPU out to QEMU",
    "hypercalls": "calls of the guest to KVM",
    "hvc_exit_stat": "calls of the guest to KVM",
    "notify_window_exits": "the guest kept interrupts out too long",
    "ecall_exit_stat": "calls of the guest to KVM",
    "csr_exit_user": "registers that QEMU serves",
    "csr_exit_kernel": "registers that the kernel serves",
    "int_exits": "an interrupt of the host came",
    "idle_exits": "the guest went idle",
    "cpucfg_exits": "the guest asked what the CPU can do",
    "hypercall_exits": "calls of the guest to KVM",
}
"""What KVM counts under each name (arch/x86/kvm, arch/arm64/kvm, arch/riscv/kvm, arch/loongarch/kvm)."""
IDLE = ("halt_exits", "wfi_exit_stat", "idle_exits")
UNNAMED = "without a kind: notifications through ioeventfd, timers, interrupts between vCPUs, page faults"
SHOWN = 5


def idle_per_sec(rate: KvmRate) -> float | None:
    """Exits a second by which the guest only went idle; None where this kernel does not tell them apart."""
    known = [rate.per_sec[name] for name in IDLE if name in rate.per_sec]
    return sum(known) if known else None


def described(rate: KvmRate) -> str:
    """One sentence: the biggest kinds with their meaning, and what has none. Empty where no kind is told."""
    every = rate.exits_by_kind
    if not every:
        return "Their kinds are not told." if not rate.exits_are_a_sum else ""
    named = [f"{figure(value)}/s {_meaning(name)}" for name, value in every[:SHOWN]]
    rest = 0.0 if rate.exits_are_a_sum else (rate.exits_per_sec or 0.0) - sum(value for _, value in every)
    if rest > 0:
        named.append(f"{figure(rest)}/s {UNNAMED}")
    return f"Of these {'; '.join(named)}."


def _meaning(name: str) -> str:
    return f"{clean(name)} ({MEANING[name]})" if name in MEANING else clean(name)


def evidence(rate: KvmRate, shown: int = SHOWN) -> tuple[Evidence, ...]:
    """The biggest kinds, and the whole."""
    source = sources.kvm(rate.source)
    total = "exit_family_sum_per_sec" if rate.exits_are_a_sum else "exits_per_sec"
    return (
        Evidence(total, rate.exits_per_sec, "1/s", source),
        *(Evidence(f"{clean(name)}_per_sec", value, "1/s", source) for name, value in rate.exits_by_kind[:shown]),
    )
