"""Every number that decides between well and wrong, with its unit in its name and its reason beside it.

Where a reason names the small-packet table it is that of the netdev mailing list, 2011: a KVM guest with two vCPUs, one
virtio NIC and vhost, many small TCP transactions, six runs a row. Its baseline had 0.120 receive interrupts a received
packet, with the event index 0.061.
"""

from __future__ import annotations

MIN_INTERRUPTS = 100
"""Interrupts of one IRQ in the interval before its distribution means anything: at 100 a share is good to 5 points."""

SETTLED_SHARE_PERCENT = 90.0
"""An IRQ of which one CPU takes this share stays there. The table's bouncing rows have 50 %, its pinned rows 100 %;
the 10 % leave room for one deliberate move near an end of the interval."""

MIN_PACKETS_PER_SEC = 1_000.0
"""Below this a ratio per packet speaks of timers and housekeeping, not of a load."""

LOAD_PACKETS_PER_SEC_PER_QUEUE = 20_000.0
"""Packets a second through the busiest queue from which more than one connection must be at work. A single one that
waits for each answer needs about 50 us a turn in a guest, so 20,000 a second, and has one interrupt and one
notification a packet by nature."""

RX_INTERRUPTS_PER_PACKET = 0.10
"""Between the table's 0.061 and 0.064 (event index) and its 0.120 and 0.131 (none)."""

TX_KICKS_PER_PACKET = 0.5
"""Notifications a sent packet. Under load the host is still busy with the last packet when the next is queued and asks
for no notification; every second packet with one means that it goes to sleep between packets. Our own judgement."""

SOFTIRQ_BUSY_PERCENT = 80.0
"""Softirq share of one CPU that leaves little for the program that waits for the data. Our own judgement."""

SOFTIRQ_SATURATED_PERCENT = 95.0
"""Softirq share at which the CPU is full: the small-packet table's receiver stood at 99 %."""

IDLE_CPU_PERCENT = 50.0
"""A CPU that idles this much could take half of a saturated one's work. Our own judgement."""

MIN_TICKS = 50
"""Clock ticks under a CPU share: at 50 ticks (0.5 s at USER_HZ 100) one tick is 2 points."""

DROPS_PER_SEC = 1.0
"""A steady loss, rather than a single packet of an unknown protocol, which rx_dropped counts as well. Our own
judgement."""

DROPS_CRITICAL_PERCENT = 0.1
"""At this loss one TCP connection comes to about 450 Mbit/s at a round trip of 1 ms and 1,460 bytes a segment, and to a
tenth of that at 10 ms: 1.22 MSS / (RTT sqrt(p)), Mathis et al., 1997."""

SQUEEZES_PER_SEC = 10.0
"""net_rx_action() stopped with work left, by budget or by time. A few a second are normal under bursts. Our own
judgement."""

STORM_INTERRUPTS_PER_SEC = 5_000.0
"""Below this even an interrupt that does nothing costs under 2 % of a CPU (about 3 us each, exit and entry)."""

STORM_INTERRUPTS_PER_PACKET = 4.0
"""A packet has at most one receive and one transmit interrupt; twice that cannot be explained by packets."""

# Beside a virtual machine, on its hypervisor. The small-packet table's exits are of two vCPUs; its transactions are of
# two packets each (172,992 packets/s to 87,070 transactions/s).

EXITS_PER_SEC_PER_VCPU = 50_000.0
"""VM exits a second of one vCPU. The table's rows with the event index have 48,140 and 48,595, those without it 60,525
and 74,222. At 1 to 2 us an exit with its entry, 50,000 are 5 to 10 % of the vCPU before anything is done in them."""

EXITS_PER_PACKET = 0.5
"""VM exits, idle halts left out, per packet in either direction under load. The table has 0.43 and 0.44 with the event
index (0.86 and 0.88 a transaction), 0.57 and 0.86 without (1.12 and 1.71)."""

VCPUS_PER_LONE_QUEUE = 4
"""vCPUs from which one queue pair is worth a word although nothing is seen to be full. Our own judgement."""

BUSY_THREAD_PERCENT = 50.0
"""A thread that has this much of a CPU leaves no room for another such. Our own judgement."""

WORKER_AT_WORK_PERCENT = 10.0
"""Below this share of a CPU it hardly matters where a vhost worker or an emulator runs. Our own judgement."""

WORKER_SATURATED_PERCENT = 95.0
"""A vhost worker is one thread: one CPU is all it can have. As for a CPU full of softirqs."""

WAIT_PERCENT = 10.0
"""Time runnable and waiting for a CPU, of the interval. What waits is latency: at 10 % every tenth moment of work is
late. Of the same size as the steal that guests are usually told to worry about. Our own judgement."""

HALT_POLL_FAIL_HOST_PERCENT = 5.0
"""Share of all CPU time of the host that polls for an idle vCPU in vain. Our own judgement."""

HALT_POLL_FAIL_VCPU_PERCENT = 20.0
"""The same share of one virtual machine's vCPUs, where the worst is looked at alone. Our own judgement."""

BUSY_HOST_IDLE_PERCENT = 20.0
"""A host whose CPUs idle less than this, on average, has others who could use the time. Our own judgement."""

HALTS_PER_SEC = 2_000.0
"""Halts a second from which waking up is a part of the latency: at a wake-up of 5 to 50 us (IPI, C-state, switch) that
is 1 to 10 % of the time."""

HALTS_PER_PACKET = 0.25
"""Halts per packet from which the guest sleeps between the packets of a conversation: one connection that waits for
each answer has one a transaction, so 0.5. Our own judgement."""

# Waiting for the kernel's locks, as the tracepoints lock:contention_begin and lock:contention_end tell it.

LOCK_MIN_WAITS = 10
"""Waits in a record under a rate: fewer come together by chance. Our own judgement."""

LOCK_WAITS_PER_SEC = 100.0
"""Waits a second at one kind of lock from which they are a pattern: the small-packet table's baseline takes the
interrupt's descriptor lock twice for each of 10,376 interrupts/s, so this is every two-hundredth. Our own judgement."""

LOCK_WAIT_PERCENT = 1.0
"""Time waited at one kind of lock, in percent of one CPU's: what is waited under a spinlock is work of nobody. Our own
judgement."""

LIST_READER_WAITS_PER_SEC = 10.0
"""Waits a second of those who read the list of interrupts. Each reading takes every descriptor's lock once and is
hardly ever in the way of one: so many mean readings in a loop. Our own judgement."""

HOT_REFERENCE_PERCENT = 3.0
"""Share of the samples in functions that count references. In the VLAN forwarding report (netdev, 2017) dst_release
rose from nothing to 3.43 %; in the 16-core one (netdev, 2014) it had 18.07 %."""

HOT_REFERENCE_GROWTH_PERCENT = 2.0
"""The same as growth from one profile to another, in points: +3.43 there, +13.79 from 16 to 24 cores; a share of 3 %
of 5,000 samples is good to 0.5 points (two standard errors), so a difference of two to 0.7."""

PROFILE_MIN_SAMPLES = 500
"""Samples that are not idle under a share: at 500 a share of 3 % is good to 1.5 points (two standard errors)."""
