"""Per-queue counters that every driver reports alike (Documentation/netlink/specs/netdev.yaml, ``qstats-get``)."""

from __future__ import annotations

import errno
import socket
from typing import Any

from tuneagent.machine.netlink import GenericNetlink, u32, unsigned
from tuneagent.machine.reasons import source_error
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

NAME = "queue-statistics"

NETDEV_CMD_QSTATS_GET = 12
IFINDEX, QUEUE_TYPE, QUEUE_ID, SCOPE = 1, 2, 3, 4
RX_PACKETS, RX_BYTES, TX_PACKETS, TX_BYTES, RX_HW_DROPS, TX_HW_DROPS = 8, 9, 10, 11, 13, 24
SCOPE_QUEUE = 1
TYPES = ("rx", "tx")

_COUNTERS = {"rx": (RX_PACKETS, RX_BYTES, RX_HW_DROPS), "tx": (TX_PACKETS, TX_BYTES, TX_HW_DROPS)}
_KNOWN = {IFINDEX, QUEUE_TYPE, QUEUE_ID, *_COUNTERS["rx"], *_COUNTERS["tx"]}


def read() -> dict[str, list[dict[str, Any]]]:
    """For each interface whose driver reports them, its queues: type (rx, tx), index, packets, bytes, drops.

    A counter that the driver does not report is None. Raises SourceError: ABSENT where the kernel has no such family,
    UNSUPPORTED where the family lacks the command (before commit ab63a2387cb9, 6.9).
    """
    try:
        with GenericNetlink("netdev") as netlink:
            answers = netlink.dump(NETDEV_CMD_QSTATS_GET, u32(SCOPE, SCOPE_QUEUE))
        return by_interface(answers, dict(socket.if_nameindex()))
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise SourceError(NAME, Reason.ABSENT, "this kernel has no netlink family netdev") from None
        raise source_error(NAME, error) from None


def by_interface(answers: list[dict[int, bytes]], names: dict[int, str]) -> dict[str, list[dict[str, Any]]]:
    """The queues of each interface by its name; what left between two questions is left out."""
    found: dict[str, list[dict[str, Any]]] = {}
    for answer in answers:
        numbers = {kind: unsigned(payload) for kind, payload in answer.items() if kind in _KNOWN}
        name = names.get(numbers.get(IFINDEX, 0))
        kind, index = numbers.get(QUEUE_TYPE), numbers.get(QUEUE_ID)
        if name is not None and index is not None and kind is not None and kind < len(TYPES):
            found.setdefault(name, []).append(_queue(TYPES[kind], index, numbers))
    return found


def _queue(kind: str, index: int, numbers: dict[int, int]) -> dict[str, Any]:
    packets, octets, drops = _COUNTERS[kind]
    return {
        "type": kind,
        "index": index,
        "packets": numbers.get(packets),
        "bytes": numbers.get(octets),
        "drops": numbers.get(drops),
    }
