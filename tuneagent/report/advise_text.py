"""``tuneagent advise`` for people: what is wrong first, then the change, then the numbers, then what is not known."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from tuneagent.model.advise import AdviseReport, State
from tuneagent.model.cost import AgentCost
from tuneagent.model.finding import Severity
from tuneagent.model.plan import Advice
from tuneagent.report.advice_text import TONES, Said, told
from tuneagent.report.capabilities import missing_rows, missing_table
from tuneagent.report.document import Block, Document, Gap, Heading, Paragraph, Table, Tone, indented
from tuneagent.report.domain_ranking import RankedDomain, by_subject, ranked
from tuneagent.report.domain_text import domain_blocks
from tuneagent.report.guest_text import guest_blocks
from tuneagent.report.hypervisor_text import host_blocks, named, stray_blocks, table_blocks
from tuneagent.report.machine_text import interface_blocks, machine_line
from tuneagent.report.safe import safe
from tuneagent.report.settled_text import not_judged, well
from tuneagent.report.values import number, plural
from tuneagent.report.waits_text import waits_blocks

IN_FULL = 3
"""So many virtual machines with findings are told in full without being asked for; of more, only the first."""
MOST_ADVICE = 1
"""Of that first one, so much advice is told in full, and the rest named."""
MOST_SUBJECTS = 8
MOST_DOMAINS = 2
GUEST_INDENT = 2
MOST_DECLINED = 20
MOST_GAPS = 30
"""Rows of a report of which --verbose and --json have all."""
_ANSWERS = {
    State.HEALTHY: (Tone.GOOD, "Nothing to change. The numbers that say so are under “Looked for and not found”."),
    State.IDLE: (Tone.INFO, "Nothing wrong was seen, and there was too little traffic to judge what needs traffic."),
    State.UNKNOWN: (Tone.INFO, "Nothing wrong was seen, but some of it could not be judged; see “Not judged”."),
    State.NO_VIRTIO_NIC: (Tone.INFO, "There is no virtio network interface here to judge."),
}
_NO_DOMAIN = "No virtual machine runs here now, and there is no virtio network interface to judge."


def document(report: AdviseReport, *, verbose: bool = False) -> Document:
    """The report's blocks in reading order; ``verbose`` leaves nothing out and lists what is well with its numbers."""
    said = Said()
    domains = _ranked(report)
    full = _in_full(report, domains)
    return tuple(
        block
        for part in (
            _head(report),
            _hypervisor(report, domains, verbose=verbose),
            _domains(report, full, said, most=_most_advice(domains, full, verbose=verbose)),
            _machine(report, said, frozenset(one.domain.key for one in full), verbose=verbose),
            _cost(report.cost),
        )
        for block in part
    )


def _head(report: AdviseReport) -> Iterator[Block]:
    yield Heading(f"tuneagent {safe(report.version)}: {safe(report.origin)}")
    yield Paragraph(machine_line(report.view))
    yield Gap()
    tone, answer = _answer(report)
    yield Heading(answer, tone)
    for guest in report.guests:
        if guest.report.worst is not None:
            tone, answer = _answer(guest.report)
            yield Paragraph(answer, 0, tone, f"The guest of {safe(guest.name)}, by its own word:")


def _answer(report: AdviseReport) -> tuple[Tone, str]:
    if report.worst is None:
        if report.state is State.NO_VIRTIO_NIC and report.view.hypervisor is not None:
            return Tone.INFO, _NO_DOMAIN
        return _partly_idle(report) or _ANSWERS[report.state]
    counts = [(sum(one.severity is level for one in report.findings), str(level)) for level in reversed(Severity)]
    words = ", ".join(f"{count} {level}" for count, level in counts if count)
    answer = f"{plural(len(report.findings), 'finding')} ({words}) on {_where(report)}."
    idle = sum(one.idle for one in report.unjudged)
    if idle:
        answer += f" For {plural(idle, 'more check')} there was too little traffic."
    return TONES[report.worst], answer


def _where(report: AdviseReport) -> str:
    """The subjects by name; of more than a few virtual machines their number, for the table has the names."""
    about = by_subject(report.view.hypervisor)
    subjects = sorted({one.subject for one in report.findings})
    domains = sorted({about[one].subject for one in subjects if one in about})
    if len(domains) <= MOST_DOMAINS:
        return named(subjects, MOST_SUBJECTS)
    others = [one for one in subjects if one not in about]
    return " and ".join(filter(None, (named(others, MOST_SUBJECTS), plural(len(domains), "virtual machine"))))


def _partly_idle(report: AdviseReport) -> tuple[Tone, str] | None:
    """Names the quiet interfaces where others are busy and well: nothing is left to judge of those."""
    quiet = {one.subject for one in report.unjudged if one.idle}
    names = [nic.name for nic in report.view.after.virtio_nics]
    if report.state is not State.IDLE or not quiet.issubset(names) or quiet.issuperset(names):
        return None
    where = ", ".join(safe(name) for name in names if name in quiet)
    return Tone.INFO, f"Nothing wrong was seen; on {where} there was too little traffic to judge what needs traffic."


def _ranked(report: AdviseReport) -> tuple[RankedDomain, ...]:
    host = report.view.hypervisor
    every = ranked(host, report.findings, report.plan.advice) if host else ()
    asked = frozenset(report.asked_domains)
    return tuple(one for one in every if one.domain.key in asked) if asked else every


def _in_full(report: AdviseReport, domains: tuple[RankedDomain, ...]) -> tuple[RankedDomain, ...]:
    """Those told with evidence and changes: all that were asked for, the only one, or the worst."""
    if report.asked_domains:
        return domains
    if sum(one.runs for one in domains) == 1:
        return tuple(one for one in domains if one.runs)
    bad = tuple(one for one in domains if one.findings or one.advice)
    return bad if len(bad) <= IN_FULL else bad[:1]


def _hypervisor(report: AdviseReport, domains: tuple[RankedDomain, ...], *, verbose: bool) -> Iterator[Block]:
    host, view = report.view.after.hypervisor, report.view.hypervisor
    if host is None or view is None:
        return
    yield Gap()
    yield from host_blocks(host, view, ranked(view, report.findings, report.plan.advice))
    yield from table_blocks(domains, verbose=verbose)
    if not report.asked_domains:
        yield from stray_blocks(view.stray_taps)


def _most_advice(domains: tuple[RankedDomain, ...], full: tuple[RankedDomain, ...], *, verbose: bool) -> int | None:
    """How much advice on a virtual machine is told in full: of one that stands for many, only the first."""
    bad = sum(bool(one.findings or one.advice) for one in domains)
    return MOST_ADVICE if len(full) < bad and not verbose else None


def _domains(report: AdviseReport, full: tuple[RankedDomain, ...], said: Said, *, most: int | None) -> Iterator[Block]:
    told_whole = bool(report.asked_domains) or len(full) == 1
    for one in full:
        if told_whole:
            yield from domain_blocks(one.domain)
        rest = () if most is None else one.advice[most:]
        later = {(finding.rule, finding.subject) for advice in rest for finding in advice.findings}
        findings = tuple(finding for finding in one.findings if (finding.rule, finding.subject) not in later)
        yield from told(report, findings, one.advice[:most], said)
        yield from _named_only(one, rest)
        yield from _guest(report, one, said)


def _named_only(one: RankedDomain, rest: tuple[Advice, ...]) -> Iterator[Block]:
    if not rest:
        return
    yield Gap()
    yield Heading(f"More advice on {safe(one.domain.name)}")
    for advice in rest:
        yield Paragraph(f"{safe(advice.title)} ({safe(advice.id)})", 3)
    yield Paragraph(f"tuneagent advise --domain {safe(shlex.quote(one.domain.name))} tells it in full", 3, Tone.FAINT)


def _guest(report: AdviseReport, one: RankedDomain, said: Said) -> Iterator[Block]:
    if one.domain.guest is None:
        return
    yield from guest_blocks(one.domain.name, one.domain.guest)
    for guest in report.guests:
        if guest.key == one.domain.key:
            yield Paragraph(machine_line(guest.report.view), GUEST_INDENT)
            yield from indented(_machine(guest.report, said, frozenset(), verbose=False), GUEST_INDENT)


def _machine(report: AdviseReport, said: Said, full: frozenset[str], *, verbose: bool) -> Iterator[Block]:
    """What is about the machine itself, and what is well, unjudged and unseen of all."""
    about = by_subject(report.view.hypervisor)
    findings = tuple(one for one in report.findings if one.subject not in about)
    advice = tuple(one for one in report.plan.advice if one.subject not in about)
    if full and (findings or advice or report.view.after.virtio_nics):
        yield Gap()
        yield Heading("The hypervisor itself")
    yield from interface_blocks(report.view)
    yield from waits_blocks(report.view.contention, verbose=verbose)
    yield from told(report, findings, advice, said)
    yield from _asked_and_declined(report, verbose=verbose)
    others = frozenset() if verbose else frozenset(on for on, domain in about.items() if domain.key not in full)
    yield from well(report, others, verbose=verbose)
    yield from not_judged(report, others)
    yield from _not_seen(report, verbose=verbose)


def _asked_and_declined(report: AdviseReport, *, verbose: bool) -> Iterator[Block]:
    asked = [one for one in report.plan.declined if not one.rules]
    if asked:
        shown = asked if verbose else asked[:MOST_DECLINED]
        yield Gap()
        yield Heading("Asked for, with nothing to do here")
        yield Table(("policy", "on", "why"), tuple((safe(o.policy), safe(o.subject), safe(o.reason)) for o in shown))
        yield from _left_out(len(asked) - len(shown))


def _not_seen(report: AdviseReport, *, verbose: bool) -> Iterator[Block]:
    rows = missing_rows(report.view.missing)
    if not rows:
        return
    shown = rows if verbose else rows[:MOST_GAPS]
    yield Gap()
    yield Heading("Not seen, and therefore unknown")
    yield missing_table(shown)
    yield from _left_out(len(rows) - len(shown))


def _left_out(rows: int) -> Iterator[Block]:
    if rows:
        yield Paragraph(f"… {rows:,} more with --verbose, or --json", 2)


def _cost(cost: AgentCost | None) -> Iterator[Block]:
    if cost is None:
        return
    parts = [f"{number(cost.cpu_s * 1000)} ms of CPU"]
    if cost.sampling_cpu_s is not None:
        parts.append(f"{number(cost.sampling_cpu_s * 1000)} ms of it for the samples")
    if cost.locks_cpu_s is not None:
        parts.append(f"{number(cost.locks_cpu_s * 1000)} ms for recording waits for locks")
    if cost.peak_rss_bytes is not None:
        parts.append(f"{number(cost.peak_rss_bytes / 1e6)} MB at most")
    yield Gap()
    yield Paragraph(f"This report cost {', '.join(parts)}.", 0, Tone.FAINT)
