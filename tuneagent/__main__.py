"""``python -m tuneagent``: the same command without its script, as it is run to undo what nobody confirmed."""

from __future__ import annotations

from tuneagent.app.entry import main

if __name__ == "__main__":
    main()
