from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.make_contention import AFTER_HANDLER, EDGE, PLACED, SHOWN, VLAN_TRANSMIT, stack
from tuneagent.contention.frames import from_caller
from tuneagent.contention.groups import REACH, TABLES, group, known
from tuneagent.model.contention import LockGroup, LockKind

SYSCALL = ("do_syscall_64", "entry_SYSCALL_64_after_hwframe")
SENT = ("dev_hard_start_xmit", "sch_direct_xmit", "__dev_queue_xmit", "ip_finish_output2", "__tcp_transmit_skb",
        "tcp_write_xmit", "tcp_sendmsg_locked", "tcp_sendmsg")  # fmt: skip
PLACES: list[tuple[LockGroup, tuple[str | None, ...]]] = [
    (LockGroup.IRQ_DESCRIPTOR, EDGE),
    (LockGroup.IRQ_DESCRIPTOR, AFTER_HANDLER),
    (LockGroup.IRQ_DESCRIPTOR, SHOWN),
    (LockGroup.IRQ_DESCRIPTOR, PLACED),
    (LockGroup.IRQ_DESCRIPTOR, ("handle_fasteoi_irq", "generic_handle_domain_irq", "gic_handle_irq")),
    (LockGroup.IRQ_DESCRIPTOR, ("handle_level_irq", "generic_handle_irq_desc", "common_interrupt")),
    (LockGroup.IRQ_DESCRIPTOR, ("irq_do_set_affinity", "irq_set_affinity_locked", "irq_set_affinity")),
    (LockGroup.IRQ_DESCRIPTOR, ("__irq_get_desc_lock", "__disable_irq_nosync", "disable_irq_nosync_lockdep")),
    (LockGroup.IRQ_DESCRIPTOR, ("irq_affinity_online_cpu", "cpuhp_invoke_callback")),
    (LockGroup.TRANSMIT, VLAN_TRANSMIT),
    (LockGroup.TRANSMIT, ("_raw_spin_lock", *SENT[1:], *SYSCALL)),
    (LockGroup.TRANSMIT, ("vlan_dev_hwaccel_hard_start_xmit", "dev_hard_start_xmit", "dev_queue_xmit")),
    (LockGroup.TRANSMIT, ("start_xmit", *SENT)),
    (LockGroup.TRANSMIT, ("ixgbe_xmit_frame_ring", *SENT)),
    (LockGroup.TRANSMIT, ("virtnet_poll_tx", "__napi_poll", "net_rx_action", "handle_softirqs")),
    (LockGroup.TRANSMIT, ("driver_ring_lock", "e1000_xmit_frame", *SENT)),
    (LockGroup.QDISC, ("__qdisc_run", "__dev_queue_xmit", "ip_finish_output2")),
    (LockGroup.QDISC, ("net_tx_action", "handle_softirqs", "irq_exit_rcu", "common_interrupt")),
    (LockGroup.QDISC, ("pfifo_fast_enqueue", "__dev_queue_xmit")),
    (LockGroup.QDISC, ("fq_codel_dequeue", "__qdisc_run")),
    (LockGroup.NEIGHBOUR_ROUTE, ("__neigh_event_send", "neigh_resolve_output", "ip_finish_output2")),
    (LockGroup.NEIGHBOUR_ROUTE, ("neigh_timer_handler", "call_timer_fn", "__run_timers")),
    (LockGroup.NEIGHBOUR_ROUTE, ("rt_add_uncached_list", "rt_set_nexthop", "ip_route_output_key_hash_rcu")),
    (LockGroup.NEIGHBOUR_ROUTE, ("ip6_pol_route", "fib6_rule_lookup", "ip6_route_input_lookup")),
    (LockGroup.NEIGHBOUR_ROUTE, ("fib6_run_gc", "ip6_dst_gc", "dst_alloc")),
    (LockGroup.SOCKET, ("lock_sock_nested", "tcp_sendmsg", "inet_sendmsg", *SYSCALL)),
    (LockGroup.SOCKET, ("release_sock", "tcp_recvmsg")),
    (LockGroup.SOCKET, ("tcp_v4_rcv", "ip_protocol_deliver_rcu")),
    (LockGroup.SOCKET, ("__udp_enqueue_schedule_skb", "udp_queue_rcv_one_skb")),
    (LockGroup.SOCKET, ("__wake_up_common_lock", "__wake_up_sync_key", "sock_def_readable", "tcp_data_queue")),
    (LockGroup.SOCKET, ("skb_queue_tail", "unix_dgram_sendmsg")),
    (LockGroup.SOCKET, ("unix_stream_sendmsg", "sock_write_iter", "vfs_write")),
    (LockGroup.MEMORY, ("rmqueue", "get_page_from_freelist", "__alloc_pages", "skb_page_frag_refill")),
    (LockGroup.MEMORY, ("free_pcppages_bulk", "free_unref_page_commit", "skb_release_data", "tcp_recvmsg")),
    (LockGroup.MEMORY, ("__slab_free", "kfree_skb_reason", "tcp_ack")),
    (LockGroup.MEMORY, ("folio_lruvec_lock_irqsave", "folio_batch_move_lru")),
    (LockGroup.MEMORY, ("do_user_addr_fault", "exc_page_fault", "asm_exc_page_fault", "futex_wait")),
    (LockGroup.MEMORY, ("__vm_munmap", "__x64_sys_munmap", *SYSCALL)),
    (LockGroup.RUNQUEUE, ("raw_spin_rq_lock_nested", "try_to_wake_up", "futex_wake")),
    (LockGroup.RUNQUEUE, ("try_to_wake_up", "wake_up_q", "futex_wake")),
    (LockGroup.RUNQUEUE, ("__schedule", "schedule", "futex_wait_queue")),
    (LockGroup.RUNQUEUE, ("load_balance", "rebalance_domains", "handle_softirqs")),
    (LockGroup.RUNQUEUE, ("sched_balance_newidle", "pick_next_task_fair")),
    (LockGroup.FUTEX, ("futex_wake", "do_futex", "__x64_sys_futex", *SYSCALL)),
    (LockGroup.FUTEX, ("futex_q_lock", "futex_wait_setup", "__futex_wait")),
    (LockGroup.FILES, ("path_openat", "do_filp_open", "do_sys_openat2")),
    (LockGroup.FILES, ("dput", "__fput", "task_work_run")),
    (LockGroup.FILES, ("lockref_get_not_dead", "__legitimize_path")),
    (LockGroup.FILES, ("pipe_write", "vfs_write", "ksys_write")),
    (LockGroup.OTHER, ("enqueue_to_backlog", "netif_rx_internal", "veth_xmit", *SENT)),
    (LockGroup.OTHER, ("lock_timer_base", "mod_timer", "sk_reset_timer", "tcp_rearm_rto")),
    (LockGroup.OTHER, ("ep_poll_callback", "__wake_up_common", "sock_def_readable")),
    (LockGroup.OTHER, ("apic_set_affinity", "msi_set_affinity", "irq_do_set_affinity")),
    (LockGroup.OTHER, ("my_module_lock", "a", "b", "c", "d", "tcp_sendmsg")),
    (LockGroup.OTHER, ("my_timer", "asm_sysvec_apic_timer_interrupt", "tcp_sendmsg", *SYSCALL)),
    (LockGroup.OTHER, ("my_softirq", "handle_softirqs", "futex_wake", *SYSCALL)),
    (LockGroup.OTHER, (None,)),
    (LockGroup.OTHER, ()),
    (LockGroup.SOCKET, (None, "sock_def_readable")),
]


@pytest.mark.parametrize(("expected", "names"), PLACES, ids=[str(names[:2]) for _, names in PLACES])
def test_what_people_call_it(expected: LockGroup, names: tuple[str | None, ...]) -> None:
    assert group(from_caller(stack(*names)), LockKind.SPIN) is expected


def test_a_mutex_on_the_way_to_a_descriptor_is_no_descriptor_lock() -> None:
    assert group(("show_interrupts", "seq_read_iter"), LockKind.SPIN) is LockGroup.IRQ_DESCRIPTOR
    assert group(("show_interrupts", "seq_read_iter"), LockKind.MUTEX) is LockGroup.FILES
    assert group(("__setup_irq",), LockKind.MUTEX) is LockGroup.OTHER


def test_no_function_is_of_two_groups() -> None:
    told: dict[str, LockGroup] = {}
    for table in TABLES:
        for word in (*table.names.split(), *table.begins.split(), *table.ends.split()):
            assert told.setdefault(word, table.group) is table.group, word
            assert table.files


def test_every_function_of_a_table_is_known_by_it() -> None:
    for table in TABLES:
        for name in table.names.split():
            assert known(name) is table.group
        for part in table.ends.split():
            assert known(f"somebody{part}") is table.group


def test_every_group_has_its_reach() -> None:
    assert set(REACH) == set(LockGroup)


NAMES = st.none() | st.text(max_size=12) | st.sampled_from([name for table in TABLES for name in table.names.split()])


@given(st.lists(NAMES, max_size=8), st.sampled_from(LockKind))
def test_every_stack_has_a_group(names: list[str | None], kind: LockKind) -> None:
    assert group(names, kind) in LockGroup
