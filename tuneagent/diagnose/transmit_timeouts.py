"""transmit-timeouts: the transmit watchdog fired because a queue stood still."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.subjects import device_nics
from tuneagent.diagnose.wording import counted, named
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

NAME = "transmit-timeouts"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement an interface with a device; the count since boot needs one sample only."""
    return tuple(_nic(view, nic) for nic in device_nics(view) if nic.tx_queues)


def _nic(view: View, nic: Nic) -> Judgement:
    known = {queue.index: queue.timeouts for queue in nic.tx_queues if queue.timeouts is not None}
    rate = view.nics.get(nic.name)
    grown = rate.tx_timeouts if rate is not None else None
    if not known and grown is None:
        return Unjudged(NAME, nic.name, f"the transmit timeouts of {nic.name} could not be read")
    source = sources.transmit_queue(nic.name, "*", "tx_timeout")
    total = sum(known.values())
    evidence = (
        Evidence("tx_timeouts_in_interval", grown, "timeouts", source),
        Evidence("tx_timeouts_since_boot", total if known else None, "timeouts", source),
    )
    if grown:
        return _now(view, nic, grown, evidence)
    return _before(nic, known, total, evidence) if total else Clear(NAME, nic.name, evidence)


def _now(view: View, nic: Nic, grown: int, evidence: tuple[Evidence, ...]) -> Finding:
    queues = _stuck(view, nic)
    where = f" on {named(queues, 'queue')}" if queues else ""
    return Finding(
        NAME,
        nic.name,
        Severity.CRITICAL,
        f"Transmit queues of {nic.name} stand still",
        f"{counted(grown, 'transmit timeout')} within the interval{where}: packets waited and the device completed "
        "none for the watchdog's time (5 s by default).",
        evidence,
        queues=queues,
    )


def _stuck(view: View, nic: Nic) -> tuple[int, ...]:
    """Queues whose count grew between the samples."""
    before = view.nic_before(nic)
    old = {queue.index: queue.timeouts for queue in before.tx_queues} if before is not None else {}
    new = {queue.index: queue.timeouts for queue in nic.tx_queues}
    return tuple(index for index, count in sorted(new.items()) if _grew(old.get(index), count))


def _grew(old: int | None, new: int | None) -> bool:
    return old is not None and new is not None and new > old


def _before(nic: Nic, known: dict[int, int], total: int, evidence: tuple[Evidence, ...]) -> Finding:
    queues = tuple(queue for queue, count in sorted(known.items()) if count)
    return Finding(
        NAME,
        nic.name,
        Severity.INFO,
        f"Transmit queues of {nic.name} have stood still since boot",
        f"{counted(total, 'transmit timeout')} since boot on {named(queues, 'queue')}, none seen within an interval.",
        evidence,
        queues=queues,
    )
