"""Module parameters of KVM and vhost, and how the host keeps its memory."""

from __future__ import annotations

import re

from tuneagent.model.errors import SourceError
from tuneagent.model.hypervisor import HostMemory
from tuneagent.observe.gaps import Gaps
from tuneagent.parse import choice

MODULES = "/sys/module"
PARAMETERS = {
    "kvm": ("halt_poll_ns", "halt_poll_ns_grow", "halt_poll_ns_grow_start", "halt_poll_ns_shrink"),
    "kvm_intel": ("enable_apicv", "ple_gap", "ple_window", "nested"),
    "kvm_amd": ("avic", "pause_filter_thresh", "pause_filter_count", "nested"),
    "vhost": ("fork_from_owner_default", "max_mem_regions"),
    "vhost_net": ("experimental_zcopytx",),
}
"""By module: virt/kvm/kvm_main.c, arch/x86/kvm/vmx/vmx.c, arch/x86/kvm/svm/svm.c, drivers/vhost/."""
VHOST_NET = "vhost_net"

_KSM = "/sys/kernel/mm/ksm"
_HUGEPAGES = "/sys/kernel/mm/hugepages"
_TRANSPARENT = "/sys/kernel/mm/transparent_hugepage/enabled"
_SIZE = re.compile(r"hugepages-[0-9]{1,12}kB")
_MERGING = 1
"""ksm/run: 1 merges, 0 and 2 do not (Documentation/admin-guide/mm/ksm.rst)."""


def observe(gaps: Gaps) -> dict[str, str]:
    """Parameters by ``module.name``, those only that this kernel has; ``vhost_net`` alone where that module is."""
    found: dict[str, str] = {}
    for module, names in PARAMETERS.items():
        listed = gaps.listed(f"{MODULES}/{module}/parameters")
        for name in names:
            value = _value(gaps, module, name) if name in listed else None
            if value is not None:
                found[f"{module}.{name}"] = value
    if _is_there(gaps, f"{MODULES}/{VHOST_NET}"):
        found[VHOST_NET] = ""
    return found


def memory(gaps: Gaps) -> HostMemory:
    """Same-page merging, transparent and reserved huge pages; what this kernel lacks is None."""
    running = gaps.integer("hypervisor.memory.ksm", f"{_KSM}/run")
    total, free = _hugepages(gaps)
    return HostMemory(
        ksm_running=None if running is None else running == _MERGING,
        ksm_pages_sharing=gaps.integer("hypervisor.memory.ksm", f"{_KSM}/pages_sharing"),
        transparent_hugepages=gaps.parsed("hypervisor.memory.thp", _TRANSPARENT, choice.parse, optional=True),
        hugepages_total=total,
        hugepages_free=free,
    )


def _value(gaps: Gaps, module: str, name: str) -> str | None:
    return gaps.word(f"hypervisor.parameters.{module}.{name}", f"{MODULES}/{module}/parameters/{name}")


def _is_there(gaps: Gaps, path: str) -> bool:
    try:
        gaps.source.names(path)
    except SourceError:
        return False
    return True


def _hugepages(gaps: Gaps) -> tuple[int | None, int | None]:
    """(reserved, free) pages of all sizes together."""
    counts: list[tuple[int | None, int | None]] = []
    for size in gaps.listed(_HUGEPAGES):
        if _SIZE.fullmatch(size):
            path = f"{_HUGEPAGES}/{size}"
            total = gaps.integer("hypervisor.memory.hugepages", f"{path}/nr_hugepages")
            counts.append((total, gaps.integer("hypervisor.memory.hugepages", f"{path}/free_hugepages")))
    return _total([total for total, _ in counts]), _total([free for _, free in counts])


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None
