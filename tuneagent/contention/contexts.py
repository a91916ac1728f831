"""What the CPU was doing when it waited, told by where its stack was entered.

A stack that an interrupt began goes on, behind its entry, with the frames of whatever it interrupted: those say nothing
of the wait. Entries are named for x86 (arch/x86/entry, arch/x86/include/asm/idtentry.h), arm64 (entry-common.c), arm,
riscv, powerpc and s390.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tuneagent.model.contention import Context

_SOFTIRQ = r"handle_softirqs|_*do_softirq(_own_stack|_post_smp_call_flush)?|__softirqentry_text_start|run_ksoftirqd"
"""kernel/softirq.c."""
_HARDIRQ = (
    r"(asm_|__)?common_interrupt|(asm_|__|asm_call_)?sysvec_\w+|common_interrupt_return|ret_from_intr|"
    r"apic_timer_interrupt|smp_apic_timer_interrupt|_*do_IRQ|_*do_irq|hrtimer_interrupt|"
    r"generic_handle_(domain_)?irq\w*|_*handle_domain_irq|handle_irq_desc|handle_irq|"
    r"el[01][th]?_(64_|32_)?irq(_handler)?|el[01]_interrupt|do_interrupt_handler|gic_handle_irq|__irq_(svc|usr)|"
    r"handle_riscv_irq|plic_handle_irq|hardware_interrupt_common(_virt)?|timer_interrupt|decrementer_common(_virt)?|"
    r"do_(io|ext)_irq|(io|ext)_int_handler"
)
_TASK = (
    r"entry_SYSCALL_\w+|entry_SYSENTER_\w+|do_syscall_64|x64_sys_call|do_fast_syscall_32|ret_from_fork(_asm)?|"
    r"ret_from_kernel_(user_)?thread|kthread|worker_thread|vhost_task_fn|io_wq_worker|"
    # The way out of an interrupt: what is done there, such as to give the CPU to another, is the task's own work.
    r"(raw_)?irqentry_exit\w*|exit_to_user_mode_\w+|preempt_schedule_irq|do_notify_resume|"
    r"cpu_startup_entry|do_idle|start_secondary|rest_init|secondary_startup_64\w*|"
    r"el0_svc\w*|do_el0_svc\w*|invoke_syscall|el0t_64_sync(_handler)?|ret_fast_syscall|do_trap_ecall_u|"
    r"system_call_(exception|common|vectored_common)|system_call|__do_syscall"
)
_ENTRY = re.compile(f"(?P<SOFTIRQ>{_SOFTIRQ})|(?P<HARDIRQ>{_HARDIRQ})|(?P<TASK>{_TASK})")
_EXCEPTION = re.compile(r"asm_exc_\w+|el1h_64_sync(_handler)?|el[01]_(abort|da|ia)|data_access_common\w*|do_pgm_check")
"""A fault: the code that caused it is behind its entry, in the same context."""


def context(names: Sequence[str | None], tid: int) -> Context | None:
    """Where the innermost entry was; None where none is seen and the stack may be that of anything.

    A task's stack whose functions are all known and that no interrupt entered is a task's. The idle task waits for
    little by itself: without an entry its wait is left open.
    """
    for name in names:
        found = None if name is None else _ENTRY.fullmatch(name)
        if found is not None:
            return next(one for one in Context if found[one.name])
    return Context.TASK if tid and names and None not in names else None


def within(names: Sequence[str | None]) -> Sequence[str | None]:
    """The frames up to the innermost entry by an interrupt, a soft interrupt, a fault or a system call."""
    for place, name in enumerate(names):
        if name is not None and (_ENTRY.fullmatch(name) or _EXCEPTION.fullmatch(name)):
            return names[:place]
    return names
