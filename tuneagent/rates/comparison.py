"""Two samples side by side, and what of them cannot be compared."""

from __future__ import annotations

from dataclasses import dataclass, field

from tuneagent.model.missing import Missing, Reason
from tuneagent.model.snapshot import Snapshot
from tuneagent.rates.counters import PLAUSIBLE_64_PER_SEC, delta_64, per_sec

MOST_APART = 2.0
"""Times that a table's own interval may differ from that of the samples."""


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

    def rate(self, what: str, source: str, counts: tuple[int | None, int | None], seconds: float) -> float | None:
        """Growth a second of a 64-bit counter, (before, after); None, with a note, where no growth can be told."""
        growth = delta_64(*counts)
        if growth is not None and growth > PLAUSIBLE_64_PER_SEC * seconds:
            self.unknown(what, source, "the counter cannot have grown so much: the two counts are not of one device")
            return None
        if growth is None and None not in counts:
            self.reset(what, source)
        return per_sec(growth, seconds)

    def between(self, before_ns: int | None, after_ns: int | None) -> float:
        """Seconds between the two reads of one table; those between the samples where the reads have no times.

        A table is read once a sample, so its own interval is nearly that of the samples: times that tell otherwise are
        not believed.
        """
        if before_ns is None or after_ns is None:
            return self.seconds
        seconds = (after_ns - before_ns) / 1e9
        return seconds if self.seconds / MOST_APART <= seconds <= self.seconds * MOST_APART else self.seconds
