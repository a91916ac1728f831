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
