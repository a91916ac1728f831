from __future__ import annotations

from typing import Any

from tests import make_hypervisor as make
from tests.diagnose.hypervisors import on, still, thread
from tests.diagnose.views import clear, finding, value
from tuneagent.diagnose.emulator_unpinned import judge
from tuneagent.model.finding import Severity
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import View


def pinned(emulator_run: float = 3.0, worker_run: float = 4.0, *, kernel_thread: bool = False, **changes: Any) -> View:
    threads = (
        thread(ThreadRole.EMULATOR, emulator_run, 0.5, affinity=on(range(4))),
        thread(ThreadRole.VHOST, worker_run, 1.5, kernel_thread=kernel_thread),
    )
    return make.host_view(
        make.domain_view(definition=make.domain(**{"emulator_pin": None, **changes}), threads=threads)
    )


def test_pinned_vcpus_and_a_floating_emulator() -> None:
    found = finding(judge, pinned())
    assert (found.subject, found.severity) == ("domain web1", Severity.INFO)
    assert (value(found, "vcpu_pins"), value(found, "emulator_may_run_on")) == ("2-3", "0-3")
    assert finding(judge, still(pinned())).severity is Severity.INFO


def test_threads_that_use_much_make_it_a_warning_unless_they_are_the_kernels() -> None:
    assert finding(judge, pinned(worker_run=44.0)).severity is Severity.WARNING
    assert finding(judge, pinned(worker_run=44.0, kernel_thread=True)).severity is Severity.INFO


def test_the_cpuset_of_the_vcpus_is_named() -> None:
    assert "on CPUs 2-3 (cpuset of <vcpu>)" in finding(judge, pinned(vcpu_cpus=on([2, 3]))).explanation


def test_a_pin_or_an_affinity_of_its_own_is_well() -> None:
    assert value(clear(judge, pinned(emulator_pin=on([0]))), "emulatorpin") == "0"
    apart = (thread(ThreadRole.EMULATOR, 3.0, 0.5, affinity=on([0, 1])),)
    clear(judge, make.host_view(make.domain_view(definition=make.domain(emulator_pin=None), threads=apart)))


def test_vcpus_that_are_not_all_pinned_are_no_question() -> None:
    assert judge(pinned(vcpu_pins={0: on([2])})) == ()
    assert judge(pinned(vcpu_pins={0: on(range(4)), 1: on(range(4))})) == ()
    assert judge(pinned(vcpu_pins={}, vcpu_cpus=on([2, 3]))) == ()
    finding(judge, pinned(vcpu_pins={0: on([2]), 5: on([3])}, vcpu_numbers=(0, 5)))
