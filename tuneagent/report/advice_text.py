"""One finding and one piece of advice for people: the evidence, the exact change, what it disrupts, how to undo it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tuneagent.model.advise import AdviseReport
from tuneagent.model.finding import Evidence, Finding, Severity
from tuneagent.model.identity import Role
from tuneagent.model.plan import Advice, Change
from tuneagent.model.policy import Disruption
from tuneagent.report.document import Block, Gap, Heading, Lines, Paragraph, Table, Tone
from tuneagent.report.policy_text import reach
from tuneagent.report.safe import safe
from tuneagent.report.values import UNKNOWN, with_unit

TONES = {Severity.INFO: Tone.INFO, Severity.WARNING: Tone.WARNING, Severity.CRITICAL: Tone.CRITICAL}
_DISRUPTION = {
    Disruption.NONE: "none: no packet is lost",
    Disruption.LINK_FLAP: "link flap: traffic stops for a moment",
    Disruption.COLD_START: "cold start: the virtual machine must be shut down and started",
}
LONGEST_PROSE = 4000
LONGEST_LINE = 8192
"""Characters of a line to paste; terminals in canonical mode take 4,095 at a time, scripts more."""


@dataclass(slots=True)
class Said:
    """What a report has said so far, so that it goes on counting and says a note once."""

    advice: int = 0
    """Pieces of advice."""
    notes: dict[str, int] = field(default_factory=dict)
    """Under which of them each note stands."""

    def new(self, notes: Iterable[str]) -> Iterator[str]:
        """Those that were not said yet, said now; and one line for those that stand further up."""
        repeated: dict[int, int] = {}
        for note in notes:
            place = self.notes.setdefault(note, self.advice)
            if place == self.advice:
                yield note
            else:
                repeated[place] = repeated.get(place, 0) + 1
        for place, count in sorted(repeated.items()):
            yield f"{count} {'notes' if count > 1 else 'note'} under {place}. hold{'' if count > 1 else 's'} here too"


def told(report: AdviseReport, findings: Iterable[Finding], advice: Iterable[Advice], said: Said) -> Iterator[Block]:
    """This advice, each with the next number, and then those of these findings that no advice answers, with reasons."""
    answered: set[tuple[str, str]] = set()
    for one in advice:
        yield Gap()
        said.advice += 1
        yield from _advice(said, one, report)
        answered |= {(finding.rule, finding.subject) for finding in one.findings}
    for finding in findings:
        if (finding.rule, finding.subject) not in answered:
            yield Gap()
            yield from _finding(finding)
            yield from _why_no_change(report, finding)


def _advice(said: Said, advice: Advice, report: AdviseReport) -> Iterator[Block]:
    worst = max((finding.severity for finding in advice.findings), default=Severity.INFO)
    yield Heading(f"{said.advice}. {safe(advice.title)} ({safe(advice.id)})", TONES[worst])
    if not advice.findings:
        yield Paragraph("asked for; no finding calls for it", 3, Tone.FAINT)
    for finding in advice.findings:
        yield from _finding(finding)
    several = f"{len(advice.changes)}, in this order:" if len(advice.changes) > 1 else ""
    yield Paragraph(several, 3, Tone.PLAIN, "Change:")
    yield from _changes(advice)
    for label, text in _facts(advice, _place(report, advice)):
        yield Paragraph(text, 3, Tone.PLAIN, label)
    for note in said.new(advice.notes):
        yield Paragraph(safe(note), 3, Tone.PLAIN, "Note:")
    yield Paragraph("as root:", 3, Tone.PLAIN, "Do:")
    yield Lines(tuple(_to_paste(change.do) for change in advice.changes))
    yield from _undo(advice)
    if report.applies:
        yield Paragraph(safe(advice.apply_command), 3, Tone.PLAIN, "Or:")
    pages = dict.fromkeys((advice.policy, *(finding.rule for finding in advice.findings)))
    yield Paragraph(f"tuneagent explain {' or '.join(safe(page) for page in pages)}", 3, Tone.FAINT, "More:")


def _to_paste(line: str) -> str:
    # Half a command is worse than none.
    return safe(line, LONGEST_LINE) if len(line) <= LONGEST_LINE else "# too long to paste: see --json"


def _changes(advice: Advice) -> Iterator[Block]:
    rows = tuple(
        (safe(change.where), _old(change), safe(change.new), safe(change.why))
        for change in advice.changes
        if not change.diff
    )
    if rows:
        yield Table(("what", "old", "new", "why"), rows, indent=6)
    for change in advice.changes:
        yield from _difference(change)


def _old(change: Change) -> str:
    return safe(UNKNOWN if change.old is None else change.old)


def _difference(change: Change) -> Iterator[Block]:
    """What changes in an element, line by line; where it lies is too long for a table."""
    if change.diff:
        yield Paragraph(f"{safe(change.where)}: {_old(change)} → {safe(change.new)}", 6)
        yield Paragraph(safe(change.why), 6)
        yield Lines(tuple(safe(line, LONGEST_LINE) for line in change.diff), indent=8)


def _undo(advice: Advice) -> Iterator[Block]:
    lines = tuple(_to_paste(change.undo) for change in reversed(advice.changes) if change.undo is not None)
    if lines:
        yield Paragraph("as root, gives back the old values:", 3, Tone.PLAIN, "Undo:")
        yield Lines(lines)
    if len(lines) < len(advice.changes):
        yield Paragraph("some old values could not be read: those changes have no undo line.", 3, Tone.WARNING, "Undo:")
    if advice.undo_note:
        yield Paragraph(safe(advice.undo_note, LONGEST_PROSE), 3, Tone.PLAIN, "It ends:")


def _place(report: AdviseReport, advice: Advice) -> str:
    """A hypervisor tunes its own interfaces as a guest does; "on the guest" would send people to another machine."""
    host = report.view.hypervisor
    own = host is not None and host.of_subject(advice.subject) is None
    return "on the hypervisor, for itself" if own and advice.role is Role.GUEST else f"on the {advice.role.value}"


def _facts(advice: Advice, place: str) -> Iterator[tuple[str, str]]:
    yield "Where:", place
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


def _finding(finding: Finding) -> Iterator[Block]:
    severity = f"{finding.severity}".upper()
    yield Paragraph(f"{safe(finding.title)} [{safe(finding.rule)}]", 3, TONES[finding.severity], f"{severity}:")
    yield Paragraph(safe(finding.explanation, 2000), 3)
    yield _evidence(finding.evidence)


def _evidence(evidence: tuple[Evidence, ...]) -> Table:
    rows = tuple((safe(one.metric), with_unit(one.value, one.unit), safe(one.source)) for one in evidence)
    return Table(("evidence", "value", "from"), rows, indent=6)


def _why_no_change(report: AdviseReport, finding: Finding) -> Iterator[Block]:
    reasons = {
        one
        for one in report.plan.declined
        # A finding on a CPU or the machine is answered on the interface that it is about.
        if finding.rule in one.rules and (one.subject == finding.subject or not _has_a_place(report, finding))
    }
    for declined in sorted(reasons, key=lambda one: one.policy):
        yield Paragraph(f"{safe(declined.policy)}: {safe(declined.reason)}", 3, Tone.FAINT, "No change by")
    yield Paragraph(f"tuneagent explain {safe(finding.rule)}", 3, Tone.FAINT, "More:")


def _has_a_place(report: AdviseReport, finding: Finding) -> bool:
    """Whether it is about an interface, or about a virtual machine or an interface of one."""
    host = report.view.hypervisor
    return report.view.after.nic(finding.subject) is not None or (
        host is not None and host.of_subject(finding.subject) is not None
    )
