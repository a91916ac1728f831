"""CPUs: which are there, which are set apart, and which share a core."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.observe.looking import Refusing, gaps_at, look, put
from tests.trees import guest
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.missing import Reason
from tuneagent.model.topology import CpuTopology
from tuneagent.observe import snapshot

CPU = "/sys/devices/system/cpu"


def topology(root: Path) -> CpuTopology:
    cpus = look(root).cpus
    assert cpus is not None
    return cpus


def test_a_plain_machine(tmp_path: Path) -> None:
    every = CpuSet.of(range(4))
    cores = tuple(CpuSet.of([cpu]) for cpu in range(4))
    assert topology(guest(tmp_path)) == CpuTopology(every, every, CpuSet(), CpuSet(), {0: every}, cores, None)


def test_siblings_nodes_and_cpus_that_are_offline(tmp_path: Path) -> None:
    guest(tmp_path)
    put(tmp_path, f"{CPU}/online", "0-1,3\n")
    put(tmp_path, "/sys/devices/system/node/node0/cpulist", "0,2\n")
    put(tmp_path, "/sys/devices/system/node/node1/cpulist", "1,3\n")
    put(tmp_path, "/sys/devices/system/node/node2/cpulist", "\n")
    for cpu, siblings in ((0, "0,2"), (1, "1,3"), (3, "1,3")):
        put(tmp_path, f"{CPU}/cpu{cpu}/topology/core_cpus_list", f"{siblings}\n")
    seen = topology(tmp_path)
    assert str(seen.online) == "0-1,3"
    assert seen.nodes == {0: CpuSet.of([0, 2]), 1: CpuSet.of([1, 3])}, "a node with memory only has no CPU"
    assert seen.cores == (CpuSet.of([0]), CpuSet.of([1, 3]))


def test_a_kernel_before_core_cpus_list(tmp_path: Path) -> None:
    guest(tmp_path, cpus=2)
    for cpu in range(2):
        (tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list").unlink()
        put(tmp_path, f"{CPU}/cpu{cpu}/topology/thread_siblings_list", "0-1\n")
    assert topology(tmp_path).cores == (CpuSet.of([0, 1]),)


def test_isolated_cpus(tmp_path: Path) -> None:
    seen = topology(guest(tmp_path, isolated="2-3", nohz_full="3"))
    assert (str(seen.isolated), str(seen.nohz_full), str(seen.housekeeping)) == ("2-3", "3", "0-1")


def test_boot_options_speak_where_sysfs_does_not(tmp_path: Path) -> None:
    guest(tmp_path)
    (tmp_path / "sys/devices/system/cpu/isolated").unlink()
    (tmp_path / "sys/devices/system/cpu/nohz_full").unlink()
    put(tmp_path, "/proc/cmdline", "quiet isolcpus=domain,1 nohz_full=2-3\n")
    seen = topology(tmp_path)
    assert (str(seen.isolated), str(seen.nohz_full)) == ("1", "2-3")


def without_sysfs(root: Path, options: str) -> Path:
    for name in ("isolated", "nohz_full"):
        (root / f"sys/devices/system/cpu/{name}").unlink()
    put(root, "/proc/cmdline", f"{options}\n")
    return root


def test_boot_options_may_name_the_last_possible_cpu(tmp_path: Path) -> None:
    put(guest(tmp_path), f"{CPU}/possible", "0-5\n")
    seen = topology(without_sysfs(tmp_path, "isolcpus=managed_irq,domain,2-N nohz_full=3-N"))
    assert (str(seen.isolated), str(seen.nohz_full)) == ("2-5", "3-5")


@pytest.mark.parametrize(
    ("options", "isolated", "nohz_full"),
    [("isolcpus=2-x nohz_full=3", "", "3"), ("isolcpus=domain,1 nohz_full=3-2", "1", "")],
)
def test_a_boot_option_that_is_not_understood_leaves_the_other(
    tmp_path: Path, options: str, isolated: str, nohz_full: str
) -> None:
    seen = look(without_sysfs(guest(tmp_path), options))
    assert seen.cpus is not None
    assert (str(seen.cpus.isolated), str(seen.cpus.nohz_full)) == (isolated, nohz_full)
    (gap,) = gaps_at(seen, "/proc/cmdline")
    assert (gap.what, gap.reason, gap.line) == ("cpus.boot_options", Reason.MALFORMED, 1)


def test_null_is_how_older_kernels_spell_none(tmp_path: Path) -> None:
    guest(tmp_path, nohz_full="  (null)")
    put(tmp_path, "/proc/cmdline", "nohz_full=2-3\n")
    assert topology(tmp_path).nohz_full == CpuSet()


def test_confined_agents_say_so(tmp_path: Path) -> None:
    guest(tmp_path)
    put(tmp_path, "/proc/self/status", "Name:\tx\nCpus_allowed_list:\t1-2,9\n")
    seen = topology(tmp_path)
    assert seen.confined_to == CpuSet.of([1, 2])
    assert str(seen.online) == "0-3"


@pytest.mark.parametrize(
    ("text", "reason"), [("", Reason.EMPTY), ("\n", Reason.EMPTY), ("0-", Reason.MALFORMED), ("all", Reason.MALFORMED)]
)
def test_without_the_online_cpus_there_is_no_topology(tmp_path: Path, text: str, reason: Reason) -> None:
    put(guest(tmp_path), f"{CPU}/online", text)
    seen = look(tmp_path)
    assert seen.cpus is None
    assert [(gap.what, gap.reason) for gap in gaps_at(seen, f"{CPU}/online")] == [("cpus.online", reason)]
    assert seen.interrupts is not None


@pytest.mark.parametrize(
    ("path", "what"),
    [
        (f"{CPU}/online", "cpus.online"),
        (f"{CPU}/possible", "cpus.possible"),
        (f"{CPU}/isolated", "cpus.isolated"),
        ("/proc/cmdline", "cpus.boot_options"),
        ("/proc/self/status", "cpus.confined_to"),
        ("/sys/devices/system/node", "cpus.nodes"),
        (f"{CPU}/cpu1/topology/core_cpus_list", "cpus.cores.1"),
    ],
)
def test_what_may_not_be_read_is_named(tmp_path: Path, path: str, what: str) -> None:
    (gap,) = gaps_at(snapshot(Refusing(guest(tmp_path), path)), path)
    assert (gap.what, gap.reason, gap.remedy) == (what, Reason.PERMISSION, "run as root")


def test_a_broken_list_of_isolated_cpus_falls_back_to_the_boot_options_and_says_so(tmp_path: Path) -> None:
    guest(tmp_path, isolated="2-x")
    put(tmp_path, "/proc/cmdline", "isolcpus=3\n")
    seen = look(tmp_path)
    assert seen.cpus is not None
    assert str(seen.cpus.isolated) == "3"
    assert [gap.what for gap in gaps_at(seen, f"{CPU}/isolated")] == ["cpus.isolated"]
