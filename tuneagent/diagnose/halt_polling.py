"""KVM's polling for a halted vCPU: whether it is on, what it costs, and whether the host has time for it."""

from __future__ import annotations

from tuneagent.diagnose.domains import running, vcpus
from tuneagent.model.domain_view import DomainView
from tuneagent.model.view import View

PARAMETER = "kvm.halt_poll_ns"
GROW = "kvm.halt_poll_ns_grow"
NS_PER_SEC = 1e9


def is_on(view: View) -> bool | None:
    """Whether a halted vCPU is polled for; None where the parameter is not known.

    Each vCPU starts at 0 and grows by halt_poll_ns_grow: where that is 0, none ever polls (grow_halt_poll_ns()).
    """
    host = view.after.hypervisor
    most = host.parameter(PARAMETER) if host is not None else None
    if host is None or most is None:
        return None
    return most > 0 and host.parameter(GROW) != 0


def wasted_percent(domain: DomainView) -> float | None:
    """CPU time that its vCPUs polled in vain, in percent of one CPU; None where KVM does not tell."""
    failed = domain.kvm.per_sec.get("halt_poll_fail_ns") if domain.kvm is not None else None
    return None if failed is None else 100.0 * failed / NS_PER_SEC


def wasted_percent_of_a_vcpu(domain: DomainView) -> float:
    """The same for each of its vCPUs; of one, where their number is not known."""
    return (wasted_percent(domain) or 0.0) / (vcpus(domain) or 1)


def idle_percent(view: View) -> float | None:
    """How much the host's CPUs idle on average; time that polls is not idle. None where unknown."""
    told = [rate.idle_percent for rate in view.cpus.values() if rate.idle_percent is not None]
    return sum(told) / len(told) if told else None


def longest_wait_percent(view: View) -> float | None:
    """The longest that any thread of a virtual machine waited for a CPU; None where no waiting is told."""
    waits = (one.wait_percent for domain in running(view) for one in domain.threads)
    return max((wait for wait in waits if wait is not None), default=None)
