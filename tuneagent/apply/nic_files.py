"""Interrupts of a whole interface put off: napi_defer_hard_irqs and gro_flush_timeout (kernel commit 6f8b12d661d0).

Since Linux 6.13 a write here also sets those of every NAPI instance, which only netlink tells apart
(net/core/dev.c netdev_set_defer_hard_irqs()).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tuneagent.apply import values
from tuneagent.apply.actuator import Place, Seen
from tuneagent.apply.kernel_file import KernelFile, fault_of, number_in
from tuneagent.model.errors import ParseError
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect

_FILES = {
    TunableKind.NAPI_DEFER_HARD_IRQS: "napi_defer_hard_irqs",
    TunableKind.GRO_FLUSH_TIMEOUT: "gro_flush_timeout",
}
_OTHER = {"napi_defer_hard_irqs": "gro_flush_timeout", "gro_flush_timeout": "napi_defer_hard_irqs"}
_U64_MAX = 2**64 - 1
MOST_ASKED = {"napi_defer_hard_irqs": 10_000, "gro_flush_timeout": 1_000_000_000}
"""That a plan may ask for: polls, and nanoseconds that a packet may wait."""


class NicFile(KernelFile):
    """One number for each interface."""

    kinds = (TunableKind.NAPI_DEFER_HARD_IRQS, TunableKind.GRO_FLUSH_TIMEOUT)

    def locate(self, kind: TunableKind, target: Target) -> Place:
        """The interface's file; GONE where the interface is not there now."""
        nic = self._machine.lookup.nic(target)
        path = f"/sys/class/net/{nic.name}/{_FILES[kind]}"
        return Place(path, self._machine.lookup.known(target))

    def fault(self, value: str) -> str | None:
        """Whatever is no number of 64 bits; the kernel has its own bounds for each (net/core/net-sysfs.c)."""
        return fault_of(partial(values.number, most=_U64_MAX), value)

    def check(self, place: Place, value: str) -> str | None:
        """Also what would hold back packets for so long that people notice."""
        return fault_of(partial(values.number, most=MOST_ASKED[_name(place)]), value)

    def same(self, one: str, other: str) -> bool:
        """The same number."""
        try:
            return values.number(one.strip(), _U64_MAX) == values.number(other.strip(), _U64_MAX)
        except ParseError:
            return one.strip() == other.strip()

    def effect(self, place: Place, value: str, mark: Any) -> Seen:
        """They work only together."""
        seen = super().effect(place, value, mark)
        other = _OTHER[_name(place)]
        path = f"{place.where.rpartition('/')[0]}/{other}"
        if seen.effect is Effect.VERIFIED and not self.same(value, "0") and not number_in(self._machine.source, path):
            return Seen(Effect.NOT_YET, f"{seen.detail}, and counts for nothing while {other} is 0")
        return seen


def _name(place: Place) -> str:
    return place.where.rpartition("/")[2]
