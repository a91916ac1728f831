"""CPU time of one sample of exits, several ways by turns. Run inside a hypervisor by tests.lab.bench: prints JSON.

Each way's time is that of the process that asks, of those it runs, and of libvirtd and QEMU, whom it makes work.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tuneagent.machine.live import Live
from tuneagent.model.hypervisor import Hypervisor
from tuneagent.observe import hypervisor, kvm
from tuneagent.observe.gaps import Gaps

ROUNDS = 15
KVM = Path("/sys/kernel/debug/kvm")


def main() -> None:
    """Every way once to warm it, then in turn; the medians in ms."""
    source = Live()
    taken: dict[str, list[float]] = {}
    previous: list[Hypervisor | None] = [None]

    def everything() -> None:
        previous[0] = hypervisor.observe(Gaps(source), previous[0])

    ways: dict[str, Callable[[], object]] = {
        "tuneagent_counters": lambda: counters(source, previous[0]),
        "tuneagent_everything": everything,
        "kvm_stat_counters": every_file,
        "virsh_domstats": lambda: subprocess.run(["virsh", "domstats", "--vcpu"], check=True, capture_output=True),
    }
    everything()
    for _ in range(ROUNDS + 1):
        for name, look in ways.items():
            # What it costs to look at the others is ours, and lies outside.
            served, own = served_ms(), own_ms()
            look()
            own = own_ms() - own
            taken.setdefault(name, []).append(own + served_ms() - served)
    json.dump({name: round(median(times[1:]), 3) for name, times in taken.items()}, sys.stdout)


def counters(source: Live, seen: Hypervisor | None) -> object:
    """KVM's counters as a sample reads them, when the processes are known."""
    gaps = Gaps(source)
    return kvm.observe(gaps, kvm.listing(gaps), seen.processes or () if seen else ())


def every_file() -> None:
    """Each counter of each virtual machine, as the kernel's tools/kvm/kvm_stat reads them from debugfs."""
    for machine in KVM.iterdir():
        for file in machine.iterdir() if machine.is_dir() else ():
            if file.is_file():
                with file.open() as opened:
                    opened.read()


def own_ms() -> float:
    """CPU time so far of this process and of those that it ran."""
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum((one.ru_utime + one.ru_stime) * 1000 for one in own)


def served_ms() -> float:
    """CPU time so far of libvirtd and all QEMUs."""
    pids = [one for one in Path("/proc").iterdir() if one.name.isdecimal()]
    return sum(threads_ms(one) for one in pids if comm(one) in {"libvirtd", "qemu-system-x86"})


def comm(process: Path) -> str:
    """The kernel's name of a process; empty for one that has ended."""
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return ""


def threads_ms(process: Path) -> float:
    """CPU time of all threads of a process but the vCPUs, which run a guest of their own."""
    total = 0.0
    for task in (process / "task").iterdir():
        if not (task / "comm").read_text().startswith("CPU "):
            total += int((task / "schedstat").read_text().split()[0]) / 1e6
    return total


if __name__ == "__main__":
    main()
