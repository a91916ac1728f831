from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.apply.qemu_like import UUID, QemuLike, qemu_like
from tuneagent.apply.actuator import Place, Refusal, Why
from tuneagent.apply.lookup import Lookup
from tuneagent.apply.machine import Machine
from tuneagent.apply.vhost_affinity import VhostAffinity
from tuneagent.machine import thread_affinity
from tuneagent.machine.live import Live
from tuneagent.machine.sysroot import Sysroot
from tuneagent.machine.writable import WritableRoot
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts

KIND = TunableKind.VHOST_AFFINITY
CPUS = sorted(os.sched_getaffinity(0))
FIRST, ALL = str(CPUS[0]), str(CpuSet.of(CPUS))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="one CPU leaves nothing to choose")


@pytest.fixture
def actuator() -> VhostAffinity:
    source = Live()
    return VhostAffinity(Machine(source, WritableRoot(), Lookup(source)))


@pytest.fixture
def qemu() -> Iterator[QemuLike]:
    with qemu_like() as child:
        yield child


def target(qemu: QemuLike) -> Target:
    return Target(domain_uuid=UUID, thread_role="vhost", kernel_thread=False, tid=qemu.tid)


def refused(actuator: VhostAffinity, wanted: Target) -> Refusal:
    with pytest.raises(Refusal) as caught:
        actuator.locate(KIND, wanted)
    return caught.value


def refused_write(actuator: VhostAffinity, place: Place, value: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        actuator.write(place, value)
    return caught.value


@two_cpus
def test_a_worker_is_moved_and_its_work_shows_it(actuator: VhostAffinity, qemu: QemuLike) -> None:
    place = actuator.locate(KIND, target(qemu))
    assert place.where == f"libvirt domain {UUID}: CPU affinity of its vhost worker {qemu.tid}"
    assert actuator.same(actuator.read(place), ALL)
    mark = actuator.mark(place)
    actuator.write(place, FIRST)
    assert actuator.read(place) == FIRST
    assert actuator.effect(place, FIRST, 10**18).effect is Effect.NOT_YET  # as if it had run that long before
    qemu.works()
    seen = actuator.effect(place, FIRST, mark)
    assert (seen.effect, seen.detail) == (Effect.VERIFIED, f"thread {qemu.tid} ran on CPU {FIRST}")
    thread_affinity.set_affinity(qemu.tid, CpuSet.of(CPUS))
    assert actuator.effect(place, FIRST, mark).effect is Effect.CONTRADICTED
    assert thread_affinity.affinity(qemu.pid) == CpuSet.of(CPUS)  # its process was never moved


def test_the_journal_gets_the_start_of_the_thread(actuator: VhostAffinity, qemu: QemuLike) -> None:
    place = actuator.locate(KIND, target(qemu))
    assert place.target.start_ticks is not None
    assert actuator.locate(KIND, place.target).target == place.target
    later = replace(place.target, start_ticks=place.target.start_ticks + 1)
    assert refused(actuator, later).why is Why.GONE
    assert actuator.lasts is Lasts.THREAD


def test_a_thread_that_ends_is_gone(actuator: VhostAffinity) -> None:
    with qemu_like() as qemu:
        place = actuator.locate(KIND, target(qemu))
    assert refused(actuator, place.target).why is Why.GONE
    assert refused_write(actuator, place, FIRST).why is Why.GONE
    with pytest.raises(Refusal):
        actuator.effect(place, FIRST, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"domain_uuid": UUID.replace("4", "5")},
        {"domain_uuid": "../../etc"},
        {"domain_uuid": "\n" * 5000},
        {"kernel_thread": True},
        {"tid": 0},
        {"tid": -1},
        {"tid": None},
        {"tid": 1},
        {"tid": 10**30},
    ],
)
def test_another_thread_is_never_meant(actuator: VhostAffinity, qemu: QemuLike, wrong: dict[str, object]) -> None:
    refusal = refused(actuator, replace(target(qemu), **wrong))  # type: ignore[arg-type]  # wrong on purpose
    assert refusal.why in {Why.GONE, Why.FACT}
    assert refusal.detail.isprintable()


def test_who_is_called_otherwise_or_after_another_process_is_no_worker(actuator: VhostAffinity) -> None:
    with qemu_like(name="vhost_task") as other:
        assert "no vhost worker" in refused(actuator, target(other)).detail
    with qemu_like(name="vhost-1") as other:
        assert "no vhost worker of" in refused(actuator, target(other)).detail
    with qemu_like() as qemu, qemu_like(name=f"vhost-{qemu.pid}") as other:  # the name is right, the process is not
        assert refused(actuator, target(other)).why is Why.GONE


def test_a_qemu_that_libvirt_does_not_know(actuator: VhostAffinity, qemu: QemuLike) -> None:
    place = actuator.locate(KIND, replace(target(qemu), domain_uuid=None))
    assert place.where == f"QEMU process {qemu.pid}: CPU affinity of its vhost worker {qemu.tid}"
    assert actuator.by_hand(place, FIRST) == f"taskset -pc {FIRST} {qemu.tid}"


def test_cpus_that_its_cpuset_does_not_have(actuator: VhostAffinity, qemu: QemuLike) -> None:
    place = actuator.locate(KIND, target(qemu))
    none = refused_write(actuator, place, "4000-4001")
    assert (none.why, "cpuset of its cgroup" in none.detail) == (Why.FACT, True)
    assert "emulatorpin" in (none.remedy or "")
    some = refused_write(actuator, place, f"{FIRST},4000")
    assert f"it may have {FIRST} only" in some.detail
    assert actuator.same(actuator.read(place), ALL)  # what was half allowed is taken back


@pytest.mark.parametrize("value", ["", " ", "x", "3-1", "9999999", "all"])
def test_what_is_no_set_of_cpus_is_never_written(actuator: VhostAffinity, qemu: QemuLike, value: str) -> None:
    assert actuator.check(actuator.locate(KIND, target(qemu)), value)
    assert not actuator.same(value, ALL)


def test_two_spellings_are_one_set(actuator: VhostAffinity) -> None:
    assert actuator.same("0-2", "0,1,2")
    assert not actuator.same("0-2", "0-3")


def test_a_tree_of_files_has_no_threads(tmp_path: Path, qemu: QemuLike) -> None:
    source = Sysroot(str(tmp_path))
    actuator = VhostAffinity(Machine(source, WritableRoot(str(tmp_path)), Lookup(source)))
    assert refused(actuator, target(qemu)).why is Why.FACT
