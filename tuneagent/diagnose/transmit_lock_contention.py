"""transmit-lock-contention: CPUs wait for the lock of a transmit queue or of its queueing discipline."""

from __future__ import annotations

from collections.abc import Iterator

from tuneagent.diagnose import sources, stacked_device_queues
from tuneagent.diagnose.lock_waits import Waits, by_tasks, parted, recorded, without_finding
from tuneagent.diagnose.wording import SENTENCE_LENGTH, clean, counted, cpu_list, listed
from tuneagent.model.contention import Contended, LockGroup
from tuneagent.model.finding import Evidence, Finding, Judgement, Severity
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

NAME = "transmit-lock-contention"
SOME_DEVICE = "devices"
"""Subject where no event tells which device."""


def judge(view: View) -> tuple[Judgement, ...]:
    """One finding a device above the thresholds, or one judgement of the machine."""
    waits = recorded(view, LockGroup.TRANSMIT, LockGroup.QDISC)
    found = tuple(_finding(view, device, part) for device, part in _parts(waits) if part.too_many)
    if not found and waits is not None and waits.too_many:  # many devices, each with a little
        found = (_finding(view, None, waits),)
    return found or without_finding(view, NAME, waits)


def _parts(waits: Waits | None) -> Iterator[tuple[str | None, Waits]]:
    """The waits by device, in order of the names; those of some device last."""
    if waits is None:
        return
    by_device: dict[str | None, list[Contended]] = {}
    for row in waits.rows:
        by_device.setdefault(row.device, []).append(row)
    for device in sorted(by_device, key=lambda name: (name is None, name or "")):
        yield device, parted(waits, by_device[device])


def _finding(view: View, device: str | None, waits: Waits) -> Finding:
    groups = {row.group for row in waits.rows}
    lock = " and ".join(word for group, word in _LOCKS if group in groups)
    name = clean(device) if device is not None else "some device"
    verb = "wait" if len(waits.cpus) > 1 else "waits"
    return Finding(
        NAME,
        name if device is not None else SOME_DEVICE,
        Severity.WARNING,
        f"{cpu_list(waits.cpus)} {verb} for the {lock} lock of {name}",
        f"{waits.described}{by_tasks(waits)}. {_why(view, device)}",
        (*waits.evidence, *_callers(waits)),
        (),
        (),
        waits.cpus,
    )


_LOCKS = ((LockGroup.TRANSMIT, "transmit queue"), (LockGroup.QDISC, "queueing discipline"))


def _why(view: View, device: str | None) -> str:
    """One queue below many CPUs, or one above many queues, as far as the device is known."""
    nic = view.after.nic(device) if device is not None else None
    if device is None:
        return "The events do not tell which device."
    if nic is None:
        return f"{clean(device)} is not among the interfaces that were seen."
    narrow = _narrow(view, nic)
    if narrow:
        return f"{listed(narrow)} has one transmit queue above several: see stacked-device-queues."
    queues = nic.channels.pairs if nic.channels is not None and nic.channels.pairs else len(nic.tx_queues)
    if not queues:
        return f"How many transmit queues {clean(nic.name)} has is not known."
    shared = queues < len(view.cpus)
    return (
        f"{clean(nic.name)} has {counted(queues, 'transmit queue')} for {counted(len(view.cpus), 'CPU')}."
        if shared
        else f"{clean(nic.name)} has {counted(queues, 'transmit queue')}; CPUs still meet at one of them, as by XPS."
    )


def _narrow(view: View, nic: Nic) -> tuple[str, ...]:
    """The device itself, or those above it, if stacked-device-queues found it to serialise what is below."""
    found = {one.subject for one in stacked_device_queues.judge(view) if isinstance(one, Finding)}
    return tuple(name for name in (nic.name, *nic.upper) if name in found)


def _callers(waits: Waits) -> Iterator[Evidence]:
    for row in waits.rows[:4]:
        yield Evidence(f"waits_in_{clean(row.caller)}", row.waits, "waits", sources.LOCK_RECORD)
    reasons = dict.fromkeys(row.subject_reason for row in waits.rows)
    yield Evidence("how_the_device_is_known", clean("; ".join(reasons), SENTENCE_LENGTH), "", sources.LOCK_RECORD)
