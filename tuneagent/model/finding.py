"""What a rule says of a subject: wrong, well, or not to be judged. Each with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """How much a finding costs, so that findings can be ordered and ``--fail-on`` can compare."""

    INFO = 0
    """Worth knowing; no measurable cost seen."""
    WARNING = 1
    """Costs throughput or latency under the load seen, or will under load."""
    CRITICAL = 2
    """Packets are lost or a CPU is saturated now."""

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Evidence:
    """One measured fact: a metric with its unit, the value, and where it came from."""

    metric: str
    """Standard name that ends in its unit where it has one: ``rx_interrupts_per_packet``."""
    value: float | int | str | None
    unit: str
    """``1/s``, ``%``, ``CPU list``, ``queues``; empty for a bare ratio or a name."""
    source: str
    """File or interface the value rests on, as seen from the system root."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong. ``subject`` is an interface, a CPU (``cpu0``), an interrupt (``irq20``) or ``machine``."""

    rule: str
    subject: str
    severity: Severity
    title: str
    """One line, for the head of the report."""
    explanation: str
    """One to three sentences: what it means here, with the numbers, and who did it where that is known."""
    evidence: tuple[Evidence, ...]
    irqs: tuple[int, ...] = ()
    """Interrupts that it is about; numbers are for showing, plans look them up again."""
    queues: tuple[int, ...] = ()
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Clear:
    """Looked at and found well, with the numbers that say so."""

    rule: str
    subject: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Could not be judged: too little traffic, a part that is missing, one sample only."""

    rule: str
    subject: str
    reason: str
    idle: bool = False
    """True when the only cause is too little traffic."""


Judgement = Finding | Clear | Unjudged
