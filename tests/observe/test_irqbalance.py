"""irqbalance as a tree shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observe.looking import Refusing, gaps_at, look, put
from tests.trees import PID, guest
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.irqbalance import Irqbalance
from tuneagent.model.missing import Reason
from tuneagent.observe import snapshot
from tuneagent.observe.irqbalance import ENVIRONMENT_FILES

COMMAND = ("/usr/sbin/irqbalance", "--foreground", "--banirq=31")


def balancer(root: Path) -> Irqbalance:
    found = look(root).irqbalance
    assert found is not None
    return found


def test_it_runs(tmp_path: Path) -> None:
    socket = f"/run/irqbalance/irqbalance{PID}.sock"
    expected = Irqbalance(True, PID, COMMAND, "active", socket, None, banned_irqs=frozenset({31}))
    assert balancer(guest(tmp_path, irqbalance=COMMAND)) == expected


def test_its_own_options_are_read_as_getopt_long_reads_them(tmp_path: Path) -> None:
    seen = balancer(guest(tmp_path, irqbalance=("irqbalance", "-fi31", "--bani=32", "-m", "virtio", "--banm", "ahci")))
    assert seen.banned_irqs == {31, 32}
    assert seen.banned_modules == ("virtio", "ahci")


@pytest.mark.parametrize(
    ("captured", "banned"),
    [
        ({"pid": PID, "banned": [33, 34]}, {33, 34}),  # an order over its socket has replaced --banirq=31
        ({"pid": PID, "banned": []}, set()),
        ({"pid": PID + 1, "banned": [33]}, {31}),  # of a process that ended between the two questions
    ],
)
def test_what_it_says_over_its_socket_counts(tmp_path: Path, captured: object, banned: set[int]) -> None:
    guest(tmp_path, irqbalance=COMMAND)
    put(tmp_path, "captured/irqbalance-bans.json", json.dumps(captured))
    assert balancer(tmp_path).banned_irqs == banned
    assert gaps_at(look(tmp_path), "irqbalance-bans") == []


def test_a_broken_list_of_bans_is_told(tmp_path: Path) -> None:
    guest(tmp_path, irqbalance=COMMAND)
    put(tmp_path, "captured/irqbalance-bans.json", '{"pid": 1, "banned": [-1]}')
    seen = look(tmp_path)
    assert balancer(tmp_path).banned_irqs == {31}
    assert [(gap.what, gap.reason) for gap in gaps_at(seen, "irqbalance-bans")] == [
        ("irqbalance.banned_irqs", Reason.MALFORMED)
    ]


def test_it_does_not_run(tmp_path: Path) -> None:
    assert balancer(guest(tmp_path)) == Irqbalance(False, None, (), "inactive", None, None)


def test_a_tree_without_processes_does_not_say_that_it_does_not_run(tmp_path: Path) -> None:
    guest(tmp_path)
    (tmp_path / "proc/1/comm").unlink()
    (tmp_path / "captured/units.json").unlink()
    seen = look(tmp_path)
    assert seen.irqbalance is not None
    assert seen.irqbalance.running is None
    assert [gap.what for gap in gaps_at(seen, "/proc")] == ["irqbalance.running"]


@pytest.mark.parametrize(
    ("active", "load", "running", "told"),
    [
        ("active", "loaded", True, "active"),
        ("inactive", "loaded", False, "inactive"),
        ("failed", "loaded", False, "failed"),
        ("activating", "loaded", None, "activating"),
        ("inactive", "not-found", None, "not-found"),
        ("inactive", "masked", False, "masked"),
        ("inactive", None, False, "inactive"),
        (None, "loaded", None, None),
    ],
)
def test_the_unit_tells_where_processes_cannot_be_seen(
    tmp_path: Path, active: str | None, load: str | None, *, running: bool | None, told: str | None
) -> None:
    guest(tmp_path)
    (tmp_path / "proc/1/comm").unlink()
    state = {"ActiveState": active, "SubState": "x", "LoadState": load}
    put(tmp_path, "/captured/units.json", json.dumps({"irqbalance.service": state}))
    seen = look(tmp_path)
    assert seen.irqbalance is not None
    assert (seen.irqbalance.running, seen.irqbalance.pid, seen.irqbalance.unit_state) == (running, None, told)
    unknown = "irqbalance.running" if running is None else "irqbalance.command"
    assert [gap.what for gap in gaps_at(seen, "/proc")] == [unknown]


def test_the_process_list_goes_before_the_unit(tmp_path: Path) -> None:
    guest(tmp_path)
    state = {"ActiveState": "active", "SubState": "running", "LoadState": "loaded"}
    put(tmp_path, "/captured/units.json", json.dumps({"irqbalance.service": state}))
    assert balancer(tmp_path).running is False


def test_hidden_processes_are_unknown(tmp_path: Path) -> None:
    seen = snapshot(Refusing(guest(tmp_path, irqbalance=COMMAND), "/proc", "units"))
    assert seen.irqbalance is not None
    assert (seen.irqbalance.running, seen.irqbalance.pid) == (None, None)
    assert gaps_at(seen, "/proc")[0].remedy == "run as root"


def test_a_socket_of_an_earlier_process_is_not_its_own(tmp_path: Path) -> None:
    guest(tmp_path, irqbalance=COMMAND)
    (tmp_path / f"run/irqbalance/irqbalance{PID}.sock").rename(tmp_path / "run/irqbalance/irqbalance7.sock")
    assert balancer(tmp_path).socket is None


@pytest.mark.parametrize("path", ENVIRONMENT_FILES)
def test_the_environment_file_of_each_distribution(tmp_path: Path, path: str) -> None:
    put(guest(tmp_path), path, 'OPTIONS="--banirq=32 -i 33"\nIRQBALANCE_BANNED_CPULIST=2-3\n')
    config = balancer(tmp_path).config
    assert config is not None
    assert (config.path, config.key, config.banned_irqs) == (path, "OPTIONS", frozenset({32, 33}))
    assert config.banned_cpus == CpuSet.of([2, 3])


def test_the_distribution_s_file_goes_before_upstream_s(tmp_path: Path) -> None:
    put(guest(tmp_path), ENVIRONMENT_FILES[-1], "IRQBALANCE_ARGS=-i 5\n")
    put(tmp_path, ENVIRONMENT_FILES[0], "IRQBALANCE_ARGS=-i 6\n")
    config = balancer(tmp_path).config
    assert config is not None
    assert config.banned_irqs == {6}


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = ENVIRONMENT_FILES[0]
    seen = snapshot(Refusing(guest(tmp_path, irqbalance_env="OPTIONS=x\n"), path))
    config = seen.irqbalance.config if seen.irqbalance is not None else None
    assert config is not None
    assert (config.path, config.errors, config.key) == (path, (), None)
    assert config.unreadable
    assert [(gap.what, gap.reason) for gap in gaps_at(seen, path)] == [("irqbalance.config", Reason.PERMISSION)]


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    seen = look(guest(tmp_path, irqbalance_env="\x00\x01binary\n"))
    assert [gap.what for gap in gaps_at(seen, ENVIRONMENT_FILES[0])] == ["irqbalance.config"]
