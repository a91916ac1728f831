"""/sys/kernel/irq/N/actions (kernel/irq/irqdesc.c ``actions_show``) and what a virtio action's name says."""

from __future__ import annotations

import re

from tuneagent.model.irq import QueueRole
from tuneagent.parse.lines import require_printable

MAX_QUEUE = 1 << 16
"""VIRTIO_NET_CTRL_MQ_VQ_PAIRS_MAX is 0x8000 pairs; nothing above this is a queue."""

_QUEUE = re.compile(r"(?P<role>input|output)(?:\.(?P<queue>[0-9]{1,5}))?")
_ROLES = {"input": QueueRole.INPUT, "output": QueueRole.OUTPUT}
_WHOLE = {
    "": QueueRole.DEVICE,
    "-config": QueueRole.CONFIG,
    "-virtqueues": QueueRole.SHARED_QUEUES,
}


def parse(text: str) -> tuple[str, ...]:
    """Names of the handlers, parted by commas without blanks; none for an empty text. ParseError if unprintable."""
    line = text.strip()
    require_printable(line, 1)
    return tuple(name.strip() for name in line.split(",") if name.strip())


def queue_role(action: str, virtio_name: str) -> tuple[QueueRole, int | None] | None:
    """What an interrupt with this action serves on this virtio NIC, with its queue pair; None if neither.

    drivers/virtio/virtio_pci_common.c names vectors ``virtio2-config``, ``virtio2-virtqueues`` and
    ``virtio2-<virtqueue>``, and INTx ``virtio2`` as virtio_mmio.c does; drivers/net/virtio_net.c calls its virtqueues
    ``input.0``, ``output.0``, before kernel 3.8 ``input`` and ``output``. Other virtqueues (``control``, ``req.0``)
    carry no packets.
    """
    if not action.startswith(virtio_name):
        return None
    rest = action[len(virtio_name) :]
    if rest in _WHOLE:
        return _WHOLE[rest], None
    match = _QUEUE.fullmatch(rest[1:]) if rest.startswith("-") else None
    queue = int(match["queue"] or 0) if match else MAX_QUEUE
    return (_ROLES[match["role"]], queue) if match and queue < MAX_QUEUE else None
