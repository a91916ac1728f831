"""``tuneagent advise`` for people: what is wrong first, then the change, then the numbers, then what is not known."""

from __future__ import annotations

from collections.abc import Iterator

from tuneagent.model.advise import AdviseReport, State
from tuneagent.model.cost import AgentCost
from tuneagent.model.finding import Clear, Evidence, Finding, Severity
from tuneagent.model.plan import Advice
from tuneagent.model.policy import Disruption
from tuneagent.report.capabilities import missing_rows, missing_table
from tuneagent.report.document import Block, Document, Gap, Heading, Lines, Paragraph, Table, Tone
from tuneagent.report.machine_text import interface_blocks, machine_line
from tuneagent.report.policy_text import reach
from tuneagent.report.safe import safe
from tuneagent.report.values import UNKNOWN, number, with_unit

_TONES = {Severity.INFO: Tone.INFO, Severity.WARNING: Tone.WARNING, Severity.CRITICAL: Tone.CRITICAL}
_DISRUPTION = {
    Disruption.NONE: "none: no packet is lost",
    Disruption.LINK_FLAP: "link flap: traffic stops for a moment",
    Disruption.COLD_START: "cold start: the virtual machine must be shut down and started",
}
LONGEST_PROSE = 4000
LONGEST_LINE = 8192
"""Characters of a line to paste; terminals in canonical mode take 4,095 at a time, scripts more."""
_ANSWERS = {
    State.HEALTHY: (Tone.GOOD, "Nothing to change. The numbers that say so are under “Looked for and not found”."),
    State.IDLE: (Tone.INFO, "Nothing wrong was seen, and there was too little traffic to judge what needs traffic."),
    State.UNKNOWN: (Tone.INFO, "Nothing wrong was seen, but some of it could not be judged; see “Not judged”."),
    State.NO_VIRTIO_NIC: (Tone.INFO, "There is no virtio network interface here to judge."),
}


def document(report: AdviseReport, *, verbose: bool = False) -> Document:
    """The report's blocks in reading order; ``verbose`` lists what is well with its numbers even beside findings."""
    return tuple(
        block
        for part in (
            _head(report),
            interface_blocks(report.view),
            _findings(report),
            _well(report, verbose=verbose),
            _not_judged(report),
            _not_seen(report),
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


def _answer(report: AdviseReport) -> tuple[Tone, str]:
    if report.worst is None:
        return _partly_idle(report) or _ANSWERS[report.state]
    counts = [(sum(one.severity is level for one in report.findings), str(level)) for level in reversed(Severity)]
    words = ", ".join(f"{count} {level}" for count, level in counts if count)
    subjects = ", ".join(sorted({safe(one.subject) for one in report.findings}))
    total = len(report.findings)
    answer = f"{total} finding{'s' if total > 1 else ''} ({words}) on {subjects}."
    idle = sum(one.idle for one in report.unjudged)
    if idle:
        answer += f" For {idle} more check{'s' if idle > 1 else ''} there was too little traffic."
    return _TONES[report.worst], answer


def _partly_idle(report: AdviseReport) -> tuple[Tone, str] | None:
    """Names the quiet interfaces where others are busy and well: nothing is left to judge of those."""
    quiet = {one.subject for one in report.unjudged if one.idle}
    names = [nic.name for nic in report.view.after.virtio_nics]
    if report.state is not State.IDLE or not quiet.issubset(names) or quiet.issuperset(names):
        return None
    where = ", ".join(safe(name) for name in names if name in quiet)
    return Tone.INFO, f"Nothing wrong was seen; on {where} there was too little traffic to judge what needs traffic."


def _findings(report: AdviseReport) -> Iterator[Block]:
    answered: set[tuple[str, str]] = set()
    for position, advice in enumerate(report.plan.advice, 1):
        yield Gap()
        yield from _advice(position, advice, applies=report.applies)
        answered |= {(one.rule, one.subject) for one in advice.findings}
    for finding in report.findings:
        if (finding.rule, finding.subject) not in answered:
            yield Gap()
            yield from _finding(finding)
            yield from _why_no_change(report, finding)
    yield from _asked_and_declined(report)


def _advice(position: int, advice: Advice, *, applies: bool) -> Iterator[Block]:
    worst = max((finding.severity for finding in advice.findings), default=Severity.INFO)
    yield Heading(f"{position}. {safe(advice.title)} ({safe(advice.id)})", _TONES[worst])
    if not advice.findings:
        yield Paragraph("asked for; no finding calls for it", 3, Tone.FAINT)
    for finding in advice.findings:
        yield from _finding(finding)
    changes = len(advice.changes)
    yield Paragraph(f"{changes} change{'s' if changes != 1 else ''}:", 3, Tone.PLAIN, "Change:")
    yield from _changes(advice)
    for label, text in _facts(advice):
        yield Paragraph(text, 3, Tone.PLAIN, label)
    yield Paragraph("as root:", 3, Tone.PLAIN, "Do:")
    yield Lines(tuple(_to_paste(change.do) for change in advice.changes))
    yield from _undo(advice)
    if applies:
        yield Paragraph(safe(advice.apply_command), 3, Tone.PLAIN, "Or:")
    else:
        later = f"“{safe(advice.apply_command)}” will do and undo this in a later version; this one only advises"
        yield Paragraph(later, 3, Tone.FAINT, "Later:")
    pages = dict.fromkeys((advice.policy, *(finding.rule for finding in advice.findings)))
    yield Paragraph(f"tuneagent explain {' or '.join(safe(page) for page in pages)}", 3, Tone.FAINT, "More:")


def _to_paste(line: str) -> str:
    # Half a command is worse than none.
    return safe(line, LONGEST_LINE) if len(line) <= LONGEST_LINE else "# too long to paste: see --json"


def _changes(advice: Advice) -> Iterator[Block]:
    rows = tuple(
        (safe(change.where), safe(UNKNOWN if change.old is None else change.old), safe(change.new), safe(change.why))
        for change in advice.changes
    )
    yield Table(("what", "old", "new", "why"), rows, indent=6)


def _undo(advice: Advice) -> Iterator[Block]:
    lines = tuple(_to_paste(change.undo) for change in reversed(advice.changes) if change.undo is not None)
    if lines:
        yield Paragraph("as root, gives back the old values:", 3, Tone.PLAIN, "Undo:")
        yield Lines(lines)
    if len(lines) < len(advice.changes):
        yield Paragraph("some old values could not be read: those changes have no undo line.", 3, Tone.WARNING, "Undo:")
    if advice.undo_note:
        yield Paragraph(safe(advice.undo_note, LONGEST_PROSE), 3, Tone.PLAIN, "It ends:")


def _facts(advice: Advice) -> Iterator[tuple[str, str]]:
    yield "Where:", f"on the {advice.role.value}"
    yield "Disrupts:", _DISRUPTION[advice.disruption]
    if advice.expects:
        for one in advice.expects:
            yield "Expect:", f"{safe(one.metric)} {reach(one)} ({safe(one.source)})"
    else:
        yield "Expect:", "no figure is known; measure before and after"
    if advice.guards:
        words = "; ".join(f"{safe(one.metric)} worse by more than {one.worse_percent_max:g} %" for one in advice.guards)
        yield "Undo if:", words
    if advice.avoid_when:
        yield "Not when:", safe(advice.avoid_when, LONGEST_PROSE)
    for note in advice.notes:
        yield "Note:", safe(note)


def _finding(finding: Finding) -> Iterator[Block]:
    severity = f"{finding.severity}".upper()
    yield Paragraph(f"{safe(finding.title)} [{safe(finding.rule)}]", 3, _TONES[finding.severity], f"{severity}:")
    yield Paragraph(safe(finding.explanation, 2000), 3)
    yield _evidence(finding.evidence)


def _evidence(evidence: tuple[Evidence, ...]) -> Table:
    rows = tuple((safe(one.metric), with_unit(one.value, one.unit), safe(one.source)) for one in evidence)
    return Table(("evidence", "value", "from"), rows, indent=6)


def _why_no_change(report: AdviseReport, finding: Finding) -> Iterator[Block]:
    on_a_nic = report.view.after.nic(finding.subject) is not None
    reasons = {
        one
        for one in report.plan.declined
        # A finding on a CPU or the machine is answered on the interface that it is about.
        if finding.rule in one.rules and (one.subject == finding.subject or not on_a_nic)
    }
    for declined in sorted(reasons, key=lambda one: one.policy):
        yield Paragraph(f"{safe(declined.policy)}: {safe(declined.reason)}", 3, Tone.FAINT, "No change by")
    yield Paragraph(f"tuneagent explain {safe(finding.rule)}", 3, Tone.FAINT, "More:")


def _asked_and_declined(report: AdviseReport) -> Iterator[Block]:
    asked = [one for one in report.plan.declined if not one.rules]
    if asked:
        yield Gap()
        yield Heading("Asked for, with nothing to do here")
        yield Table(("policy", "on", "why"), tuple((safe(o.policy), safe(o.subject), safe(o.reason)) for o in asked))


def _well(report: AdviseReport, *, verbose: bool) -> Iterator[Block]:
    if not report.clear:
        return
    yield Gap()
    yield Heading("Looked for and not found")
    if verbose or report.state is not State.FINDINGS:
        yield Table(
            ("fault", "on", "the numbers that speak against it"), tuple(_clear_row(one) for one in report.clear)
        )
        return
    faults = sorted({f"{safe(one.rule)} ({safe(one.subject)})" for one in report.clear})
    yield Paragraph(f"{', '.join(faults)}; --verbose gives the numbers", 2)


def _clear_row(clear: Clear) -> tuple[str, str, str]:
    words = ", ".join(f"{safe(one.metric)} {with_unit(one.value, one.unit)}" for one in clear.evidence)
    return safe(clear.rule), safe(clear.subject), words


def _not_judged(report: AdviseReport) -> Iterator[Block]:
    if not report.unjudged:
        return
    yield Gap()
    yield Heading("Not judged")
    by_reason: dict[tuple[str, str], list[str]] = {}
    for one in report.unjudged:
        by_reason.setdefault((one.subject, one.reason), []).append(safe(one.rule))
    for (subject, reason), rules in by_reason.items():
        yield Paragraph(f"{safe(reason)} ({', '.join(rules)})", 2, Tone.PLAIN, f"{safe(subject)}:")


def _not_seen(report: AdviseReport) -> Iterator[Block]:
    rows = missing_rows(report.view.missing)
    if not rows:
        return
    yield Gap()
    yield Heading("Not seen, and therefore unknown")
    yield missing_table(rows)


def _cost(cost: AgentCost | None) -> Iterator[Block]:
    if cost is None:
        return
    parts = [f"{number(cost.cpu_s * 1000)} ms of CPU"]
    if cost.sampling_cpu_s is not None:
        parts.append(f"{number(cost.sampling_cpu_s * 1000)} ms of it for the samples")
    if cost.peak_rss_bytes is not None:
        parts.append(f"{number(cost.peak_rss_bytes / 1e6)} MB at most")
    yield Gap()
    yield Paragraph(f"This report cost {', '.join(parts)}.", 0, Tone.FAINT)
