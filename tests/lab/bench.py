"""What a sample costs on a real hypervisor, beside what others cost there: `python -m tests.lab.bench`.

Or `make bench-lab`. Boots the lab, which takes minutes; writes bench-lab.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.lab import sampling, wheels
from tests.lab.definition import Definition
from tests.lab.faults import Ledger
from tests.lab.lab import lab
from tests.vm.kernel import SERIES
from tests.vm.prerequisites import sbin_in_path

TABLE = Path("bench-lab.json")


def main() -> None:
    """Prints and writes the medians of each kernel, in ms of CPU."""
    sbin_in_path()
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as place:
        program = wheels.build(Path(__file__).parents[2], Path(place))
        for kernel in SERIES:
            with lab(Ledger(), program) as made:
                domain = made.domain(Definition(), kernel)
                domain.hypervisor.put(Path(sampling.__file__), "/root")
                said = domain.run("/opt/tuneagent/bin/python /root/sampling.py", 600).checked()
                figures[kernel] = json.loads(said)
                sys.stdout.write(f"{kernel}: {said}\n")
    TABLE.write_text(json.dumps({"schema": "tuneagent.bench-lab/1", "cpu_ms": figures}, indent=2) + "\n")


if __name__ == "__main__":
    main()
