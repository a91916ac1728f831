"""The real irqbalance: Debian's, unpacked into the cache, and run in a guest without any unit or file of its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.vm import cache, packages
from tests.vm.machine import Machine, quoted


def unpacked() -> Path:
    """Its program and the libraries that this machine does not have, unpacked and not installed."""

    def build(into: Path) -> None:
        fetcher = packages.apt(into)
        for archive in (fetcher.archive("irqbalance"), *fetcher.missing_of("irqbalance")):
            packages.unpack(archive, into)
        shutil.rmtree(fetcher.directory)

    return cache.made("irqbalance", ("irqbalance 1", packages.SUITE), build)


@contextmanager
def balancing(machine: Machine, irqbalance: Path, *options: str, interval: int = 1) -> Iterator[int]:
    """A process of it with these options, which looks every ``interval`` seconds; gives its pid."""
    libraries = ":".join(str(irqbalance / place) for place in ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"))
    program = quoted(irqbalance / "usr/sbin/irqbalance", "--foreground", f"--interval={interval}", *options)
    start = f"mkdir -p /run/irqbalance; LD_LIBRARY_PATH={libraries} {program} >/run/irqbalance.log 2>&1 & echo $!"
    pid = int(machine.run(start).checked())
    machine.run(
        f"for n in $(seq 100); do test -S /run/irqbalance/irqbalance{pid}.sock && exit 0; sleep 0.1; done; exit 1"
    ).checked()
    try:
        yield pid
    finally:
        machine.run(f"kill {pid}; while test -d /proc/{pid}; do sleep 0.1; done")
