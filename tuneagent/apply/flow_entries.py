"""The table of all sockets' flows (RFS): net.core.rps_sock_flow_entries (Documentation/networking/scaling.rst)."""

from __future__ import annotations

from functools import partial

from tuneagent.apply import values
from tuneagent.apply.actuator import Place
from tuneagent.apply.kernel_file import KernelFile, fault_of
from tuneagent.model.errors import ParseError
from tuneagent.model.plan import Target, TunableKind

PATH = "/proc/sys/net/core/rps_sock_flow_entries"
MOST_ENTRIES = 1 << 29
"""net/core/sysctl_net_core.c rps_sock_flow_sysctl()."""
MOST_ENTRIES_ASKED = 1 << 22
"""That a plan may ask for, four bytes each; scaling.rst calls 32,768 fair for a server of moderate load."""
_U64_MAX = 2**64 - 1


class FlowEntries(KernelFile):
    """One number for the whole machine; a network namespace other than the first does not show it."""

    kinds = (TunableKind.RPS_SOCK_FLOW_ENTRIES,)

    def locate(self, kind: TunableKind, target: Target) -> Place:  # noqa: ARG002 - there is one
        """The file."""
        return Place(PATH, target)

    def fault(self, value: str) -> str | None:
        """Whatever is no number that the kernel can take."""
        return fault_of(partial(values.number, most=MOST_ENTRIES), value)

    def check(self, place: Place, value: str) -> str | None:  # noqa: ARG002 - the protocol has the place
        """Also so many that they only take memory."""
        return fault_of(partial(values.number, most=MOST_ENTRIES_ASKED), value)

    def same(self, one: str, other: str) -> bool:
        """The kernel rounds up to a power of two."""
        return same_tables(one, other)


def same_tables(one: str, other: str) -> bool:
    """Whether two numbers of entries give tables of one size."""
    try:
        ours, theirs = values.number(one.strip(), _U64_MAX), values.number(other.strip(), _U64_MAX)
    except ParseError:
        return one.strip() == other.strip()
    return values.power_of_two(ours) == values.power_of_two(theirs)
