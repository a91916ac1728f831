from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests import make
from tests import make_hypervisor as hosts
from tests.diagnose.hypervisors import on, still, thread
from tests.diagnose.views import clear, finding, plain_nic, unjudged, value
from tuneagent.diagnose.vhost_worker_placement import judge
from tuneagent.model.domain_view import DomainView, ThreadRate
from tuneagent.model.finding import Severity
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import View


def worker(run: float | None = 40.0, **changes: Any) -> ThreadRate:
    return thread(ThreadRole.VHOST, run, 1.5, **changes)


def vcpu(index: int, run: float, **changes: Any) -> ThreadRate:
    return thread(ThreadRole.VCPU, run, 0.5, index, **changes)


def served(*threads: ThreadRate, **changes: Any) -> DomainView:
    return hosts.domain_view(threads=threads, **changes)


def two_nodes(domain: DomainView, **changes: Any) -> View:
    nodes = {0: on([0, 1]), 1: on([2, 3])}
    after = replace(hosts.host(**changes), cpus=make.topology(4, nodes=nodes))
    return hosts.host_view(domain, after=after)


def test_a_worker_bound_to_the_cpu_of_a_pinned_busy_vcpu() -> None:
    found = finding(judge, hosts.host_view(served(worker(affinity=on([3]), cpu=3), vcpu(1, 82.0))))
    assert (found.subject, found.severity, found.cpus) == ("domain web1", Severity.WARNING, (3,))
    assert "may run only on CPUs of busy vCPUs: CPU 3 is that of vCPU 1 of web1" in found.explanation
    assert "Which queue, or NIC, a worker serves is not told" in found.explanation
    assert value(found, "busiest_worker_tid") == "4260"


def test_another_machines_vcpu_counts_as_well() -> None:
    other = replace(served(vcpu(0, 90.0)), name="db1", key="db")
    (found,) = judge(hosts.host_view(other, served(worker(affinity=on([2]), cpu=2))))
    assert (found.subject, "vCPU 0 of db1" in getattr(found, "explanation", "")) == ("domain web1", True)


def test_a_worker_that_stayed_beside_a_floating_vcpu() -> None:
    anywhere = on(range(4))
    floating = vcpu(0, 70.0, affinity=anywhere, cpu=1)
    found = finding(judge, hosts.host_view(served(worker(affinity=anywhere, cpu=1), floating)))
    assert "stayed on the CPU of a busy vCPU" in found.explanation
    for free in (
        served(worker(affinity=anywhere, cpu=1, moved=True), floating),
        served(worker(affinity=anywhere, cpu=1), replace(floating, moved=True)),
        served(worker(affinity=anywhere, cpu=2), floating),
    ):
        clear(judge, hosts.host_view(free))


def test_idle_workers_and_idle_vcpus_disturb_nobody() -> None:
    clear(judge, hosts.host_view(served(worker(4.0, affinity=on([3]), cpu=3), vcpu(1, 82.0))))
    clear(judge, hosts.host_view(served(worker(affinity=on([3]), cpu=3), vcpu(1, 30.0))))


def test_which_hand_reaches_the_worker_depends_on_the_era() -> None:
    bound: dict[str, Any] = {"affinity": on([3]), "cpu": 3}
    old = finding(judge, hosts.host_view(served(worker(kernel_thread=True, **bound), vcpu(1, 82.0))))
    new = finding(judge, hosts.host_view(served(worker(**bound), vcpu(1, 82.0))))
    assert "emulatorpin moves them where they are in QEMU's control group" in old.explanation
    assert "emulatorpin moves them" in new.explanation
    assert value(old, "emulatorpin_reaches_it") == "by QEMU's control group"
    assert value(new, "emulatorpin_reaches_it") == "yes"


def test_a_worker_far_from_the_memory() -> None:
    far = served(worker(affinity=on([0, 1]), cpu=1), definition=hosts.domain(memory_nodes=on([1])))
    found = finding(judge, two_nodes(far))
    assert found.severity is Severity.WARNING
    assert value(found, "near_cpus") == "2-3"
    near = served(worker(affinity=on([2, 3]), cpu=2), definition=hosts.domain(memory_nodes=on([1])))
    clear(judge, two_nodes(near))
    clear(judge, hosts.host_view(far))
    assert finding(judge, still(two_nodes(served(worker(None), definition=far.definition)))).severity is Severity.INFO


def test_a_worker_far_from_the_hosts_nic() -> None:
    nic = plain_nic("ens1f0", node=1, upper=("br0",))
    found = finding(judge, two_nodes(served(worker(), taps=(hosts.tap_rate(),)), nics=(nic,)))
    assert (found.severity, "another NUMA node than its host NIC" in found.title) == (Severity.INFO, True)
    elsewhere = plain_nic("ens1f0", node=1, upper=("br9",))
    clear(judge, two_nodes(served(worker()), nics=(elsewhere,)))


def test_no_worker_and_no_interval() -> None:
    assert judge(hosts.host_view(served(vcpu(0, 90.0)))) == ()
    assert unjudged(judge, still(hosts.host_view(served(worker(None))))).reason == "one sample"
