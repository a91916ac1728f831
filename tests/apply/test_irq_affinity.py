"""Interrupts on trees of files: what is written, what a refusal means, and whether the effect shows."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apply.machines import Faulty, eth0, machine
from tests.observe.looking import put
from tests.trees import FIRST_IRQ, Guest, Load, guest
from tuneagent.apply.actuator import Place, Refusal, Why
from tuneagent.apply.irq_affinity import FEW, IrqAffinity, Mark
from tuneagent.machine.writable import WritableRoot
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.plan import TunableKind
from tuneagent.model.transaction import Effect, Lasts

IRQ = FIRST_IRQ + 3
"""input.1 of the tree's NIC, which is on CPU 1."""
PATH = f"/proc/irq/{IRQ}/smp_affinity_list"
EFFECTIVE = f"/proc/irq/{IRQ}/effective_affinity_list"
COUNTS = f"/sys/kernel/irq/{IRQ}/per_cpu_count"
ACTIONS = f"/sys/kernel/irq/{IRQ}/actions"


def located(root: Path, files: WritableRoot | None = None) -> tuple[IrqAffinity, Place]:
    """The actuator and the place of input.1."""
    actuator = IrqAffinity(machine(root, files))
    return actuator, actuator.locate(TunableKind.IRQ_AFFINITY, eth0(1, "input"))


def refusal(root: Path, number: int, value: str = "3", *, arrives: bool = False) -> Refusal:
    """What the actuator says when the kernel answers a write so."""
    actuator, place = located(root, Faulty(str(root), {PATH: number}, arrives=arrives))
    with pytest.raises(Refusal) as refused:
        actuator.write(place, value)
    assert PATH in refused.value.detail
    return refused.value


def test_a_write_and_its_undo(tmp_path: Path) -> None:
    guest(tmp_path, affinity={"input.1": "0-1,3"})
    actuator, place = located(tmp_path)
    assert (place.where, place.target) == (PATH, replace(eth0(1, "input"), interface="eth0", irq=IRQ, ifindex=2))
    assert actuator.lasts is Lasts.BOOT
    old = actuator.read(place)
    assert old == "0-1,3"
    assert actuator.by_hand(place, "3") == f"echo 3 > {PATH}"
    actuator.write(place, "3")
    assert actuator.read(place) == "3"
    actuator.write(place, old)
    assert (tmp_path / PATH[1:]).read_text() == "0-1,3\n"


def test_only_that_file_is_written(tmp_path: Path) -> None:
    files = Faulty(str(guest(tmp_path)), {})
    actuator, place = located(tmp_path, files)
    actuator.write(place, "2-3")
    assert files.tried == [(PATH, "2-3\n")]


def test_a_queue_that_is_not_there(tmp_path: Path) -> None:
    actuator = IrqAffinity(machine(guest(tmp_path, queues=2)))
    for target in (eth0(2, "input"), eth0(1, "both"), eth0(), replace(eth0(1, "input"), mac="52:54:00:99:99:99")):
        with pytest.raises(Refusal) as refused:
            actuator.locate(TunableKind.IRQ_AFFINITY, target)
        assert refused.value.why is Why.GONE


def test_the_kernel_s_word_that_it_is_managed_is_enough(tmp_path: Path) -> None:
    guest(tmp_path, fixed=frozenset({"input.1"}))
    files = Faulty(str(tmp_path), {})
    actuator, place = located(tmp_path, files)
    with pytest.raises(Refusal) as refused:
        actuator.write(place, "3")
    assert (refused.value.why, files.tried) == (Why.FACT, [])
    assert "managed" in refused.value.detail


@pytest.mark.parametrize("number", [errno.EIO, errno.EPERM])
def test_managed_ones_of_older_kernels(tmp_path: Path, number: int) -> None:
    refused = refusal(guest(tmp_path), number)
    assert (refused.why, "managed" in refused.detail) == (Why.FACT, True)


@pytest.mark.parametrize("number", [errno.EIO, errno.EPERM])
def test_an_error_that_came_too_late_is_no_fact(tmp_path: Path, number: int) -> None:
    # An error at close, with the value there: what stands has to be given back.
    refused = refusal(guest(tmp_path), number, arrives=True)
    assert (refused.why, "and yet 3 stands there" in refused.detail) == (Why.FAILED, True)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO, errno.EPERM])
def test_an_interrupt_that_was_freed(tmp_path: Path, number: int) -> None:
    guest(tmp_path)
    put(tmp_path, ACTIONS, "\n")
    assert refusal(tmp_path, number).why is Why.GONE


def test_without_its_file_the_table_tells_whether_it_has_a_handler(tmp_path: Path) -> None:
    guest(tmp_path)
    (tmp_path / ACTIONS[1:]).unlink()
    assert refusal(tmp_path, errno.EIO).why is Why.FACT
    actuator, place = located(tmp_path, Faulty(str(tmp_path), {PATH: errno.EIO}))
    table = tmp_path / "proc/interrupts"
    table.write_text("".join(line for line in table.read_text().splitlines(True) if not line.startswith(f" {IRQ}:")))
    with pytest.raises(Refusal) as refused:
        actuator.write(place, "3")
    assert refused.value.why is Why.GONE


@pytest.mark.parametrize(
    ("number", "why", "word"),
    [
        (errno.EROFS, Why.FORBIDDEN, "ProtectKernelTunables="),
        (errno.EACCES, Why.FORBIDDEN, "not root"),
        (errno.ENOSPC, Why.ELSEWHERE, "no free vector"),
        (errno.EBUSY, Why.LATER, "busy"),
        (errno.EAGAIN, Why.LATER, "busy"),
        (errno.ENOENT, Why.GONE, "not there any more"),
        (errno.ENODEV, Why.GONE, "not there any more"),
        (errno.EOVERFLOW, Why.FAILED, "beyond"),
        (errno.ENOMEM, Why.FAILED, "Cannot allocate memory"),
    ],
)
def test_refusals(tmp_path: Path, number: int, why: Why, word: str) -> None:
    refused = refusal(guest(tmp_path), number)
    assert refused.why is why
    assert word in refused.detail
    assert (refused.remedy is not None) == (why is Why.FORBIDDEN)


def test_cpus_that_went_offline_meanwhile_are_named(tmp_path: Path) -> None:
    guest(tmp_path)
    actuator, place = located(tmp_path, Faulty(str(tmp_path), {PATH: errno.EINVAL}))
    assert actuator.check(place, "2-3") is None
    put(tmp_path, "/sys/devices/system/cpu/online", "0-1\n")
    with pytest.raises(Refusal) as refused:
        actuator.write(place, "1-3")
    assert refused.value.why is Why.FAILED
    assert "CPUs 2-3 are offline" in refused.value.detail


def test_an_einval_that_nobody_can_explain(tmp_path: Path) -> None:
    assert "though all of these CPUs are online" in refusal(guest(tmp_path), errno.EINVAL).detail


def test_a_directory_that_vanished(tmp_path: Path) -> None:
    guest(tmp_path)
    actuator, place = located(tmp_path)
    for file in (tmp_path / f"proc/irq/{IRQ}").iterdir():
        file.unlink()
    for attempt in (lambda: actuator.read(place), lambda: actuator.write(place, "3")):
        with pytest.raises(Refusal) as refused:
            attempt()
        assert refused.value.why is Why.GONE


def test_cpus_that_must_not_be_asked_for(tmp_path: Path) -> None:
    actuator, place = located(guest(tmp_path))
    assert actuator.check(place, "4-5,7") == "CPUs 4-5,7 are not online"
    assert actuator.check(place, "3-5") is None
    put(tmp_path, "/sys/devices/system/cpu/online", "\n")
    actuator, place = located(tmp_path)
    assert actuator.check(place, "4-5,7") is None


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "a",
        "all",
        "N",
        "0x1",
        "3-1",
        "9000",
        "1,",
        "1\n",
        "1\n2",
        "1;2",
        "-1",
        "0-31:2/8",
        "\0",
        "\u0661",
        "1," * 20_000 + "1",
    ],
)
def test_what_is_no_list_is_never_written(tmp_path: Path, value: str) -> None:
    files = Faulty(str(guest(tmp_path)), {})
    actuator, place = located(tmp_path, files)
    assert actuator.check(place, value)
    for attempt in (lambda: actuator.write(place, value), lambda: actuator.effect(place, value, None)):
        with pytest.raises(Refusal) as refused:
            attempt()
        assert refused.value.why is Why.FAILED
    assert files.tried == []


class Passing:
    """A tree over which interrupts pass: after the mark, with the write, and after it."""

    def __init__(self, root: Path, *, effective: str | None = "1", own_file: bool = True) -> None:
        self.root, self.own_file = root, own_file
        self.guest = Guest(irqbalance=())
        self.guest.write(root)
        self.goes(effective)
        self.come()
        self.actuator, self.place = located(root)
        self.mark = self.actuator.mark(self.place)

    def goes(self, effective: str | None) -> None:
        """Another effective affinity, or none at all."""
        if effective is None:
            (self.root / EFFECTIVE[1:]).unlink()
        else:
            put(self.root, EFFECTIVE, f"{effective}\n")

    def come(self, **by_cpu: int) -> None:
        """Interrupts, ``cpu1=3``."""
        added = {int(cpu.removeprefix("cpu")): count for cpu, count in by_cpu.items()}
        self.guest = self.guest.after(Load(interrupts={"input.1": added}))
        put(self.root, "/proc/interrupts", self.guest.files()["/proc/interrupts"])
        if self.own_file:
            put(self.root, COUNTS, ",".join(map(str, self.guest.counts_of("input.1"))) + "\n")

    def seen(self, value: str = "3", mark: Mark | None = None) -> tuple[Effect, str]:
        """Whether it shows."""
        seen = self.actuator.effect(self.place, value, mark or self.mark)
        return seen.effect, seen.detail


@pytest.fixture(params=[True, False], ids=["its own file", "the table"])
def passing(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Passing]:
    def make(**wanted: str | None) -> Passing:
        return Passing(tmp_path, own_file=request.param, **wanted)

    return make


def test_the_mark_knows_counts_and_place(passing: Callable[..., Passing]) -> None:
    mark = passing().mark
    started = IRQ * 1_000
    assert mark == Mark({0: started + 3, 1: started + 13, 2: started + 23, 3: started + 33}, CpuSet.of([1]))


def test_an_effective_affinity_within_the_mask(passing: Callable[..., Passing]) -> None:
    tree = passing()
    tree.actuator.write(tree.place, "3")
    tree.goes("3")
    assert tree.seen() == (Effect.VERIFIED, "it goes to CPU 3")
    assert tree.seen("2-3")[0] is Effect.VERIFIED


def test_an_idle_interrupt_has_not_moved_yet(passing: Callable[..., Passing]) -> None:
    tree = passing()
    tree.actuator.write(tree.place, "3")
    assert tree.seen() == (Effect.NOT_YET, "no interrupt since the write; it goes to CPU 1 until its next one")


def test_the_first_ones_still_come_to_the_old_cpu(passing: Callable[..., Passing]) -> None:
    tree = passing()
    tree.actuator.write(tree.place, "3")
    tree.come(cpu1=FEW)
    assert tree.seen()[0] is Effect.NOT_YET
    tree.come(cpu1=1)
    assert tree.seen() == (Effect.CONTRADICTED, "5 interrupts since the write came to CPU 1")


def test_those_before_the_write_prove_nothing(passing: Callable[..., Passing]) -> None:
    tree = passing()
    tree.come(cpu1=5_000)
    tree.actuator.write(tree.place, "3")
    assert tree.seen()[0] is Effect.NOT_YET
    tree.come(cpu3=2)
    assert tree.seen()[0] is Effect.NOT_YET


def test_without_an_effective_affinity_the_counts_tell(passing: Callable[..., Passing]) -> None:
    tree = passing(effective=None)
    tree.actuator.write(tree.place, "3")
    assert tree.seen() == (Effect.NOT_YET, "no interrupt since the write; this kernel does not tell where it goes")
    tree.come(cpu1=1)
    assert tree.seen()[0] is Effect.NOT_YET
    tree.come(cpu3=8)
    assert tree.seen() == (Effect.VERIFIED, "8 of 9 interrupts since the write came to CPU 3")
    tree.come(cpu2=1)
    assert tree.seen()[0] is Effect.NOT_YET
    tree.come(cpu2=FEW)
    assert tree.seen()[0] is Effect.CONTRADICTED


def test_an_empty_effective_affinity_tells_nothing(passing: Callable[..., Passing]) -> None:
    tree = passing(effective="")
    tree.actuator.write(tree.place, "3")
    tree.come(cpu3=7)
    assert tree.seen()[0] is Effect.VERIFIED


def test_whoever_sets_another_at_once_is_named(passing: Callable[..., Passing]) -> None:
    tree = passing()
    tree.actuator.write(tree.place, "3")
    put(tree.root, PATH, "0-1\n")
    assert tree.seen() == (Effect.CONTRADICTED, "'0-1' was set there after 3 was written")
    put(tree.root, f"/proc/irq/{IRQ}/affinity_hint", "3\n")
    tree.actuator, tree.place = located(tree.root)
    tree.actuator.write(tree.place, "3")
    put(tree.root, PATH, "0-1\n")
    tree.come(cpu1=FEW + 1)
    assert tree.seen() == (
        Effect.CONTRADICTED,
        "'0-1' was set there after 3 was written: the driver set it anew (its affinity hint)",
    )


def test_a_mark_of_before_serves_where_nothing_was_written_here(passing: Callable[..., Passing]) -> None:
    tree = passing(effective=None)
    tree.come(cpu1=1, cpu3=6)
    assert tree.seen()[0] is Effect.VERIFIED


def test_later_there_is_no_mark(passing: Callable[..., Passing]) -> None:
    tree = passing()
    tree.come(cpu1=77)
    seen = tree.actuator.effect(tree.place, "3", None)
    assert (seen.effect, seen.detail) == (Effect.NOT_YET, "it goes to CPU 1 until its next one")
    assert tree.actuator.effect(tree.place, "1", None).effect is Effect.VERIFIED


def test_a_count_that_wraps(tmp_path: Path) -> None:
    tree = Passing(tmp_path, effective=None)
    put(tmp_path, COUNTS, f"5,7,9,{2**32 - 2}\n")
    tree.actuator.write(tree.place, "3")
    put(tmp_path, COUNTS, "5,7,9,4\n")
    assert tree.seen() == (Effect.VERIFIED, "6 of 6 interrupts since the write came to CPU 3")


def test_counts_that_nobody_tells(tmp_path: Path) -> None:
    tree = Passing(tmp_path, own_file=False)
    (tmp_path / "proc/interrupts").unlink()
    tree.actuator.write(tree.place, "3")
    assert tree.actuator.mark(tree.place).counts is None
    assert tree.seen() == (Effect.NOT_YET, "it goes to CPU 1 until its next one")


def test_a_count_of_too_few_cpus_is_not_believed(tmp_path: Path) -> None:
    tree = Passing(tmp_path)
    put(tmp_path, COUNTS, "1,2\n")
    assert tree.actuator.mark(tree.place) == tree.mark


def meddler(root: Path, now: str) -> str:
    actuator, place = located(root)
    return actuator.meddler(place, "3", now)


def test_the_driver_is_known_by_its_hint(tmp_path: Path) -> None:
    guest(tmp_path)
    assert meddler(tmp_path, "1") == ""
    put(tmp_path, f"/proc/irq/{IRQ}/affinity_hint", "00000002\n")
    assert meddler(tmp_path, "1") == "the driver set it anew (its affinity hint)"
    assert meddler(tmp_path, "2") == ""


def test_irqbalance_where_it_may(tmp_path: Path) -> None:
    guest(tmp_path / "free", irqbalance=("/usr/sbin/irqbalance", "--foreground"))
    assert meddler(tmp_path / "free", "2") == "irqbalance runs and was not told to leave it"
    guest(tmp_path / "told", irqbalance=("/usr/sbin/irqbalance", f"--banirq={IRQ}"))
    assert meddler(tmp_path / "told", "2") == ""
    guest(tmp_path / "named", irqbalance=("/usr/sbin/irqbalance", "--banmod=virtio"))
    assert meddler(tmp_path / "named", "2") == ""


def test_either_of_two(tmp_path: Path) -> None:
    guest(tmp_path, irqbalance=("/usr/sbin/irqbalance",))
    put(tmp_path, f"/proc/irq/{IRQ}/affinity_hint", "2\n")
    assert meddler(tmp_path, "1").count("irqbalance") == meddler(tmp_path, "1").count("driver") == 1


CPUS = st.sets(st.integers(0, 12), min_size=1).map(CpuSet.of)


@pytest.fixture(scope="module")
def four_cpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return guest(tmp_path_factory.mktemp("tree"))


@given(one=CPUS, other=CPUS)
def test_lists_are_sets_of_online_cpus(four_cpus: Path, one: CpuSet, other: CpuSet) -> None:
    actuator = IrqAffinity(machine(four_cpus))
    online = CpuSet.of(range(4))
    spelt = ",".join(map(str, sorted(other, reverse=True)))
    used = one & online
    assert actuator.same(f"{one}\n", spelt) == (one == other or (bool(used) and used == other & online))


@given(one=CPUS, other=CPUS)
def test_lists_are_whole_where_it_is_not_known_who_is_online(one: CpuSet, other: CpuSet) -> None:
    assert IrqAffinity(machine("/nonexistent")).same(str(one), str(other)) == (one == other)


@given(one=st.text(max_size=12), other=st.text(max_size=12))
def test_texts_of_any_kind_can_be_compared(one: str, other: str) -> None:
    actuator = IrqAffinity(machine("/nonexistent"))
    assert actuator.same(one, other) == actuator.same(other, one)
    assert actuator.same(one, one)
