from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.diagnose.views import clear, finding, single, unjudged, value, with_irqs, with_nic
from tuneagent.diagnose.shared_vector import judge
from tuneagent.model.finding import Severity
from tuneagent.model.irq import QueueIrq, QueueRole
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.virtio import Transport


def on_one_line(role: QueueRole, *actions: str, transport: Transport = Transport.PCI) -> Snapshot:
    base = with_nic(make.snapshot(2, 1), queue_irqs=(QueueIrq(31, role, None),))
    base = with_irqs(base, lambda line: replace(line, actions=actions) if line.irq == 31 else line)
    return replace(base, virtio=tuple(replace(one, transport=transport) for one in base.virtio or ()))


def test_one_vector_for_all_queues() -> None:
    found = finding(judge, single(on_one_line(QueueRole.SHARED_QUEUES, "virtio0-virtqueues")))
    assert (found.severity, found.irqs) == (Severity.WARNING, (31,))
    assert "too few vectors" in found.explanation
    assert value(found, "other_handlers") == "none"


def test_a_legacy_line_names_who_moves_along() -> None:
    found = finding(judge, single(on_one_line(QueueRole.DEVICE, "uhci_hcd:usb1", "virtio0", "virtio3")))
    assert found.severity is Severity.WARNING
    assert "uhci_hcd:usb1, virtio3 would move along" in found.explanation


def test_a_hostile_handler_name_stays_on_its_line() -> None:
    found = finding(judge, single(on_one_line(QueueRole.DEVICE, "virtio0", "a\x1b[2J\n" + "b" * 9999)))
    assert "\x1b" not in found.explanation
    assert len(found.explanation) < 500


def test_memory_mapped_devices_have_one_line_by_design() -> None:
    found = finding(judge, single(on_one_line(QueueRole.DEVICE, "virtio0", transport=Transport.MMIO)))
    assert found.severity is Severity.INFO
    assert "by design" in found.explanation


def test_a_vector_a_queue_is_clear() -> None:
    assert value(clear(judge, make.view()), "queue_interrupts") == 8


def test_unknown_interrupts_are_not_judged() -> None:
    unjudged(judge, single(with_nic(make.snapshot(), queue_irqs=())))


def test_nothing_for_channel_io() -> None:
    assert judge(single(on_one_line(QueueRole.DEVICE, transport=Transport.CCW))) == ()
