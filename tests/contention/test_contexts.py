from __future__ import annotations

import pytest

from tests.make_contention import EDGE, SHOWN, VLAN_TRANSMIT
from tuneagent.contention.contexts import context, within
from tuneagent.model.contention import Context

TASK_BELOW = ("tcp_sendmsg", "do_syscall_64", "entry_SYSCALL_64_after_hwframe")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (EDGE, Context.HARDIRQ),
        (VLAN_TRANSMIT, Context.SOFTIRQ),
        (SHOWN, Context.TASK),
        (("f", "asm_sysvec_apic_timer_interrupt", *TASK_BELOW), Context.HARDIRQ),
        (
            ("f", "__do_softirq", "irq_exit_rcu", "common_interrupt", "asm_common_interrupt", *TASK_BELOW),
            Context.SOFTIRQ,
        ),
        (("f", "handle_softirqs", "do_softirq", "__local_bh_enable_ip", *TASK_BELOW), Context.SOFTIRQ),
        (("f", "handle_softirqs", "run_ksoftirqd", "smpboot_thread_fn", "kthread", "ret_from_fork"), Context.SOFTIRQ),
        (("f", "napi_threaded_poll", "kthread", "ret_from_fork_asm"), Context.TASK),
        (("f", "irq_thread", "kthread"), Context.TASK),
        (("__schedule", "schedule", "exit_to_user_mode_loop", "asm_sysvec_reschedule_ipi"), Context.TASK),
        (("__schedule", "preempt_schedule_irq", "irqentry_exit", "asm_sysvec_reschedule_ipi", "f"), Context.TASK),
        (("handle_fasteoi_irq", "generic_handle_domain_irq", "gic_handle_irq", "el1h_64_irq"), Context.HARDIRQ),
        (("f", "el0_svc_common", "do_el0_svc", "el0t_64_sync"), Context.TASK),
        (("f", "do_user_addr_fault", "asm_exc_page_fault"), Context.TASK),
        (("f", "schedule_idle", "do_idle", "cpu_startup_entry"), Context.TASK),
        (("f", "g"), Context.TASK),
        (("f", None), None),
        ((None,), None),
        ((), None),
    ],
)
def test_the_innermost_entry_tells(names: tuple[str | None, ...], expected: Context | None) -> None:
    assert context(names, 101) is expected


def test_the_idle_task_waits_for_little_by_itself() -> None:
    assert context(("f", "g"), 0) is None
    assert context(EDGE, 0) is Context.HARDIRQ


def test_what_was_interrupted_is_not_within() -> None:
    assert within(("f", "g", "asm_common_interrupt", *TASK_BELOW)) == ("f", "g")
    assert within(("f", "do_user_addr_fault", "asm_exc_page_fault", *TASK_BELOW)) == ("f", "do_user_addr_fault")
    assert within(("f", None)) == ("f", None)
