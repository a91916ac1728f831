"""The first thing that runs: even an interrupt within the first tenth of a second ends in one line, not a traceback."""

from __future__ import annotations

from typing import NoReturn


def main() -> NoReturn:
    """Load the command line and run it."""
    try:
        from tuneagent.app.main import main as run
    except KeyboardInterrupt:
        import os

        os.write(2, b"interrupted; nothing was changed\n")
        os._exit(130)
    run()
