"""Which virtual machine to look at first: worst finding, then the expected gain, then what it costs in exits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tuneagent.model.domain_view import DomainView, HypervisorView
from tuneagent.model.finding import Finding, Severity
from tuneagent.model.plan import Advice


@dataclass(frozen=True, slots=True)
class RankedDomain:
    """A virtual machine with what is wrong with it (worst first) and what would help, as the plan orders it."""

    domain: DomainView
    findings: tuple[Finding, ...]
    advice: tuple[Advice, ...]

    @property
    def runs(self) -> bool:
        """Whether anything shows it running."""
        one = self.domain
        shown = one.pid is not None or one.kvm is not None or one.counters is not None
        return shown or (one.definition is not None and one.definition.running)

    @property
    def worst(self) -> Severity | None:
        """Severity of the worst finding; None without findings."""
        return self.findings[0].severity if self.findings else None

    @property
    def gain_percent(self) -> float:
        """The largest effect that any of its advice expects, in percent, the middle where a range is given; 0: none."""
        return max((_gain(one) for one in self.advice), default=0.0)

    @property
    def exits_per_sec(self) -> float | None:
        """VM exits a second."""
        return self.domain.kvm.exits_per_sec if self.domain.kvm else None

    @property
    def order(self) -> tuple[float, float, bool, float, str, str]:
        """What sorts first has most to gain; unknown exits come after few, and what does not run after what does."""
        exits = self.exits_per_sec
        worst = -1 if self.worst is None else self.worst
        return (
            -worst,
            -self.gain_percent,
            not self.runs,
            1.0 if exits is None else -exits,
            self.domain.name,
            self.domain.key,
        )


def by_subject(view: HypervisorView | None) -> dict[str, DomainView]:
    """The virtual machine that a finding's subject is about, for all subjects at once: ``of_subject`` seeks each."""
    found: dict[str, DomainView] = {}
    for domain in view.domains if view else ():
        found.setdefault(domain.subject, domain)
        for interface in domain.definition.interfaces if domain.definition else ():
            found.setdefault(domain.subject_of(interface), domain)
    return found


def ranked(view: HypervisorView, findings: Iterable[Finding], advice: Iterable[Advice]) -> tuple[RankedDomain, ...]:
    """Every virtual machine, that with most to gain first. ``findings`` are worst first."""
    subjects = by_subject(view)
    found: dict[str, list[Finding]] = {}
    for one in findings:
        if one.subject in subjects:
            found.setdefault(subjects[one.subject].key, []).append(one)
    helps: dict[str, list[Advice]] = {}
    for help_ in advice:
        for key in dict.fromkeys(subjects[on].key for on in _subjects(help_) if on in subjects):
            helps.setdefault(key, []).append(help_)
    return tuple(
        sorted(
            (RankedDomain(one, tuple(found.get(one.key, ())), tuple(helps.get(one.key, ()))) for one in view.domains),
            key=lambda one: one.order,
        )
    )


def _subjects(advice: Advice) -> tuple[str, ...]:
    return (advice.subject, *(finding.subject for finding in advice.findings))


def _gain(advice: Advice) -> float:
    answered = {finding.rule for finding in advice.findings}
    return max(
        (
            (one.percent_low + one.percent_high) / 2
            for one in advice.expects
            if not one.rules or answered.intersection(one.rules)
        ),
        default=0.0,
    )
