"""Exit codes, the same for every command."""

from __future__ import annotations

DONE = 0
"""Done, also when there was nothing to do or to see."""
FAILED = 1
"""Failed, and everything that was written is given back; of a rollback: something is stuck."""
BAD_INPUT = 2
"""Bad usage, a bad policy or an unreadable input file; nothing was done."""
FORBIDDEN = 4
"""Not permitted: no root, a container, a sandbox, a file that others may write. Nothing was changed."""
PARTIAL = 5
"""With --strict: something could not be measured."""
FOUND = 6
"""With --fail-on: a finding reached the level. Of a status: something drifted, or an undo is due."""
INTERRUPTED = 130
"""Ctrl-C, as a shell reports it."""
