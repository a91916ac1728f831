"""What is refused before anything is touched, and what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.make import nic, snapshot
from tuneagent.apply import guards
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.identity import Identity, Role
from tuneagent.model.plan import Change, Target, TunableKind

PIN = Change(
    kind=TunableKind.IRQ_AFFINITY,
    target=Target(bus_address="0000:00:03.0", queue=1, queue_role="input", interface="eth0", irq=33),
    where="/proc/irq/33/smp_affinity_list",
    old="0-3",
    new="1",
    why="receives for queue pair 1",
    do="echo 1 > /proc/irq/33/smp_affinity_list",
    undo="echo 0-3 > /proc/irq/33/smp_affinity_list",
    elsewhere=("2", "3"),
)
CHANNELS = replace(
    PIN,
    kind=TunableKind.CHANNELS,
    target=Target(bus_address="0000:00:03.0", mac="52:54:00:12:34:56", interface="eth0"),
    where="ethtool -L eth0",
    old="2",
    new="4",
    elsewhere=(),
)


def identity(container: str | None = None, *read_only: str) -> Identity:
    return Identity("uuid", "boot", "6.12.0", "x86_64", "kvm", container, Role.GUEST, read_only)


def test_root_on_a_machine_of_its_own_may() -> None:
    assert guards.permission(identity(), [PIN, CHANNELS], root=True, in_container=False) is None
    assert guards.permission(None, [PIN], root=True, in_container=False) is None


def test_anybody_else_may_not() -> None:
    objection = guards.permission(identity(), [PIN], root=False, in_container=True)
    assert objection is not None
    assert objection.forbidden
    assert "sudo" in objection.remedy


@pytest.mark.parametrize(
    ("container", "cause"), [(None, "ProtectKernelTunables="), ("podman", "container runtime (podman)")]
)
@pytest.mark.parametrize("in_container", [False, True])
def test_a_read_only_proc_names_its_cause(container: str | None, cause: str, *, in_container: bool) -> None:
    closed = identity(container, "/proc/irq", "/sys")
    objection = guards.permission(closed, [PIN], root=True, in_container=in_container)
    assert objection is not None
    assert objection.forbidden
    assert cause in objection.detail
    assert "/proc/irq is" in objection.detail
    assert "/sys" not in objection.detail, "nothing is to be written there"


def test_what_is_read_only_does_not_matter_where_nothing_is_written_there() -> None:
    assert guards.permission(identity(None, "/proc/irq", "/sys"), [CHANNELS], root=True, in_container=False) is None
    near = replace(PIN, where="/system/irq/33")
    assert guards.permission(identity(None, "/sys"), [near], root=True, in_container=False) is None


def test_a_container_with_the_rights_has_to_be_meant() -> None:
    objection = guards.permission(identity("lxc"), [PIN], root=True, in_container=False)
    assert objection is not None
    assert objection.forbidden
    assert "lxc" in objection.detail
    assert "--in-container" in objection.remedy
    assert guards.permission(identity("lxc"), [PIN], root=True, in_container=True) is None


def test_no_more_changes_than_allowed() -> None:
    assert guards.request([PIN] * 3, most=3) is None
    objection = guards.request([PIN] * 4, most=3)
    assert objection is not None
    assert not objection.forbidden
    assert objection.detail.startswith("4 changes")
    assert "--max-changes 4" in objection.remedy


@pytest.mark.parametrize(
    "change",
    [
        PIN,
        replace(PIN, where="elsewhere"),
        replace(PIN, target=replace(PIN.target, irq=None)),
        replace(PIN, target=replace(PIN.target, irq=7)),
    ],
    ids=["both", "by target", "by path", "a path that is another's"],
)
def test_an_interrupt_of_the_journals_disk_has_to_be_asked_for(change: Change) -> None:
    objection = guards.request([CHANNELS, change], journal_disk=frozenset({12, 33}))
    assert objection is not None
    assert objection.detail.startswith("IRQ 33 belongs")
    assert "--include-journal-disk" in objection.remedy
    assert guards.request([change]) is None
    assert guards.request([change], journal_disk=frozenset({12, 34})) is None


def test_many_interrupts_of_the_disk_are_named_in_part() -> None:
    pins = [replace(PIN, target=Target(irq=number), where="") for number in range(20, 28)]
    objection = guards.request(pins, journal_disk=frozenset(range(100)))
    assert objection is not None
    assert objection.detail.startswith("IRQ 20, 21, 22, 23, 24 and 3 more")


@pytest.mark.parametrize("kind", sorted(guards.NEEDS_A_CPU))
@pytest.mark.parametrize(
    ("new", "elsewhere", "words"),
    [
        ("", (), "an empty list"),
        (" ", (), "an empty list"),
        ("1", ("",), "an empty list"),
        ("4-7", (), "of CPUs 4-7 none is online"),
        ("x", (), "not a number"),
        ("3-1", (), "backwards"),
    ],
)
def test_something_that_needs_a_cpu_gets_one(
    kind: TunableKind, new: str, elsewhere: tuple[str, ...], words: str
) -> None:
    change = replace(PIN, kind=kind, new=new, elsewhere=elsewhere)
    objection = guards.request([PIN, change], online=CpuSet.of(range(4)))
    assert objection is not None
    assert words in objection.detail
    assert PIN.where in objection.detail


@pytest.mark.parametrize("kind", [TunableKind.XPS_CPUS, TunableKind.RPS_CPUS])
def test_an_empty_mask_of_xps_and_rps_means_off(kind: TunableKind) -> None:
    assert guards.request([replace(PIN, kind=kind, new="0")], online=CpuSet.of([1])) is None


def test_some_of_the_cpus_may_be_offline_and_all_where_it_is_not_known() -> None:
    assert guards.request([replace(PIN, new="3-9")], online=CpuSet.of(range(4))) is None
    assert guards.request([replace(PIN, new="200")]) is None


def test_what_the_operator_came_in_through() -> None:
    nics = snapshot().nics or ()
    other = nic(name="eth1", bus_address="0000:00:04.0", mac="52:54:00:12:34:57")
    renamed = replace(CHANNELS, target=replace(CHANNELS.target, interface="ens3"))
    way_in = frozenset({"br0", "eth0"})
    assert guards.on_way_in([renamed], (*nics, other), way_in) == ("eth0",)
    assert guards.on_way_in([PIN], (*nics, other), way_in) == ()
    assert guards.on_way_in([renamed], (*nics, other), frozenset({"eth1"})) == ()


@pytest.mark.parametrize(
    "target", [Target(mac="52:54:00:12:34:57", interface="eth0"), Target(interface="eth1")], ids=["mac", "name"]
)
def test_an_interface_without_a_bus_address(target: Target) -> None:
    other = nic(name="eth1", bus_address=None, mac="52:54:00:12:34:57")
    change = replace(CHANNELS, target=target)
    assert guards.on_way_in([change], (nic(), other), frozenset({"eth0", "eth1"})) == ("eth1",)


@pytest.mark.parametrize(
    ("disrupts", "ssh", "terminal", "seconds"),
    [
        (True, True, True, 60.0),
        (False, True, True, None),
        (True, False, True, None),
        (True, True, False, None),
    ],
)
def test_who_has_to_confirm(*, disrupts: bool, ssh: bool, terminal: bool, seconds: float | None) -> None:
    assert guards.confirm_default(disrupts=disrupts, ssh=ssh, terminal=terminal) == seconds
