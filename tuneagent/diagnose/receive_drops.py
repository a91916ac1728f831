"""receive-drops: packets that arrived and were lost, at the NIC or at a CPU's backlog."""

from __future__ import annotations

from tuneagent.diagnose import sources
from tuneagent.diagnose.subjects import MACHINE, device_nics, measured, no_rates, role
from tuneagent.diagnose.thresholds import DROPS_CRITICAL_PERCENT, DROPS_PER_SEC, SQUEEZES_PER_SEC
from tuneagent.diagnose.wording import cpu_list
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.identity import Role
from tuneagent.model.nic import Nic
from tuneagent.model.view import CpuRate, NicRate, View

NAME = "receive-drops"
TAP = "tun"
NOT_SEEN = "Packets dropped at the host's tap, before the guest, cannot be seen from here."


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement an interface with a device, one a host tap that drops, one of the CPUs' backlogs."""
    if not measured(view):
        return (_no_rates(view),)
    nics = tuple(_nic(view, nic) for nic in device_nics(view))
    told = _told_of(view)
    taps = tuple(found for nic in view.after.nics or () if nic.name not in told for found in _tap(view, nic))
    return (*nics, *taps, *_backlog(view))


def _no_rates(view: View) -> Unjudged:
    """A guest's own counters being 0 is no word on what was dropped before they count, so that is said at once."""
    said = no_rates(view, NAME, MACHINE)
    if not any(_unseen(view, nic) for nic in device_nics(view)):
        return said
    return Unjudged(NAME, MACHINE, f"{said.reason}. {NOT_SEEN.removesuffix('.')}")


def _nic(view: View, nic: Nic) -> Judgement:
    rate = view.nics.get(nic.name)
    if rate is None:
        return Unjudged(NAME, nic.name, f"{nic.name} was not counted in both samples")
    losses = {
        "rx_dropped": rate.rx_drops_per_sec,
        "rx_missed_errors": rate.rx_missed_per_sec,
        "rx_errors": rate.rx_errors_per_sec,
    }
    known = [value for value in losses.values() if value is not None]
    if not known:
        return Unjudged(NAME, nic.name, f"no drop counter of {nic.name} was read in both samples")
    evidence = (*_counters(nic, losses), *_unseen(view, nic))
    # The counters overlap in some drivers, so the largest is shown and they are never added up.
    worst = max(known)
    if worst < DROPS_PER_SEC:
        return Clear(NAME, nic.name, evidence)
    return (
        _unwanted(nic, worst, evidence) if _by_the_stack(view, rate) else _nic_finding(view, nic, rate, worst, evidence)
    )


def _by_the_stack(view: View, rate: NicRate) -> bool:
    """Whether only rx_dropped grew, and neither a queue of the driver nor a backlog is seen to have dropped anything.

    What is left of it is what __netif_receive_skb_core() found no handler for (net/core/dev.c).
    """
    before_it = (
        *(queue.rx_drops_per_sec for queue in rate.queues),
        *(cpu.softnet_dropped_per_sec for cpu in view.cpus.values()),
        rate.rx_missed_per_sec,
        rate.rx_errors_per_sec,
    )
    return bool(rate.queues and view.cpus) and all(value == 0 for value in before_it)


def _unwanted(nic: Nic, dropped: float, evidence: tuple[Evidence, ...]) -> Finding:
    return Finding(
        NAME,
        nic.name,
        Severity.INFO,
        f"{nic.name} gets {figure(dropped)} packets/s that nothing here takes",
        f"{figure(dropped)} packets/s were dropped by the network stack; the queues of {nic.name} and the backlogs "
        "dropped none. As a rule these are frames of a protocol that nobody here speaks, such as LLDP.",
        evidence,
    )


def _counters(nic: Nic, losses: dict[str, float | None]) -> tuple[Evidence, ...]:
    source = sources.statistics(nic.name)
    return tuple(Evidence(f"{name}_per_sec", value, "1/s", source) for name, value in losses.items())


def _unseen(view: View, nic: Nic) -> tuple[Evidence, ...]:
    if role(view) is not Role.GUEST or nic.virtio is None:
        return ()
    return (Evidence("host_tap_drops_per_sec", None, "1/s", "the host's tap, not visible in the guest"),)


def _nic_finding(view: View, nic: Nic, rate: NicRate, worst: float, evidence: tuple[Evidence, ...]) -> Finding:
    percent = _percent(worst, rate.rx_packets_per_sec)
    share = "" if percent is None else f", {figure(percent)} % of what arrived"
    blind = f" {NOT_SEEN}" if _unseen(view, nic) else ""
    return Finding(
        NAME,
        nic.name,
        _severity(percent),
        f"{nic.name} loses {figure(worst)} packets/s on receive",
        f"{figure(worst)} packets/s lost{share}, by the largest of its receive counters.{blind}",
        evidence,
    )


def _percent(lost: float, delivered: float | None) -> float | None:
    """Loss of what was offered, in percent."""
    return None if delivered is None or lost + delivered <= 0 else 100.0 * lost / (lost + delivered)


def _severity(percent: float | None) -> Severity:
    return Severity.CRITICAL if percent is not None and percent >= DROPS_CRITICAL_PERCENT else Severity.WARNING


def _tap(view: View, nic: Nic) -> tuple[Finding, ...]:
    """A tap's transmit drops are its guest's receive drops: directions are mirrored."""
    rate = view.nics.get(nic.name)
    if nic.link is None or nic.link.kind != TAP or rate is None or (rate.tx_drops_per_sec or 0.0) < DROPS_PER_SEC:
        return ()
    lost = rate.tx_drops_per_sec or 0.0
    percent = _percent(lost, rate.tx_packets_per_sec)
    evidence = Evidence("tx_dropped_per_sec", lost, "1/s", sources.statistics(nic.name))
    title = f"{figure(lost)} packets/s towards the guest behind {nic.name} are lost"
    why = (
        f"The tap {nic.name} drops {figure(lost)} packets/s that the guest did not take in time; the guest itself "
        "counts none of them."
    )
    # A tun carries packets without Ethernet and has no MAC address: no guest is behind it, but a program.
    if nic.mac is None:
        title = f"{figure(lost)} packets/s sent through {nic.name} are lost"
        why = f"The program behind {nic.name}, a VPN as a rule, did not take {figure(lost)} packets/s in time."
    return (Finding(NAME, nic.name, _severity(percent), title, why, (evidence,)),)


def _told_of(view: View) -> set[str]:
    """Taps of virtual machines, of which tap-drops tells."""
    host = view.hypervisor
    if host is None:
        return set()
    return {tap.tap.name for taps in (host.stray_taps, *(one.taps for one in host.domains)) for tap in taps}


def _backlog(view: View) -> tuple[Judgement, ...]:
    """Per CPU: backlog drops and squeezes, by softnet_stat."""
    known = [rate for rate in view.cpus.values() if rate.softnet_dropped_per_sec is not None]
    if not known:
        return (Unjudged(NAME, MACHINE, f"{sources.SOFTNET} was not read in both samples"),)
    found = [rate for rate in known if _drops(rate) >= DROPS_PER_SEC or _squeezes(rate) >= SQUEEZES_PER_SEC]
    if found:
        return (_cpus_finding(sorted(found, key=lambda rate: rate.cpu)),)
    total = Evidence("softnet_dropped_per_sec", sum(map(_drops, known)), "1/s", sources.SOFTNET)
    squeezed = Evidence("softnet_squeezed_per_sec", sum(map(_squeezes, known)), "1/s", sources.SOFTNET)
    return (Clear(NAME, MACHINE, (total, squeezed)),)


def _drops(rate: CpuRate) -> float:
    return rate.softnet_dropped_per_sec or 0.0


def _squeezes(rate: CpuRate) -> float:
    return rate.softnet_squeezed_per_sec or 0.0


def _cpus_finding(rates: list[CpuRate]) -> Finding:
    """One finding for all CPUs with the same trouble: eight CPUs that are squeezed are one fault, not eight."""
    cpus = tuple(sorted({rate.cpu for rate in rates}))
    drops, squeezes = sum(map(_drops, rates)), sum(map(_squeezes, rates))
    who = cpu_list(CpuSet.of(cpus))
    verbs = ("drops", "is") if len(cpus) == 1 else ("drop", "are")
    lost = drops >= DROPS_PER_SEC
    head = f"{verbs[0]} {figure(drops)} packets/s" if lost else f"{verbs[1]} squeezed {figure(squeezes)} times/s"
    return Finding(
        NAME,
        f"cpu{cpus[0]}" if len(cpus) == 1 else MACHINE,
        Severity.CRITICAL if lost else Severity.WARNING,
        f"{who} {head}",
        f"{who} dropped {figure(drops)} packets/s at the backlog and stopped {figure(squeezes)} times/s with packets "
        "left, by budget or by time (net.core.netdev_budget, netdev_budget_usecs).",
        tuple(each for rate in rates for each in _cpu_evidence(rate)),
        cpus=cpus,
    )


def _cpu_evidence(rate: CpuRate) -> tuple[Evidence, ...]:
    counters = {
        "dropped": rate.softnet_dropped_per_sec,
        "squeezed": rate.softnet_squeezed_per_sec,
        "processed": rate.softnet_processed_per_sec,
    }
    return tuple(
        Evidence(f"cpu{rate.cpu}_softnet_{name}_per_sec", value, "1/s", sources.SOFTNET)
        for name, value in counters.items()
    )
