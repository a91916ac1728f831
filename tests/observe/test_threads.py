from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.observe.host import Counting, counters, gaps, kernel_thread, look, qemu, seen, task
from tests.observe.looking import put
from tuneagent.machine.source import Text
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.hypervisor import DomainThread, Hypervisor, ThreadRole
from tuneagent.model.missing import Reason
from tuneagent.observe import threads

OTHER = "5dea22b3-1d52-d8f3-2516-782e98ab3fa0"


def of(found: Hypervisor, role: ThreadRole) -> list[DomainThread]:
    return [thread for thread in found.threads if thread.role is role]


def test_reads_where_a_thread_runs_and_how_long(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    task(tmp_path, 4242, 4244, "CPU 5/KVM", cpu=6, cpus="6-7", times=(81, 9))
    (vcpu,) = of(seen(tmp_path), ThreadRole.VCPU)
    cpus = CpuSet.of([6, 7])
    assert vcpu == DomainThread(4242, 4244, ThreadRole.VCPU, 5, False, cpus, 6, 81, 9, None)
    (emulator,) = of(seen(tmp_path), ThreadRole.EMULATOR)
    assert (emulator.tid, emulator.cpu, emulator.run_ns, emulator.affinity) == (4242, 3, 4_242_000, CpuSet.of(range(8)))


def test_workers_that_are_kernel_threads_belong_to_the_process_in_their_name(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    qemu(tmp_path, 424, OTHER, "web2")
    for tid, name in ((4250, "vhost-4242"), (4251, "vhost-4242"), (4252, "vhost-424"), (4253, "vhost-99")):
        kernel_thread(tmp_path, tid, name)
    workers = of(seen(tmp_path), ThreadRole.VHOST)
    assert {(one.pid, one.tid, one.kernel_thread) for one in workers} == {
        (4242, 4250, True),
        (4242, 4251, True),
        (424, 4252, True),
    }
    assert all(one.index is None for one in workers)


def test_workers_that_are_threads_of_qemu_are_found_among_its_tasks(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    for tid, name in ((4250, "vhost-4242"), (4251, "vhost-4242"), (4252, "kvm-nx-lpage-re"), (4253, "IO iothread1")):
        task(tmp_path, 4242, tid, name)
    workers = of(seen(tmp_path), ThreadRole.VHOST)
    assert [(one.tid, one.kernel_thread, one.run_ns) for one in workers] == [
        (4250, False, 4_250_000),
        (4251, False, 4_251_000),
    ]


def test_a_worker_of_a_long_number_has_a_cut_name(tmp_path: Path) -> None:
    qemu(tmp_path, 1_234_567_890)
    kernel_thread(tmp_path, 77, "vhost-123456789")
    (worker,) = of(seen(tmp_path), ThreadRole.VHOST)
    assert (worker.pid, worker.tid) == (1_234_567_890, 77)


def test_a_process_that_only_calls_itself_a_worker_is_none(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    kernel_thread(tmp_path, 4250, "vhost-4242", parent=1)
    assert not of(seen(tmp_path), ThreadRole.VHOST)


def test_a_kernel_without_schedstat_leaves_the_times_unknown(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    (tmp_path / "proc/4242/schedstat").unlink()
    (emulator,) = seen(tmp_path).threads
    assert (emulator.run_ns, emulator.wait_ns, emulator.cpu) == (None, None, 3)


def test_a_file_that_is_no_good_is_told_once_for_all_threads(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    for tid in (4244, 4245):
        task(tmp_path, 4242, tid, f"CPU {tid - 4244}/KVM")
        put(tmp_path, f"/proc/4242/task/{tid}/schedstat", "a b c\n")
    found = look(tmp_path)
    (gap,) = gaps(found, "hypervisor.threads")
    assert (gap.reason, gap.source) == (Reason.MALFORMED, "/proc/4242/task/4244/schedstat")


def test_without_named_threads_debugfs_tells_the_vcpus(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    for tid in (4244, 4245):
        task(tmp_path, 4242, tid, "qemu-system-x86")
        counters(tmp_path, f"4242-14/vcpu{tid - 4244}", pid=tid)
    counters(tmp_path, "4242-14", exits=7)
    assert [(one.index, one.tid) for one in of(seen(tmp_path), ThreadRole.VCPU)] == [(0, 4244), (1, 4245)]


class Ending(Sysroot):
    """A tree in which a thread ends after it was listed."""

    def read(self, path: str) -> Text:
        if path.startswith("/proc/4242/task/4245/") and not path.endswith("/comm"):
            (Path(self.root) / "proc/4242/task/4245/comm").unlink(missing_ok=True)
            return super().read("/nothing")
        return super().read(path)


def test_a_thread_that_ends_is_left_out_in_silence(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    for tid in (4244, 4245):
        task(tmp_path, 4242, tid, f"CPU {tid - 4244}/KVM")
    found = look(Ending(str(tmp_path)))
    assert found.hypervisor is not None
    assert [one.tid for one in of(found.hypervisor, ThreadRole.VCPU)] == [4244]
    assert not gaps(found, "hypervisor.threads")


def two(root: Path) -> None:
    for pid, uuid, name in ((4242, OTHER, "web1"), (5151, "6" + OTHER[1:], "web2")):
        qemu(root, pid, uuid, name)
        for vcpu in range(3):
            task(root, pid, pid + 1 + vcpu, f"CPU {vcpu}/KVM")


def test_vcpus_beyond_the_bound_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOST_VCPU_THREADS", 4)
    two(tmp_path)
    found = seen(tmp_path)
    assert [one.tid for one in of(found, ThreadRole.VCPU)] == [4243, 4244, 4245, 5152]
    assert found.threads_left_out == 2
    assert len(of(found, ThreadRole.EMULATOR)) == 2


def test_those_of_a_domain_in_detail_are_all_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOST_VCPU_THREADS", 1)
    two(tmp_path)
    first = look(tmp_path)
    for found in (seen(tmp_path, None, "web2"), seen(tmp_path, first, "web2")):
        assert [one.tid for one in of(found, ThreadRole.VCPU)] == [4243, 5152, 5153, 5154]
        assert found.threads_left_out == 2


def test_many_known_threads_are_read_without_a_look_at_all_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "FEW_THREADS", 2)
    two(tmp_path)
    first = look(tmp_path)
    task(tmp_path, 4242, 4243, "CPU 0/KVM", cpu=7, times=(5_000_000, 70))
    source = Counting(tmp_path)
    again = seen(source, first)
    assert [one.tid for one in again.threads] == [one.tid for one in seen(tmp_path).threads]
    assert (of(again, ThreadRole.VCPU)[0].cpu, of(again, ThreadRole.VCPU)[0].run_ns) == (7, 5_000_000)
    assert "/proc/4242/task" not in source.asked


def test_of_few_a_worker_that_took_the_place_of_another_is_found(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    task(tmp_path, 4242, 4250, "vhost-4242")
    first = look(tmp_path)
    shutil.rmtree(tmp_path / "proc/4242/task/4250")
    task(tmp_path, 4242, 4251, "vhost-4242")
    assert [one.tid for one in of(seen(tmp_path, first), ThreadRole.VHOST)] == [4251]


def test_with_another_process_all_tasks_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "FEW_THREADS", 2)
    two(tmp_path)
    first = look(tmp_path)
    qemu(tmp_path, 6060, "7" + OTHER[1:], "web3")
    task(tmp_path, 6060, 6061, "CPU 0/KVM")
    assert 6061 in {one.tid for one in seen(tmp_path, first).threads}


def test_a_known_worker_whose_number_another_process_has_is_gone(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    kernel_thread(tmp_path, 4250, "vhost-4242")
    first = look(tmp_path)
    kernel_thread(tmp_path, 4250, "kworker/3:1")
    assert not of(seen(tmp_path, first), ThreadRole.VHOST)


def test_of_few_threads_every_affinity_is_read(tmp_path: Path) -> None:
    qemu(tmp_path, 4242)
    task(tmp_path, 4242, 4243, "CPU 0/KVM", cpu=2, cpus="0-3")
    first = look(tmp_path)
    task(tmp_path, 4242, 4243, "CPU 0/KVM", cpu=2, cpus="2")
    assert of(seen(tmp_path, first), ThreadRole.VCPU)[0].affinity == CpuSet.of([2])


def test_of_many_threads_it_is_read_of_those_that_moved_and_of_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "FEW_THREADS", 2)
    qemu(tmp_path, 4242)
    for tid in (4243, 4244, 4248):
        task(tmp_path, 4242, tid, f"CPU {tid - 4243}/KVM", cpu=2, cpus="0-3")
    first = look(tmp_path)
    for tid, cpu in ((4243, 2), (4244, 5), (4248, 2)):
        task(tmp_path, 4242, tid, f"CPU {tid - 4243}/KVM", cpu=cpu, cpus="2,5")
    found = {one.tid: one.affinity for one in of(seen(tmp_path, first), ThreadRole.VCPU)}
    # 4243 stayed where it was; 4244 moved; 4248 is the eighth that is due where the tree tells no time.
    assert found == {4243: CpuSet.of(range(4)), 4244: CpuSet.of([2, 5]), 4248: CpuSet.of([2, 5])}
