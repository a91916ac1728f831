"""The packets beside waits for locks: they tell whose transmit lock it was, and come by the hundred thousand a second.

Left alone they would fill a record within a tenth of a second, and no wait would be watched after that. So they have
a share of its bytes, and are switched off on all CPUs while they have more than that. A lock keeps its address: waits
that come while they are off are known by those that came while they were on.
"""

from __future__ import annotations

from dataclasses import dataclass

from tuneagent.machine import perf_event

EVENT = "net_dev_start_xmit"
SHARE = 1 / 4
"""Of the bytes of all events."""
RECORD_BYTES = 128
"""Of one packet: about 40 of perf's sample, 70 of the tracepoint, and the device's name."""


@dataclass(frozen=True, slots=True)
class _Counter:
    """The packets of one CPU."""

    leader: int
    """Of its group, which is read as a whole."""
    events: int
    id: int
    """The kernel's for the packets' event in it."""
    file: int


class Packets:
    """Whether packets are recorded now, and for how long they were."""

    def __init__(self) -> None:
        self._counters: list[_Counter] = []
        self._on = True
        self._since_ns: int | None = None
        self._recorded_ns = 0
        self.left_out = False
        """Whether they ever were switched off."""

    @property
    def recorded_s(self) -> float:
        """For how long they were recorded, of the windows that are shut."""
        return self._recorded_ns / 1e9

    def add(self, leader: int, events: int, event_id: int, file: int) -> None:
        """Those of another CPU; they are on."""
        self._counters.append(_Counter(leader, events, event_id, file))

    def let_in(self, now_ns: int) -> None:
        """A window is opened."""
        self._since_ns = now_ns

    def weigh(self, came: int, allowed: float, now_ns: int) -> None:
        """Switches them on or off, by the bytes of all events that came and that may have come by now."""
        room = allowed * SHARE
        on = came <= room or self._bytes() <= room
        if on == self._on or not self._counters:
            return
        for one in self._counters:
            (perf_event.enable if on else perf_event.disable)(one.file)
        self._pass(now_ns)
        self._on = on
        self.left_out |= not on

    def shut(self, now_ns: int) -> None:
        """The window is shut."""
        self._pass(now_ns)
        self._since_ns = None

    def _pass(self, now_ns: int) -> None:
        if self._on and self._since_ns is not None:
            self._recorded_ns += now_ns - self._since_ns
        self._since_ns = now_ns

    def _bytes(self) -> int:
        """About what they took; the counters stand while they are off, so looking again is right then too."""
        return RECORD_BYTES * sum(perf_event.grouped(one.leader, one.events).get(one.id, 0) for one in self._counters)
