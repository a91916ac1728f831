from __future__ import annotations

import pytest

from tests.make_contention import stack
from tuneagent.contention.frames import from_caller, normalised


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("dst_release", "dst_release"),
        (".ip6_pol_route", "ip6_pol_route"),
        ("write_irq_affinity.constprop.0", "write_irq_affinity"),
        ("__netif_receive_skb_core.constprop.0.isra.12", "__netif_receive_skb_core"),
        ("irq_set_affinity_locked.part.0", "irq_set_affinity_locked"),
        ("mod_timer.cold", "mod_timer"),
        ("free_block.llvm.1234567890123", "free_block"),
        ("..part.0", "part"),
        (".", "."),
        ("...", "..."),
        ("", ""),
    ],
)
def test_names_are_those_of_the_source(symbol: str, expected: str) -> None:
    assert normalised(symbol) == expected


def test_a_name_made_to_take_long_does_not() -> None:
    assert normalised("f" + ".part.0" * 200 + "!") == "f" + ".part.0" * 200 + "!"


@pytest.mark.parametrize(
    "lock",
    [
        ("__pv_queued_spin_lock_slowpath", "_raw_spin_lock_irqsave"),
        ("native_queued_spin_lock_slowpath", "_raw_spin_lock"),
        ("native_queued_spin_lock_slowpath.part.0", "do_raw_spin_lock", "_raw_spin_lock_bh"),
        ("trace_contention_begin", "queued_spin_lock_slowpath", "_raw_spin_lock_nested"),
        ("__traceiter_contention_begin", "__pv_queued_spin_lock_slowpath", "_raw_spin_lock"),
        ("perf_trace_contention_begin", "__traceiter_contention_begin", "__pv_queued_spin_lock_slowpath"),
        ("bpf_trace_run2", "__bpf_trace_contention_begin", "queued_write_lock_slowpath", "_raw_write_lock_bh"),
        (None, "bpf_trace_run2", "queued_read_lock_slowpath", "_raw_read_lock"),
        ("kvm_wait", "__pv_queued_spin_lock_slowpath", "__raw_callee_save___pv_queued_spin_lock", "_raw_spin_lock"),
        ("__mutex_lock.constprop.0", "__mutex_lock_slowpath", "mutex_lock_interruptible"),
        ("mutex_optimistic_spin", "__ww_mutex_lock.constprop.0", "ww_mutex_lock"),
        ("rwsem_down_write_slowpath", "__down_write_common", "down_write_killable"),
        ("rwsem_down_read_slowpath", "down_read"),
        ("___down_common", "__down_interruptible", "down_interruptible"),
        ("percpu_rwsem_wait", "__percpu_down_read", "percpu_down_write"),
        ("rtlock_slowlock_locked", "rt_spin_lock"),
        ("rt_mutex_slowlock_block.constprop.0", "__rt_mutex_slowlock", "rt_mutex_lock"),
        ("queued_spin_lock_slowpath", "_raw_spin_lock", "_atomic_dec_and_lock"),
        ("arch_spin_lock_wait",),
        (),
    ],
)
def test_the_caller_is_behind_the_code_of_the_lock(lock: tuple[str | None, ...]) -> None:
    assert from_caller(stack(*lock, "dev_watchdog.part.0", None, "call_timer_fn")) == (
        "dev_watchdog",
        None,
        "call_timer_fn",
    )


@pytest.mark.parametrize(
    "symbol", ["lock_sock_nested", "raw_spin_rq_lock_nested", "down_timeout_work", "queued_work", "rtnl_lock"]
)
def test_what_only_sounds_like_a_lock_is_a_caller(symbol: str) -> None:
    assert from_caller(stack("_raw_spin_lock", symbol, "x")) == (symbol, "x")


def test_a_caller_without_a_name_is_one() -> None:
    assert from_caller(stack("_raw_spin_lock", None, "x")) == (None, "x")
    assert from_caller(stack("_raw_spin_lock")) == ()
    assert from_caller(()) == ()
