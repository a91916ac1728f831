"""Stacks by the names of their functions, from the one that wanted the lock outward."""

from __future__ import annotations

import re

from tuneagent.model.contention import Stack

UNKNOWN = "[unknown]"
"""Stands for a function whose name is not known."""

_SUFFIX = re.compile(
    r"(\.(constprop|isra|part|cold|llvm|lto_priv|localalias|ipa_ra|clone|__uniq|kcfi|cfi|cfi_jt|[0-9]+))+$"
)
"""What GCC and Clang put behind the name of a function that they split, cloned or specialised."""
_SPINLOCKS = (
    r"(native_|__pv_|pv_)?queued_(spin|read|write)_(lock|trylock)(_slowpath|_done)?|virt_spin_lock|"
    r"pv_(wait|kick)\w*|kvm_wait|xen_qlock_wait|hv_qlock_wait|__raw_callee_save_\w+|"
    r"arch_(spin|read|write)_(lock|relax)\w*|spin_lock_slowpath|__spin_yield|splpar_spin_yield|"
    r"(__|do_)?_?raw_(spin|read|write)_(lock|trylock)\w*|(rt_)?(spin|read|write)_lock\w*|__lock_text_start|"
    r"rtlock_slow\w*|rwbase_\w+|_*(atomic|refcount)_dec_and_\w*lock\w*"
)
"""kernel/locking/qspinlock*, qrwlock.c, spinlock*.c, rwbase_rt.c, lib/dec_and_lock.c, and each architecture's own."""
_SLEEPING = (
    r"_*(ww_)?mutex_(lock|trylock|optimistic_spin|spin_on_owner)\w*|osq_lock|_*rt_mutex_\w+|"
    r"rwsem_\w+|_*down(_read|_write)\w*|_*down(_common|_interruptible|_killable|_timeout|_trylock)?|"
    r"_*percpu_(down|rwsem)_\w+"
)
"""kernel/locking/mutex.c, ww_mutex.h, osq_lock.c, rtmutex*.c, rwsem.c, semaphore.c, percpu-rwsem.c."""
_TRACING = (
    r"(trace|do_trace|__bpf_trace|trace_event_raw_event)_contention_(begin|end)|__?traceiter_\w+|"
    r"bpf_trace_run[0-9]*|trace_call_bpf|perf_trace_\w+|perf_tp_event|__perf_event_output|perf_event_output\w*|"
    r"perf_prepare_sample|perf_callchain\w*|get_perf_callchain|__bpf_prog_\w+|bpf_prog_\w+|bpf_trampoline_\w+|"
    r"bpf_get_stack\w*|ftrace_(regs_)?(caller|call|stub)|ftrace_ops_\w+|function_trace_call|"
    r"lock_(acquire|acquired|contended)"
)
"""What the tracepoint itself calls: kernel/trace, kernel/events, BPF and lockdep."""
_LOCK_CODE = re.compile(f"{_SPINLOCKS}|{_SLEEPING}|{_TRACING}")
"""Code of the locks themselves and of the tracepoint: who it is called by is who waits."""


def normalised(symbol: str) -> str:
    """The name as in the source: ``.ip6_pol_route`` (ppc64 ABI v1) and ``irq_set_affinity.part.0`` lose their rest."""
    plain = symbol.lstrip(".")
    return _SUFFIX.sub("", plain) or symbol


def is_lock_code(symbol: str) -> bool:
    """Whether a function, by its normalised name, belongs to a lock or to the tracepoint."""
    return _LOCK_CODE.fullmatch(symbol) is not None


def from_caller(stack: Stack) -> tuple[str | None, ...]:
    """Names from the first function that is not the lock's own outward; None where a name is not known.

    Innermost frames without a name are passed over where the lock's code comes behind them.
    """
    names = [None if frame.symbol is None else normalised(frame.symbol) for frame in stack]
    start = 0
    for place, name in enumerate(names):
        if name is None:
            continue
        if not is_lock_code(name):
            break
        start = place + 1
    return tuple(names[start:])
