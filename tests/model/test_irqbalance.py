"""Tests for tuneagent.model.irqbalance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tuneagent.model.irqbalance import Irqbalance

BALANCER = Irqbalance(True, 612, (), None, None, None)
QUEUE = ("virtio0-input.0",)


def leaves(module: str, actions: tuple[str, ...]) -> bool:
    return replace(BALANCER, banned_modules=(module,)).leaves(33, actions)


@pytest.mark.parametrize("actions", [QUEUE, ("virtio0",), ("virtio1-config",)])
def test_a_part_of_both_the_drivers_and_the_interrupts_name(actions: tuple[str, ...]) -> None:
    assert leaves("virtio", actions)


@pytest.mark.parametrize(
    ("module", "actions"),
    [
        ("virtio0", QUEUE),  # the interrupt's name alone: versions that look at the driver move it
        ("virtio-pci", QUEUE),  # the driver's name alone: versions that look at the interrupt move it
        ("", QUEUE),
        ("virtio", ()),
        ("virtio", ("virtio3", "uhci_hcd:usb1")),  # the driver that it sees may be the other's
        ("virtio", ("virtio0 (queue 3)",)),  # the last word of the row is "3)"
    ],
)
def test_what_some_versions_would_move_is_not_left_alone(module: str, actions: tuple[str, ...]) -> None:
    assert not leaves(module, actions)


def test_a_number_needs_no_name() -> None:
    assert replace(BALANCER, banned_irqs=frozenset({33})).leaves(33, ())
    assert not replace(BALANCER, banned_irqs=frozenset({33})).leaves(34, QUEUE)
