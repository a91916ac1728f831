"""The hypervisor for people: what holds for all its virtual machines, then these, that with most to gain first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tuneagent.model.domain_view import TOGETHER, DomainView, HypervisorView, TapRate
from tuneagent.model.finding import Finding, Severity
from tuneagent.model.hypervisor import HostMemory, Hypervisor, KvmSource, ThreadRole
from tuneagent.report.advice_text import TONES
from tuneagent.report.document import Block, Gap, Paragraph, Table, Tone
from tuneagent.report.domain_ranking import RankedDomain
from tuneagent.report.safe import safe
from tuneagent.report.values import NOT_KNOWN, UNKNOWN, number, plural, short

MOST_DOMAINS = 20
"""Rows of the table, and findings below it; the rest is counted, and in --json and --verbose."""
MOST_NAMES = 8
LONGEST_NAME = 17
"""Characters of a name in the table, which then has 80 with the other columns; OpenStack's are as long."""
LINE = 80
NONE = "-"
"""There is no such thing, which is no 0 and nothing unknown."""
_SOURCES = {
    KvmSource.STATS_FD: "KVM's statistics descriptors in QEMU (kvm-stats-fd), by vCPU",
    KvmSource.DEBUGFS: "/sys/kernel/debug/kvm, totals of each virtual machine",
    KvmSource.DOMSTATS: "libvirt's domain statistics, which cost libvirtd and QEMU time",
    KvmSource.NONE: "no source, and so unknown",
}
_WORDS = {Severity.CRITICAL: "crit", Severity.WARNING: "warn", Severity.INFO: "info"}
_COLUMNS = ("domain", "vCPU", "exits/s", "/pkt", "pkt/s", "vhost%", "wait%", "drop/s", "findings")
_RIGHT = frozenset(_COLUMNS) - {"domain", "findings"}
_LEGEND = (
    "Most to gain first. /pkt: exits a packet; vhost%, wait%: its vhost workers' time on a CPU, and ready without one; "
    "drop/s: packets lost at its taps; -: there is none"
)


def host_blocks(host: Hypervisor, view: HypervisorView, ranked: Sequence[RankedDomain]) -> Iterator[Block]:
    """Facts of the host that every virtual machine lives with; none of them is a fault by itself."""
    yield Paragraph(_machines(host, ranked), 0, Tone.PLAIN, "Virtual machines:")
    yield Paragraph("; ".join(_kvm(host)), 0, Tone.PLAIN, "KVM:")
    yield Paragraph("; ".join(_memory(host.memory)), 0, Tone.PLAIN, "Memory:")
    if host.virtio:
        yield Paragraph(
            "was asked; libvirt now marks these domains tainted, custom-monitor", 0, Tone.WARNING, "Monitor:"
        )
    for label, names in (("Stopped within the interval:", view.gone), ("Started within the interval:", view.new)):
        if names:
            yield Paragraph(named(names), 0, Tone.PLAIN, label)


def table_blocks(every: Sequence[RankedDomain], *, verbose: bool = False) -> Iterator[Block]:
    """One row a virtual machine, in the order given, and the findings of those in it, one line each.

    What does not run has a row only where something is wrong with it.
    """
    ranked = [one for one in every if one.runs or one.findings]
    if not ranked:
        return
    shown = ranked if verbose else ranked[:MOST_DOMAINS]
    rows = tuple(_row(one) for one in shown)
    yield Gap()
    yield Table(_COLUMNS, rows, _RIGHT, indent=0)
    unknown = f"; {NOT_KNOWN}: not known, see “Not seen”, or --domain NAME"
    yield Paragraph(f"{_LEGEND}{unknown if any(NOT_KNOWN in row for row in rows) else ''}.", 0, Tone.FAINT)
    if len(shown) < len(ranked):
        yield Paragraph(_more(ranked[len(shown) :]), 0)
    yield from _finding_lines(shown, ranked, verbose=verbose)


def stray_blocks(taps: Sequence[TapRate]) -> Iterator[Block]:
    """Taps of no known virtual machine, busiest first."""
    if not taps:
        return
    busiest = sorted(taps, key=lambda one: -(one.packets_per_sec or 0))
    words = [f"{safe(one.tap.name)} {short(one.packets_per_sec)} packets/s" for one in busiest[:MOST_NAMES]]
    yield Gap()
    yield Paragraph(_listed(words, len(taps)), 0, Tone.PLAIN, "Taps of no known virtual machine:")


def named(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """The first names, and how many there are in all."""
    return _listed([safe(name) for name in names[:most]], len(names))


def cut(name: str, longest: int = LONGEST_NAME) -> str:
    """A name without its middle where it is too long: both its ends tell it from others."""
    text = safe(name)
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[: longest - 1 - half]}…{text[-half:]}"


def _listed(words: Sequence[str], total: int) -> str:
    return ", ".join([*words, *([f"… {total:,} in all"] if total > len(words) else [])])


def _machines(host: Hypervisor, ranked: Sequence[RankedDomain]) -> str:
    single = [one for one in ranked if one.domain.key != TOGETHER]
    running = [one.domain for one in single if one.runs]
    text = f"{len(running):,} running with {_vcpus(running)}" if running else "none running"
    if not running and len(single) < len(ranked):
        text = "KVM runs some and tells none by itself"
    if host.domains is None:
        return f"{text}; libvirt did not tell of them"
    off = len(single) - len(running)
    return f"{text}; {off:,} not running" if off else text


def _vcpus(running: Sequence[DomainView]) -> str:
    known = [one.vcpus for one in running if one.vcpus is not None]
    if not known:
        return "an unknown number of vCPUs"
    return f"{'' if len(known) == len(running) else 'at least '}{plural(sum(known), 'vCPU')}"


def _kvm(host: Hypervisor) -> Iterator[str]:
    yield f"exits from {_SOURCES[host.kvm_source]}"
    loaded = "loaded" if host.vhost_net else "not loaded"
    yield f"vhost_net {loaded if host.parameters else UNKNOWN}"
    if "kvm.halt_poll_ns" in host.parameters:
        yield f"halt_poll_ns {safe(host.parameters['kvm.halt_poll_ns'])}"
    if host.threads_left_out:
        yield f"{plural(host.threads_left_out, 'vCPU thread')} not read; --domain NAME reads all of one"


def _memory(memory: HostMemory) -> Iterator[str]:
    ksm = {True: "KSM runs", False: "KSM off", None: "KSM unknown"}[memory.ksm_running]
    yield ksm + (f" ({memory.ksm_pages_sharing:,} pages shared)" if memory.ksm_pages_sharing else "")
    yield f"transparent huge pages {safe(memory.transparent_hugepages or 'unknown')}"
    if memory.hugepages_total:
        yield f"huge pages {memory.hugepages_total:,}, {number(memory.hugepages_free)} free"


def _row(one: RankedDomain) -> tuple[str, ...]:
    domain = one.domain
    vhost = domain.of_role(ThreadRole.VHOST)
    taps = domain.taps
    return (
        cut(domain.name),
        short(domain.vcpus),
        short(one.exits_per_sec) if one.runs else NONE,
        short(domain.exits_per_packet) if taps else NONE,
        short(domain.packets_per_sec) if taps else NONE,
        short(_sum(thread.cpu_percent for thread in vhost)) if vhost else NONE,
        short(_sum(thread.wait_percent for thread in vhost)) if vhost else NONE,
        short(_sum(drops for tap in taps for drops in _drops(tap))) if taps else NONE,
        _worst(one),
    )


def _drops(tap: TapRate) -> tuple[float | None, float | None]:
    return tap.to_guest_drops_per_sec, tap.from_guest_drops_per_sec


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum, unknown where one of them is."""
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _worst(one: RankedDomain) -> str:
    """``1 crit +3``: one that is critical, and three that are less."""
    if one.worst is None:
        seen = one.domain.definition is not None or one.domain.kvm is not None
        return "none" if seen else NOT_KNOWN
    worst = sum(finding.severity is one.worst for finding in one.findings)
    others = len(one.findings) - worst
    return f"{worst} {_WORDS[one.worst]}{f' +{others}' if others else ''}"


def _more(rest: Sequence[RankedDomain]) -> str:
    bad = sum(bool(one.findings) for one in rest)
    also = f", {bad:,} of them with findings" if bad else ", none with findings"
    return f"… {len(rest):,} more{also}: --verbose, or --json"


def _finding_lines(shown: Sequence[RankedDomain], ranked: Sequence[RankedDomain], *, verbose: bool) -> Iterator[Block]:
    every = [(one, finding) for one in ranked for finding in one.findings]
    told = [(one, finding) for one in shown for finding in one.findings]
    if not verbose:
        told = told[:MOST_DOMAINS]
    if told:
        yield Gap()
    for one, finding in told:
        yield Paragraph(_line(one, finding), 0, TONES[finding.severity])
    if len(told) < len(every):
        yield Paragraph(_counted([finding for _, finding in every[len(told) :]]), 0)


def _line(one: RankedDomain, finding: Finding) -> str:
    """In one line: the rule is left out, and then the title cut, where there is no room."""
    title = safe(finding.title)
    where = safe(finding.subject.removeprefix("domain "))
    text = f"{_WORDS[finding.severity]} {title if safe(one.domain.name) in title else f'{where}: {title}'}"
    whole = f"{text} [{safe(finding.rule)}]"
    return whole if len(whole) <= LINE else safe(text, LINE)


def _counted(findings: Sequence[Finding]) -> str:
    by_rule = Counter(finding.rule for finding in findings)
    words = ", ".join(f"{safe(rule)} {count:,}" for rule, count in by_rule.most_common())
    return f"… {plural(len(findings), 'more finding')}: {words}"
