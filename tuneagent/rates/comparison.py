"""Two samples side by side, and what of them cannot be compared."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuneagent.model.missing import Missing, Reason
from tuneagent.model.snapshot import Snapshot


@dataclass(slots=True)
class Comparison:
    """The two samples, the seconds between them, and the growing list of what is unknown about the interval."""

    before: Snapshot
    after: Snapshot
    seconds: float
    missing: list[Missing] = field(default_factory=list)

    def unknown(self, what: str, source: str, detail: str) -> None:
        """Note that the two samples cannot tell this."""
        self.missing.append(Missing(what, source, Reason.UNKNOWABLE, detail))

    def reset(self, what: str, source: str) -> None:
        """Note that a counter fell."""
        self.unknown(what, source, "the counter fell: it was reset")

    def between(self, before_ns: int | None, after_ns: int | None) -> float:
        """Seconds between the two reads of one table; those between the samples where the reads have no times."""
        if before_ns is None or after_ns is None or after_ns <= before_ns:
            return self.seconds
        return (after_ns - before_ns) / 1e9
