"""The two ways in which a source disappoints: it cannot be read, or it cannot be understood."""

from __future__ import annotations

from tuneagent.model.missing import Missing, Reason


class SourceError(Exception):
    """A file, directory, link or other source could not be read."""

    def __init__(self, source: str, reason: Reason, detail: str, remedy: str | None = None) -> None:
        super().__init__(f"{source}: {detail}")
        self.source = source
        self.reason = reason
        self.detail = detail
        self.remedy = remedy

    def missing(self, what: str) -> Missing:
        """The same fact as a noun of the snapshot."""
        return Missing(what, self.source, self.reason, self.detail, None, self.remedy)


class ParseError(ValueError):
    """A text is not in its documented format. Knows its line (from 1) but not its file: parsers see no files."""

    def __init__(self, detail: str, line: int | None = None, reason: Reason = Reason.MALFORMED) -> None:
        super().__init__(detail if line is None else f"line {line}: {detail}")
        self.detail = detail
        self.line = line
        self.reason = reason

    def missing(self, what: str, source: str) -> Missing:
        """The same fact as a noun of the snapshot, now that the reader tells which file it was."""
        return Missing(what, source, self.reason, self.detail, self.line)
