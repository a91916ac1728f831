from __future__ import annotations

import shlex

from tests import make_hypervisor as host
from tests.plan import build, hypervisors
from tests.plan.hypervisors import WEB1, interface, threads, web1
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain_view import DomainView
from tuneagent.model.plan import Plan, TunableKind

ALL = CpuSet.of(range(4))
PLACEMENT = "vhost-worker-placement"


def on(domain: DomainView) -> Plan:
    return hypervisors.of(
        host.host_view(domain), build.finding(PLACEMENT, domain.subject), policies=(hypervisors.WORKERS,)
    )


def test_each_worker_leaves_the_vcpus_cpus() -> None:
    changes = hypervisors.only(on(web1(threads=threads(CpuSet.of([3]), ALL, kernel_thread=True)))).changes
    assert [change.kind for change in changes] == [TunableKind.VHOST_AFFINITY] * 2
    assert [shlex.split(change.do) for change in changes] == [
        ["taskset", "-pc", "0-1", "4260"],
        ["taskset", "-pc", "0-1", "4261"],
    ]
    assert [change.undo for change in changes] == ["taskset -pc 3 4260", "taskset -pc 0-3 4261"]
    target = changes[1].target
    assert (target.domain_uuid, target.thread_role, target.kernel_thread, target.tid) == (
        host.UUID,
        "vhost",
        True,
        4261,
    )


def test_another_connection_is_in_the_target() -> None:
    domain = web1(threads=threads(CpuSet.of([3])), uri="qemu:///session")
    assert hypervisors.change(on(domain)).target.uri == "qemu:///session"


def test_who_is_well_placed_stays() -> None:
    changes = hypervisors.only(on(web1(threads=threads(CpuSet.of([1]), CpuSet.of([2]))))).changes
    assert [change.target.tid for change in changes] == [4261]
    assert "already so" in hypervisors.reason(on(web1(threads=threads(CpuSet.of([0]), CpuSet.of([0, 1])))))


def test_an_unknown_mask_has_no_way_back() -> None:
    advice = hypervisors.only(on(web1(threads=threads(None))))
    assert advice.changes[0].undo is None
    assert "no undo line" in "\n".join(advice.notes)


def test_threads_of_qemu_stay_in_the_emulators_set() -> None:
    inside = web1(emulator_pin=CpuSet.of([1, 2]), threads=threads(CpuSet.of([2])))
    advice = hypervisors.only(on(inside))
    assert advice.changes[0].new == "1"
    assert "emulator-pin" in "\n".join(advice.notes)
    bound = web1(emulator_pin=CpuSet.of([2, 3]), threads=threads(CpuSet.of([2])))
    assert "bound to the emulator's CPUs 2-3" in hypervisors.reason(on(bound))
    kernel = web1(emulator_pin=CpuSet.of([2, 3]), threads=threads(CpuSet.of([2]), kernel_thread=True))
    assert hypervisors.change(on(kernel)).new == "0-1"


def test_without_workers_nothing() -> None:
    assert "no vhost worker" in hypervisors.reason(on(web1(threads=threads())))


def test_a_qemu_that_libvirt_does_not_tell_of_can_be_helped() -> None:
    domain = host.domain_view(key="pid 4242", definition=None, threads=threads(CpuSet.of([3])))
    change = hypervisors.change(on(domain))
    assert (change.target.domain_uuid, change.where.split(":")[0]) == (None, "QEMU process 4242")


def both(kernel_thread: bool, asked: tuple[str, ...] = (), rule: str = PLACEMENT) -> Plan:  # noqa: FBT001 - what differs
    domain = web1(interface(), emulator_pin=None, threads=threads(CpuSet.of([3]), kernel_thread=kernel_thread))
    return hypervisors.of(
        host.host_view(domain),
        build.finding(PLACEMENT, WEB1),
        build.finding(rule, WEB1),
        asked=asked,
        policies=(hypervisors.WORKERS, hypervisors.EMULATOR),
    )


def policies(answer: Plan) -> list[str]:
    return [advice.policy for advice in answer.advice]


def test_the_emulators_pin_wins_where_it_reaches_the_workers() -> None:
    answer = both(kernel_thread=False)
    assert policies(answer) == ["emulator"]
    assert "moves these workers too" in answer.declined[0].reason


def test_kernel_threads_need_their_own() -> None:
    assert policies(both(kernel_thread=True)) == ["workers"]
    assert policies(both(kernel_thread=True, rule="unpinned")) == ["emulator", "workers"]


def test_who_asks_for_the_finer_gets_it() -> None:
    assert policies(both(kernel_thread=False, asked=("workers",))) == ["workers"]
    assert policies(both(kernel_thread=False, asked=("workers", "emulator"))) == ["emulator"]
