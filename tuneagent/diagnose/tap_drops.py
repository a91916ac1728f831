"""tap-drops: packets that a virtual machine's tap lost, which nobody inside sees."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose import sources
from tuneagent.diagnose.domains import folded, running
from tuneagent.diagnose.subjects import MACHINE, measured, no_rates
from tuneagent.diagnose.thresholds import DROPS_CRITICAL_PERCENT, DROPS_PER_SEC
from tuneagent.diagnose.wording import clean, counted
from tuneagent.model.domain_view import DomainView, TapRate
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.view import View

NAME = "tap-drops"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a tap, of a virtual machine or not. Totals of one sample are history, and told as such."""
    taps = _taps(view)
    if not taps:
        return ()
    if measured(view):
        return folded(NAME, [_rated(subject, rate) for subject, rate in taps])
    history = tuple(found for subject, rate in taps for found in _history(subject, rate))
    return (*history, no_rates(view, NAME, MACHINE))


def _taps(view: View) -> list[tuple[str, TapRate]]:
    stray = view.hypervisor.stray_taps if view.hypervisor is not None else ()
    of_domains = ((_subject(domain, tap), tap) for domain in running(view) for tap in domain.taps)
    return [*of_domains, *((tap.tap.name, tap) for tap in stray)]


def _subject(domain: DomainView, tap: TapRate) -> str:
    return domain.subject_of(tap.interface) if tap.interface is not None else f"{domain.subject} {tap.tap.name}"


def _rated(subject: str, rate: TapRate) -> Judgement:
    to_guest, from_guest = rate.to_guest_drops_per_sec, rate.from_guest_drops_per_sec
    if to_guest is None and from_guest is None:
        return Unjudged(NAME, subject, "drops were not counted in both samples")
    facts = _evidence(rate)
    if max(to_guest or 0.0, from_guest or 0.0) < DROPS_PER_SEC:
        return Clear(NAME, subject, facts)
    if (to_guest or 0.0) >= (from_guest or 0.0):
        return _to_guest(subject, rate, to_guest or 0.0, facts)
    return _from_guest(subject, rate, from_guest or 0.0, facts)


def _to_guest(subject: str, rate: TapRate, lost: float, facts: tuple[Evidence, ...]) -> Finding:
    name, delivered = clean(rate.tap.name), rate.to_guest_packets_per_sec
    if delivered == 0:
        return Finding(
            NAME,
            subject,
            Severity.INFO,
            f"The guest behind {name} takes no packets; {figure(lost)}/s for it are dropped",
            "Not one was delivered within the interval: it is paused, still starts, or has its interface down.",
            facts,
        )
    percent = _percent(lost, delivered)
    share = "" if percent is None else f", {figure(percent)} % of those for it"
    return Finding(
        NAME,
        subject,
        _severity(percent),
        f"{figure(lost)} packets/s for the guest behind {name} are lost",
        f"The tap {name} dropped {figure(lost)} packets/s{share}: the guest's ring, or the queue before it, was full. "
        "The guest counts none of them.",
        facts,
    )


def _from_guest(subject: str, rate: TapRate, lost: float, facts: tuple[Evidence, ...]) -> Finding:
    name, percent = clean(rate.tap.name), _percent(lost, rate.from_guest_packets_per_sec)
    return Finding(
        NAME,
        subject,
        _severity(percent),
        f"{figure(lost)} packets/s from the guest behind {name} are lost",
        f"The host dropped {figure(lost)} packets/s that the guest sent through {name}: it could not take them in, or "
        "its bridge or filter wanted none of them. The guest counts them as sent.",
        facts,
    )


def _percent(lost: float, delivered: float | None) -> float | None:
    """Loss of what was offered, in percent."""
    return None if delivered is None or lost + delivered <= 0 else 100.0 * lost / (lost + delivered)


def _severity(percent: float | None) -> Severity:
    return Severity.CRITICAL if percent is not None and percent >= DROPS_CRITICAL_PERCENT else Severity.WARNING


def _totals(rate: TapRate) -> tuple[int | None, int | None]:
    """(dropped, delivered) towards the guest since the device was made. A macvtap's directions are not mirrored."""
    interface, tap = rate.interface, rate.tap
    stray = interface is None and tap.multi_queue is None
    if stray or (interface is not None and interface.type == "direct"):
        return rate.tap.rx_dropped, rate.tap.rx_packets
    return rate.tap.tx_dropped, rate.tap.tx_packets


def _history(subject: str, rate: TapRate) -> Iterable[Finding]:
    """What was lost since the tap was made: worth knowing, and no proof that it goes on."""
    lost, delivered = _totals(rate)
    percent = _percent(lost, delivered) if lost is not None else None
    if lost is None or delivered is None or percent is None or percent < DROPS_CRITICAL_PERCENT:
        return
    name = clean(rate.tap.name)
    yield Finding(
        NAME,
        subject,
        Severity.INFO,
        f"{name} has lost {lost:,} of {counted(lost + delivered, 'packet')} for its guest since it was made",
        f"{figure(percent)} % of what the host had for the guest behind {name}, which counts none of it. One sample "
        "does not say whether it goes on.",
        (
            Evidence("to_guest_drops", lost, "packets", sources.statistics(name)),
            Evidence("to_guest_packets", delivered, "packets", sources.statistics(name)),
            Evidence("to_guest_drop_percent", percent, "%", sources.statistics(name)),
        ),
    )


def _evidence(rate: TapRate) -> tuple[Evidence, ...]:
    source = sources.statistics(clean(rate.tap.name))
    return (
        Evidence("to_guest_drops_per_sec", rate.to_guest_drops_per_sec, "1/s", source),
        Evidence("to_guest_packets_per_sec", rate.to_guest_packets_per_sec, "1/s", source),
        Evidence("from_guest_drops_per_sec", rate.from_guest_drops_per_sec, "1/s", source),
        Evidence("to_guest_drops", _totals(rate)[0], "packets", source),
    )
