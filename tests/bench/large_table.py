"""Two moments of /proc/interrupts on a machine of 256 CPUs and 1,000 interrupts, and trees around them."""

from __future__ import annotations

from pathlib import Path
from random import Random

CPUS = 256
IRQS = 1000


def pair(changed: float, cpus: int = CPUS, irqs: int = IRQS) -> tuple[str, str]:
    """Two texts; of the second, this part of the rows has grown, on every CPU."""
    random = Random(1)  # noqa: S311 - the same tables in every run
    before = [[random.randrange(10 ** random.randrange(1, 10)) for _ in range(cpus)] for _ in range(irqs)]
    grown = set(random.sample(range(irqs), round(changed * irqs)))
    after = [
        [count + random.randrange(1, 3000) for count in row] if irq in grown else row for irq, row in enumerate(before)
    ]
    return _text(before), _text(after)


def _text(rows: list[list[int]]) -> str:
    header = "           " + "".join(f" CPU{cpu:<8}" for cpu in range(len(rows[0])))
    lines = [header]
    for irq, counts in enumerate(rows, 24):
        numbers = "".join(f" {count:>10}" for count in counts)
        queue = f"virtio{irq // 64}-{'output' if irq % 2 else 'input'}.{irq % 64 // 2}"
        lines.append(f"{irq:>4}:{numbers}  PCI-MSIX-0000:00:{irq // 64:02x}.0 {irq % 64:>4}-edge      {queue}")
    return "\n".join(lines) + "\n"


def tree(root: Path, interrupts: str) -> Path:
    """A captured tree with this table and the CPUs that it has."""
    cpus = len(interrupts.split("\n", 1)[0].split())
    files = {"proc/interrupts": interrupts, "sys/devices/system/cpu/online": f"0-{cpus - 1}\n"}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root
