"""Keeps a look at this machine as a fixture, without what is nobody's business.

`python -m tests.machines.capture KIND [SECONDS]` writes tests/machines/KIND.json: two samples, raw, with the boot
options, control groups, identifiers and MAC addresses replaced.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tuneagent.app.main import run

HERE = Path(__file__).parent
PLAIN = {
    "/proc/cmdline": "console=ttyS0 reboot=k panic=1\n",
    "/proc/self/cgroup": "0::/\n",
    "/proc/sys/kernel/random/boot_id": "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee\n",
    "/sys/class/dmi/id/product_uuid": "11111111-2222-3333-4444-555555555555\n",
}
RELEASE = "/proc/sys/kernel/osrelease"
NO_ADDRESS = "00:00:00:00:00:00"


def main() -> None:
    """Takes the capture."""
    file = HERE / f"{sys.argv[1]}.json"
    run(["snapshot", "--no-observed", "--interval", sys.argv[2] if len(sys.argv) > 2 else "2", "-o", str(file)])
    keep(sys.argv[1], file.read_text())


def keep(kind: str, snapshot: str, *, private: bool = True) -> None:
    """Writes KIND.json: what `snapshot --no-observed` wrote here or on another machine, cleaned where it is private."""
    document = json.loads(snapshot)
    for sample in document["samples"] if private else ():
        _clean(sample["files"])
    (HERE / f"{kind}.json").write_text(json.dumps(document, indent=1) + "\n")


def _clean(files: dict[str, Any]) -> None:
    addresses = 0
    for path, answer in files.items():
        if "text" not in answer:
            continue
        if path in PLAIN:
            answer["text"] = PLAIN[path]
        elif path == RELEASE:
            answer["text"] = re.sub(r"^([0-9.]+).*", r"\1", answer["text"])
        elif path.endswith("/address") and answer["text"].strip() != NO_ADDRESS:
            addresses += 1
            answer["text"] = f"52:54:00:00:00:{addresses:02x}\n"


if __name__ == "__main__":
    main()
