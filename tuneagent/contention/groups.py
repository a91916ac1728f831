"""What people call a lock, by the functions that want it. Each table names the file of the kernel that it rests on.

The functions are looked at from the caller outward, and the first that a table knows decides. The farther out a
function is, the less it says of the lock, so each group reaches so far only: everything that sends is called through
``__dev_queue_xmit``, which therefore counts where it wants the lock itself, or what it calls directly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tuneagent.contention.contexts import within
from tuneagent.model.contention import LockGroup, LockKind


@dataclass(frozen=True, slots=True)
class Table:
    """Functions of one file, or of a few: whole names, beginnings and ends of names."""

    group: LockGroup
    files: str
    names: str = ""
    begins: str = ""
    ends: str = ""


TABLES = (
    Table(
        LockGroup.IRQ_DESCRIPTOR,
        "kernel/irq/chip.c: the flow handlers take the lock of their descriptor first",
        names="handle_edge_irq handle_edge_eoi_irq handle_fasteoi_irq handle_fasteoi_ack_irq handle_fasteoi_mask_irq "
        "handle_fasteoi_nmi handle_level_irq handle_simple_irq handle_untracked_irq handle_nested_irq "
        "irq_startup irq_set_chip irq_set_irq_type irq_set_handler_data irq_modify_status",
    ),
    Table(
        LockGroup.IRQ_DESCRIPTOR,
        "kernel/irq/handle.c (gives the lock up for the handler, then takes it again), irqdesc.c, spurious.c, resend.c",
        names="handle_irq_event __irq_get_desc_lock note_interrupt try_one_irq misrouted_irq poll_spurious_irqs "
        "check_irq_resend irq_sw_resend resend_irqs per_cpu_count_show chip_name_show hwirq_show type_show wakeup_show "
        "name_show actions_show irq_desc_get_irq_data kstat_irqs_usr",
    ),
    Table(
        LockGroup.IRQ_DESCRIPTOR,
        "kernel/irq/manage.c, migration.c, cpuhotplug.c",
        names="irq_do_set_affinity irq_setup_affinity irq_force_affinity irq_update_affinity_desc irq_finalize_oneshot "
        "irq_thread irq_thread_fn irq_wake_thread __synchronize_irq __synchronize_hardirq synchronize_hardirq "
        "synchronize_irq enable_irq disable_irq disable_irq_nosync __disable_irq_nosync __setup_irq setup_irq free_irq "
        "__free_irq request_threaded_irq irq_set_irqchip_state irq_get_irqchip_state irq_migrate_all_off_this_cpu "
        "irq_affinity_online_cpu irq_restore_affinity_of_irq",
        begins="irq_set_affinity __irq_set_affinity irq_affinity_ __irq_apply_affinity irq_set_vcpu_affinity",
    ),
    Table(
        LockGroup.IRQ_DESCRIPTOR,
        "kernel/irq/proc.c: reading /proc/interrupts takes the lock of every descriptor",
        names="show_interrupts write_irq_affinity show_irq_affinity default_affinity_show irq_spurious_proc_show",
    ),
    Table(
        LockGroup.TRANSMIT,
        "include/linux/netdevice.h, HARD_TX_LOCK, and its users: net/core/dev.c, net/sched/sch_generic.c, net/packet",
        names="sch_direct_xmit __dev_queue_xmit dev_queue_xmit dev_hard_start_xmit xmit_one __dev_direct_xmit "
        "__dev_direct_xmit packet_direct_xmit packet_xmit dev_watchdog netif_tx_lock netif_freeze_queues "
        "netif_tx_disable netpoll_send_skb netpoll_start_xmit queue_process generic_xdp_tx pktgen_xmit",
    ),
    Table(
        LockGroup.TRANSMIT,
        "drivers' ndo_start_xmit and what cleans their rings: virtio_net.c, net/8021q/vlan_dev.c, tun.c, veth.c …",
        names="start_xmit vlan_dev_hard_start_xmit vlan_dev_hwaccel_hard_start_xmit vlan_netdev_xmit "
        "virtnet_poll_tx virtnet_poll_cleantx virtnet_xdp_xmit virtnet_xdp_get_sq free_old_xmit free_old_xmit_skbs "
        "veth_xmit veth_xdp_xmit tun_xdp_xmit br_dev_queue_push_xmit bond_dev_queue_xmit macvlan_queue_xmit",
        ends="_start_xmit _hard_start_xmit _net_xmit _dev_xmit _xmit_frame _xmit_frame_ring",
    ),
    Table(
        LockGroup.QDISC,
        "net/sched/sch_generic.c, sch_api.c; net/core/dev.c: the root lock of a queueing discipline",
        names="__qdisc_run qdisc_run __dev_xmit_skb net_tx_action dequeue_skb dev_qdisc_enqueue dev_deactivate_many "
        "dev_reset_queue __netif_schedule",
        begins="qdisc_ tcf_ tc_",
    ),
    Table(
        LockGroup.QDISC,
        "net/sched/sch_*.c: their enqueue and dequeue",
        begins="pfifo_ bfifo_ fq_ fq_codel_ codel_ htb_ tbf_ hfsc_ sfq_ cake_ netem_ red_ prio_ drr_ qfq_ taprio_ "
        "etf_ mqprio_ ingress_ clsact_",
    ),
    Table(
        LockGroup.NEIGHBOUR_ROUTE,
        "net/core/neighbour.c, net/ipv4/arp.c, net/ipv6/ndisc.c",
        begins="neigh_ __neigh_ ___neigh_ pneigh_ arp_ ndisc_ __ipv4_neigh_ __ipv6_neigh_",
    ),
    Table(
        LockGroup.NEIGHBOUR_ROUTE,
        "net/core/dst.c, net/ipv4/route.c, fib_*.c, net/ipv6/route.c, ip6_fib.c",
        names="ip6_pol_route ip6_ins_rt __ip6_ins_rt ip6_del_rt __ip6_del_rt update_or_create_fnhe",
        begins="dst_ rt_ rt6_ ip_rt_ ip_route_ fib_ fib6_ __fib6_ ip6_pol_ ip6_route_ ip6_rt_ inet_rtm_ inet6_rtm_ "
        "ipv4_dst_ ip6_dst_",
    ),
    Table(
        LockGroup.SOCKET,
        "net/core/sock.c, skbuff.c, datagram.c, stream.c, net/socket.c",
        names="lock_sock_nested lock_sock_fast __lock_sock __lock_sock_fast release_sock __release_sock "
        "__skb_recv_datagram __skb_wait_for_more_packets __skb_try_recv_datagram __sys_sendto __sys_recvfrom",
        begins="sk_ __sk_ sock_ __sock_ skb_queue_ __skb_queue_ sk_stream_ reuseport_",
    ),
    Table(
        LockGroup.SOCKET,
        "net/ipv4/tcp*.c, udp.c, inet_*.c, net/ipv6/tcp_ipv6.c, udp.c",
        begins="tcp_ __tcp_ udp_ __udp_ udpv6_ __udp4_ __udp6_ inet_csk_ inet_hash __inet_hash inet_bind inet_unhash "
        "inet_accept inet_stream_ inet_twsk_ __inet_inherit inet_ehash inet_reqsk inet_shutdown inet_release raw_send "
        "raw_recv mptcp_",
    ),
    Table(
        LockGroup.SOCKET,
        "net/unix, net/netlink, net/packet/af_packet.c, net/vmw_vsock, net/xdp",
        begins="unix_ __unix_ netlink_ __netlink_ packet_ tpacket_ vsock_ virtio_transport_ xsk_ scm_",
    ),
    Table(
        LockGroup.MEMORY,
        "mm/page_alloc.c: the lock of a zone",
        names="rmqueue rmqueue_bulk rmqueue_buddy __rmqueue_pcplist free_one_page __free_pages_ok __free_pages_core "
        "get_page_from_freelist drain_pages_zone __drain_all_pages drain_all_pages",
        begins="free_pcppages_ free_unref_ free_frozen_ free_pcp __free_unref_ __alloc_pages __alloc_frozen_pages "
        "alloc_pages",
    ),
    Table(
        LockGroup.MEMORY,
        "mm/swap.c, vmscan.c, memcontrol.c, compaction.c, workingset.c: the lists of pages",
        names="pagevec_lru_move_fn folio_batch_move_lru __page_cache_release release_pages folios_put_refs "
        "lru_note_cost isolate_lru_page folio_isolate_lru isolate_migratepages_block evict_folios move_folios_to_lru "
        "compact_zone",
        begins="folio_lruvec_ lru_add lru_ shrink_ mem_cgroup_ try_charge refill_ drain_obj_ workingset_ list_lru_",
    ),
    Table(
        LockGroup.MEMORY,
        "mm/slub.c, slab_common.c, net/core/page_pool.c, mm/percpu.c, vmalloc.c",
        names="___slab_alloc __slab_alloc __slab_free get_partial_node get_any_partial deactivate_slab new_slab "
        "put_cpu_partial discard_slab free_to_partial_list __put_partials __unfreeze_partials unfreeze_partials "
        "__refill_objects_node free_percpu alloc_vmap_area find_vmap_area remove_vm_area "
        "__get_vm_area_node _vm_unmap_aliases",
        begins="kmem_cache_ __kmem_cache_ kmalloc_ __kmalloc kfree barn_ page_pool_ pcpu_ free_vmap_ "
        "__purge_vmap_ purge_vmap_",
    ),
    Table(
        LockGroup.MEMORY,
        "mm/memory.c, mmap.c, mmap_lock.c, madvise.c, rmap.c, gup.c; arch/*/mm/fault.c: the lock of an address space",
        names="do_user_addr_fault do_page_fault exc_page_fault lock_mm_and_find_vma lock_vma_under_rcu vm_mmap_pgoff "
        "vm_brk_flags do_mprotect_pkey do_madvise madvise_lock do_anonymous_page do_wp_page do_fault "
        "finish_fault wp_page_copy unlink_anon_vmas unmap_region exit_mmap dup_mmap __mm_populate "
        "populate_vma_page_range "
        "__do_sys_brk __se_sys_brk __x64_sys_brk __do_sys_mremap mm_take_all_locks fixup_user_fault "
        "__split_huge_pmd khugepaged_scan_mm_slot collapse_huge_page mm_release exit_mm",
        begins="mmap_ __mmap_ vm_munmap __vm_munmap do_munmap do_vmi_ zap_ __pte_ pte_ __get_user_pages get_user_pages "
        "pin_user_pages faultin_ anon_vma_ __anon_vma_ vma_ rmap_ try_to_unmap try_to_migrate swap_ __swap_",
    ),
    Table(
        LockGroup.RUNQUEUE,
        "kernel/sched/core.c, sched.h, ttwu",
        names="raw_spin_rq_lock_nested raw_spin_rq_trylock _raw_spin_rq_lock_irqsave task_rq_lock __task_rq_lock "
        "double_rq_lock try_to_wake_up sched_ttwu_pending __schedule schedule wake_up_new_task scheduler_tick "
        "sched_tick sched_exec set_task_cpu __set_cpus_allowed_ptr migration_cpu_stop wake_up_if_idle "
        "do_set_cpus_allowed "
        "__sched_setscheduler sched_move_task finish_task_switch yield_task do_sched_yield wait_task_inactive "
        "task_sched_runtime sched_core_balance resched_cpu wake_q_add",
        begins="ttwu_ sched_setaffinity __sched_setaffinity",
    ),
    Table(
        LockGroup.RUNQUEUE,
        "kernel/sched/fair.c, rt.c, deadline.c, ext.c",
        names="load_balance newidle_balance update_blocked_averages rebalance_domains active_load_balance_cpu_stop "
        "detach_tasks attach_tasks attach_one_task _nohz_idle_balance nohz_idle_balance run_rebalance_domains "
        "sched_cfs_period_timer do_sched_cfs_period_timer unthrottle_cfs_rq __unthrottle_cfs_rq_async "
        "distribute_cfs_runtime push_rt_task pull_rt_task push_rt_tasks rto_push_irq_work_func tell_cpu_to_push "
        "find_lock_lowest_rq push_dl_task pull_dl_task dl_task_timer inactive_task_timer sched_rt_period_timer "
        "online_fair_sched_group unregister_fair_sched_group",
        begins="sched_balance_ scx_ tg_",
    ),
    Table(
        LockGroup.FUTEX,
        "kernel/futex/: the lock of a hash bucket",
        names="do_futex queue_lock unqueue_me handle_futex_death fixup_owner __x64_sys_futex exit_robust_list",
        begins="futex_ __futex_ get_futex_key",
    ),
    Table(
        LockGroup.FILES,
        "fs/dcache.c, lib/lockref.c, fs/inode.c",
        names="dput dget_parent __dentry_kill dentry_kill shrink_dentry_list lock_for_kill __d_lookup evict "
        "evict_inodes __destroy_inode unlock_new_inode find_inode_fast",
        begins="d_ __d_ lockref_ inode_ __inode_ iget iput __iget",
    ),
    Table(
        LockGroup.FILES,
        "fs/namei.c, open.c, file.c, file_table.c, read_write.c, readdir.c, stat.c, super.c, fs-writeback.c",
        names="path_openat open_last_lookups do_last do_filp_open do_sys_openat2 link_path_walk walk_component "
        "do_unlinkat do_rmdir do_mkdirat do_linkat do_renameat2 lock_rename iterate_dir fget __fget_files __fput "
        "fput fput_many alloc_fd __alloc_fd file_close_fd close_fd __close_fd pick_file do_dentry_open fdget_pos "
        "__fdget_pos __mark_inode_dirty writeback_sb_inodes wb_writeback complete_walk unlazy_walk try_to_unlazy "
        "dcache_readdir dcache_dir_lseek",
        begins="lookup_ __lookup_ path_ filename_ vfs_ lock_two_ get_unused_fd iterate_ sb_ super_ file_update_time",
    ),
    Table(
        LockGroup.FILES,
        "file systems, pipes and seq_file: fs/*/, fs/pipe.c, fs/seq_file.c, fs/kernfs/",
        names="seq_read seq_read_iter seq_lseek wait_for_space_and_data",
        begins="pipe_ kernfs_ proc_ ext4_ __ext4_ jbd2_ xfs_ btrfs_ ovl_ nfs_ fuse_ f2fs_ shmem_ simple_ generic_file_",
    ),
    Table(
        LockGroup.OTHER,
        "no group of ours, though one calls them: timers, RCU, work queues, epoll, RPS, netfilter, rtnetlink",
        names="lock_timer_base mod_timer add_timer del_timer timer_delete __run_timers run_timer_base "
        "__queue_work queue_work_on queue_delayed_work_on mod_delayed_work_on enqueue_to_backlog process_backlog "
        "netif_rx_internal flush_backlog rtnl_lock rtnl_lock_killable rtnl_trylock note_gp_changes "
        "call_rcu __call_rcu_common rcu_core rcu_report_qs_rnp rcu_report_qs_rdp __note_gp_changes irq_work_queue "
        "get_random_bytes crng_reseed extract_entropy mix_pool_bytes add_interrupt_randomness add_timer_on "
        "console_lock vprintk_emit rcu_gp_kthread rcu_accelerate_cbs_unlocked sync_rcu_exp_select_cpus",
        begins="hrtimer_ __hrtimer_ timer_ rcu_ srcu_ __srcu_ ep_ __ep_ do_epoll eventpoll_ nf_ nft_ ipt_ xt_ "
        "__nf_ random_ tick_ clockevents_ ktime_ timekeeping_",
    ),
    Table(
        LockGroup.OTHER,
        "arch/x86/kernel/apic/vector.c, kernel/irq/matrix.c: one lock for the vectors of all CPUs",
        names="apic_set_affinity assign_irq_vector_any_locked assign_vector_locked lock_vector_lock irq_complete_move "
        "apic_ack_edge vector_cleanup_callback vector_schedule_cleanup __vector_cleanup",
        begins="x86_vector_ irq_matrix_",
    ),
)
"""A whole name goes before a beginning, a longer beginning before a shorter one, and both before an end."""
REACH = {
    LockGroup.IRQ_DESCRIPTOR: 2,
    LockGroup.TRANSMIT: 2,
    LockGroup.QDISC: 2,
    LockGroup.NEIGHBOUR_ROUTE: 3,
    LockGroup.SOCKET: 4,
    LockGroup.MEMORY: 4,
    LockGroup.RUNQUEUE: 3,
    LockGroup.FUTEX: 4,
    LockGroup.FILES: 3,
    LockGroup.OTHER: 4,
}
"""Functions, with the caller, within which one of the group tells what the lock is."""
RAW = frozenset({LockGroup.IRQ_DESCRIPTOR, LockGroup.RUNQUEUE})
"""Locks that are raw spinlocks on every kernel: a mutex or semaphore on the way to them is something else."""


def group(names: Sequence[str | None], kind: LockKind) -> LockGroup:
    """What the lock is, by the functions from its caller outward; OTHER where no table tells."""
    for place, name in enumerate(within(names)[: max(REACH.values())]):
        found = None if name is None else known(name)
        if found is None or place >= REACH[found]:
            continue
        if found in RAW and kind not in {LockKind.SPIN, LockKind.OTHER}:
            continue
        return found
    return LockGroup.OTHER


def known(name: str) -> LockGroup | None:
    """The group of one function; None where no table has it."""
    if name in _NAMES:
        return _NAMES[name]
    for pattern in (_BEGINS, _ENDS):
        found = pattern.match(name)
        if found is not None:
            return _PARTS[found[1]]
    return None


def _words(field: str) -> list[tuple[str, LockGroup]]:
    return [(word, table.group) for table in TABLES for word in getattr(table, field).split()]


def _either(words: list[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


_NAMES = dict(_words("names"))
_PARTS = dict(_words("begins") + _words("ends"))
_BEGINS = re.compile(f"({_either([word for word, _ in _words('begins')])})")
_ENDS = re.compile(f".+?({_either([word for word, _ in _words('ends')])})$")
