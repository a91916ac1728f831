"""exits-per-packet: under load, too many VM exits for the packets that the virtual machine moves."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.diagnose import exit_kinds, sources
from tuneagent.diagnose.domains import each, name_of, quiet, vcpus
from tuneagent.diagnose.thresholds import EXITS_PER_PACKET, LOAD_PACKETS_PER_SEC_PER_QUEUE, MIN_PACKETS_PER_SEC
from tuneagent.model.domain import TAP_TYPES
from tuneagent.model.domain_view import DomainView, KvmRate, TapRate
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.view import View

NAME = "exits-per-packet"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtual machine that runs: KVM's exits, without idle halts, to the packets through its taps."""
    return each(view, NAME, _domain)


def _domain(_: View, domain: DomainView) -> Iterable[Judgement]:
    rate, packets = domain.kvm, domain.packets_per_sec
    if rate is None or rate.exits_per_sec is None:
        yield Unjudged(NAME, domain.subject, domain.kvm_reason or "VM exits are not told")
    elif _elsewhere(domain):
        yield Unjudged(NAME, domain.subject, "a part of the packets passes no tap and is not counted here")
    elif packets is None:
        yield Unjudged(NAME, domain.subject, "the packets through the taps are not known")
    elif packets < MIN_PACKETS_PER_SEC:
        yield quiet(NAME, domain.subject, _needs(f"{figure(packets)} packets/s through its taps"))
    else:
        yield _loaded(domain, rate, packets)


def _elsewhere(domain: DomainView) -> bool:
    """Whether it has an interface whose packets no tap sees: passed through, vhost-user, vDPA, user mode."""
    return domain.definition is not None and any(one.type not in TAP_TYPES for one in domain.definition.interfaces)


def _loaded(domain: DomainView, rate: KvmRate, packets: float) -> Judgement:
    idle = exit_kinds.idle_per_sec(rate)
    at_work = max((rate.exits_per_sec or 0.0) - (idle or 0.0), 0.0)
    ratio = at_work / packets
    facts = _evidence(domain, rate, packets, ratio)
    if ratio < EXITS_PER_PACKET:
        return Clear(NAME, domain.subject, facts)
    count = vcpus(domain) or 1
    busiest = max((_per_queue(tap, count) for tap in domain.taps), default=0.0)
    if busiest < LOAD_PACKETS_PER_SEC_PER_QUEUE:
        seen = f"{figure(ratio)} exits a packet are normal for one connection that waits for each answer; the busiest "
        return quiet(NAME, domain.subject, _needs(f"{seen}tap moved {figure(busiest)} packets/s one way a queue"))
    halts = "" if idle is None else f", {figure(idle)}/s idle halts left out"
    return Finding(
        NAME,
        domain.subject,
        Severity.WARNING,
        f"{name_of(domain)} has {figure(ratio)} VM exits a packet",
        f"{figure(ratio)} exits a packet at {figure(packets)} packets/s{halts}, where under {EXITS_PER_PACKET} is "
        f"usual under load with the event index. {exit_kinds.described(rate)}".rstrip(),
        facts,
    )


def _per_queue(tap: TapRate, vcpus: int) -> float:
    """Packets a second in the busier direction for each queue that can be at work at once."""
    offered = (tap.interface.queue_pairs if tap.interface is not None else tap.tap.queues) or 1
    one_way = max(tap.to_guest_packets_per_sec or 0.0, tap.from_guest_packets_per_sec or 0.0)
    return one_way / min(offered, vcpus)


def _needs(seen: str) -> str:
    return (
        f"{seen}; from {figure(MIN_PACKETS_PER_SEC)} on a low ratio is well, and from "
        f"{figure(LOAD_PACKETS_PER_SEC_PER_QUEUE)} one way through one queue on a high one is a fault"
    )


def _evidence(domain: DomainView, rate: KvmRate, packets: float, ratio: float) -> tuple[Evidence, ...]:
    counters = sources.kvm(rate.source)
    taps = sources.statistics("<tap>") if len(domain.taps) > 1 else sources.statistics(domain.taps[0].tap.name)
    joined = domain.guest.rates if domain.guest is not None else None
    return (
        Evidence("exits_not_idle_per_packet", ratio, "", f"{counters}; {taps}"),
        Evidence("exits_per_packet", domain.exits_per_packet, "", f"{counters}; {taps}"),
        Evidence("packets_per_sec", packets, "1/s", taps),
        *exit_kinds.evidence(rate),
        *(
            (Evidence("exits_per_guest_packet", joined.exits_per_packet, "", f"{counters}; the guest's own counters"),)
            if joined is not None
            else ()
        ),
    )
