from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.model.irq import QueueRole
from tuneagent.parse.irq_actions import parse, queue_role


def test_names_are_parted_by_commas() -> None:
    assert parse("ehci_hcd:usb1,uhci_hcd:usb3,virtio3\n") == ("ehci_hcd:usb1", "uhci_hcd:usb3", "virtio3")
    assert parse("enp5s0f4 (queue 17)\n") == ("enp5s0f4 (queue 17)",)


def test_a_freed_interrupt_has_no_names() -> None:
    assert parse("\n") == ()


def test_refuses_what_cannot_be_printed() -> None:
    with pytest.raises(ParseError):
        parse("virtio\x07")


@pytest.mark.parametrize(
    ("action", "served"),
    [
        ("virtio1-input.0", (QueueRole.INPUT, 0)),
        ("virtio1-output.10", (QueueRole.OUTPUT, 10)),
        ("virtio1-input", (QueueRole.INPUT, 0)),
        ("virtio1-output", (QueueRole.OUTPUT, 0)),
        ("virtio1-config", (QueueRole.CONFIG, None)),
        ("virtio1-virtqueues", (QueueRole.SHARED_QUEUES, None)),
        ("virtio1", (QueueRole.DEVICE, None)),
        ("virtio10", None),
        ("virtio10-input.0", None),
        ("virtio1-control", None),
        ("virtio1-req.0", None),
        ("virtio1-input.", None),
        ("virtio1-input.x", None),
        ("virtio1-input.70000", None),
        ("virtio1-input.0.1", None),
        ("virtio1input.0", None),
        ("eth0-input.0", None),
        ("", None),
    ],
)
def test_says_what_an_interrupt_of_virtio1_serves(action: str, served: tuple[QueueRole, int | None] | None) -> None:
    assert queue_role(action, "virtio1") == served
