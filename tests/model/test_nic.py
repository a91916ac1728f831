from __future__ import annotations

import pytest

from tests import make
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.nic import MAX_QUEUE_PAIRS, Channels, Nic


def probed(channels: Channels | None) -> Nic:
    """A NIC with a vector for each of 5 pairs, as virtio_net asks for them whatever is switched on."""
    return make.nic(5, channels=channels)


@pytest.mark.parametrize(
    ("channels", "queues"),
    [
        (Channels(combined=2, combined_max=5), (0, 1)),
        (Channels(rx=3, tx=2), (0, 1, 2)),
        (Channels(combined=1, rx=2, tx=1), (0, 1, 2)),
        (Channels(combined=4, rx=0, tx=0), (0, 1, 2, 3)),
        (Channels(), (0, 1, 2, 3, 4)),
        (Channels(combined=0), (0, 1, 2, 3, 4)),
        (None, (0, 1, 2, 3, 4)),
    ],
)
def test_queues_in_use_are_those_that_ethtool_says(channels: Channels | None, queues: tuple[int, ...]) -> None:
    nic = probed(channels)
    assert nic.queues_in_use == queues
    assert tuple(nic.pairs_in_use()) == queues
    assert {irq.queue for irq in nic.data_irqs_in_use} == set(queues)
    assert len(nic.pairs()) == 5


def test_queues_without_interrupts_of_their_own_are_those_of_sysfs() -> None:
    shared = QueueIrq(41, QueueRole.SHARED_QUEUES, None)
    nic = make.nic(3, channels=None, queue_irqs=(shared, QueueIrq(40, QueueRole.CONFIG, None)))
    assert nic.queues_in_use == (0, 1, 2)
    assert nic.data_irqs_in_use == (shared,)
    assert nic.pairs_in_use() == {}


def test_an_absurd_count_is_bounded() -> None:
    assert len(probed(Channels(combined=1 << 40)).queues_in_use) == MAX_QUEUE_PAIRS
