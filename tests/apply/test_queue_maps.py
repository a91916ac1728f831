"""XPS, RPS and remembered flows of a queue: a real veth, and trees for what no veth does."""

from __future__ import annotations

import errno
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apply.machines import Faulty, eth0, in_namespace, machine, veth
from tests.trees import guest
from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.queue_maps import QueueFlowCount, QueueMap
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.plan import TunableKind
from tuneagent.model.transaction import Effect

RPS, XPS, FLOWS = TunableKind.RPS_CPUS, TunableKind.XPS_CPUS, TunableKind.RPS_FLOW_COUNT


def look() -> dict[str, Any]:
    """Runs inside the namespace: every step on the real kernel, beside the file as it then is."""
    live = machine("/")
    maps, flows = QueueMap(live), QueueFlowCount(live)
    said: dict[str, Any] = {}
    for kind, actuator, index, value in ((RPS, maps, 1, "1"), (XPS, maps, 2, "1"), (FLOWS, flows, 3, "100")):
        place = actuator.locate(kind, veth("v0", index))
        old = actuator.read(place)
        actuator.write(place, value)
        new = actuator.read(place)
        seen = actuator.effect(place, value, None)
        actuator.write(place, old)
        again = actuator.read(place)
        said[kind] = [place.where, old, new, actuator.same(new, value), seen.effect, again == old]
    said["beyond"] = _refused(maps, RPS, "v0", 0, "ffffffff,ffffffff")
    said["one queue, read"] = _refused(maps, XPS, "v1", 0, None)
    said["one queue, write"] = _refused(maps, XPS, "v1", 0, "1")
    said["no such queue"] = _refused(maps, XPS, "v0", 4, "1")
    said["too many flows"] = _refused(flows, FLOWS, "v0", 0, str(1 << 33))
    return said


def _refused(actuator: QueueMap | QueueFlowCount, kind: TunableKind, name: str, index: int, value: str | None) -> Any:
    try:
        place = actuator.locate(kind, veth(name, index))
        if value is None:
            return actuator.read(place)
        actuator.write(place, value)
    except Refusal as refusal:
        return [refusal.why, refusal.detail]
    return None


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    return in_namespace("tests.apply.test_queue_maps")


@pytest.mark.namespaces
def test_a_map_of_each_kind_is_written_and_given_back(said: dict[str, Any]) -> None:
    queues = "/sys/class/net/v0/queues"
    assert said[RPS] == [f"{queues}/rx-1/rps_cpus", "0", "1", True, "verified", True]
    assert said[XPS] == [f"{queues}/tx-2/xps_cpus", "0", "1", True, "verified", True]


@pytest.mark.namespaces
def test_the_kernel_rounds_flows_up(said: dict[str, Any]) -> None:
    where, old, new, same, _, back = said[FLOWS]
    assert (where, old, new, same, back) == ("/sys/class/net/v0/queues/rx-3/rps_flow_cnt", "0", "128", True, True)


@pytest.mark.namespaces
def test_a_mask_beyond_the_kernel_s_cpus(said: dict[str, Any]) -> None:
    why, detail = said["beyond"]
    assert why == "failed"
    assert (
        detail == "/sys/class/net/v0/queues/rx-0/rps_cpus: the value names a CPU beyond those that this kernel can have"
    )


@pytest.mark.namespaces
def test_one_queue_has_a_file_and_no_map(said: dict[str, Any]) -> None:
    for step in ("one queue, read", "one queue, write"):
        why, detail = said[step]
        assert why == "fact"
        assert detail == "/sys/class/net/v1/queues/tx-0/xps_cpus: this kernel or device has no such setting"


@pytest.mark.namespaces
def test_what_the_kernel_is_never_asked(said: dict[str, Any]) -> None:
    assert said["no such queue"] == ["gone", "v0 has no queue tx-4 now"]
    why, detail = said["too many flows"]
    assert (why, "nothing was written" in detail) == ("failed", True)


def test_a_tree_s_map_by_the_name_of_now(tmp_path: Path) -> None:
    guest(tmp_path, rps={2: "00000006"})
    maps = QueueMap(machine(tmp_path))
    place = maps.locate(RPS, eth0(2, "rx"))
    assert place.where == "/sys/class/net/eth0/queues/rx-2/rps_cpus"
    assert place.target == replace(eth0(2, "rx"), interface="eth0", ifindex=2)
    assert maps.read(place) == "00000006"
    assert maps.by_hand(place, "6") == "echo 6 > /sys/class/net/eth0/queues/rx-2/rps_cpus"
    maps.write(place, "9")
    assert maps.effect(place, "9", None).effect is Effect.VERIFIED
    assert maps.effect(place, "a", None).effect is Effect.CONTRADICTED
    maps.write(place, "00000006")
    assert (tmp_path / place.where[1:]).read_text() == "00000006\n"


def test_a_queue_that_is_not_there_any_more(tmp_path: Path) -> None:
    guest(tmp_path, queues=2)
    maps = QueueMap(machine(tmp_path))
    place = maps.locate(XPS, eth0(1, "tx"))
    (tmp_path / place.where[1:]).unlink()
    with pytest.raises(Refusal) as fact:
        maps.read(place)
    assert fact.value.why is Why.FACT
    for left in (tmp_path / "sys/class/net/eth0/queues/tx-1").iterdir():
        left.unlink()
    (tmp_path / "sys/class/net/eth0/queues/tx-1").rmdir()
    for attempt in (lambda: maps.read(place), lambda: maps.write(place, "1")):
        with pytest.raises(Refusal) as gone:
            attempt()
        assert gone.value.why is Why.GONE


@pytest.mark.parametrize(
    ("number", "why", "word"),
    [
        (errno.EROFS, Why.FORBIDDEN, "ProtectKernelTunables="),
        (errno.EACCES, Why.FORBIDDEN, "not root"),
        (errno.EPERM, Why.FORBIDDEN, "not root"),
        (errno.ENODEV, Why.GONE, "not there any more"),
        (errno.EBUSY, Why.LATER, "busy"),
        (errno.EAGAIN, Why.LATER, "busy"),
        (errno.EOPNOTSUPP, Why.FACT, "not supported"),
        (errno.EINVAL, Why.FAILED, "isolated"),
        (errno.EOVERFLOW, Why.FAILED, "beyond"),
        (errno.ENOMEM, Why.FAILED, "Cannot allocate memory"),
    ],
)
def test_refusals(tmp_path: Path, number: int, why: Why, word: str) -> None:
    guest(tmp_path)
    path = "/sys/class/net/eth0/queues/rx-1/rps_cpus"
    maps = QueueMap(machine(tmp_path, Faulty(str(tmp_path), {path: number})))
    with pytest.raises(Refusal) as refused:
        maps.write(maps.locate(RPS, eth0(1, "rx")), "4")
    assert refused.value.why is why
    assert word in refused.value.detail
    assert path in refused.value.detail
    assert (refused.value.remedy is not None) == (why is Why.FORBIDDEN)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "g",
        "0x1",
        "1\n",
        "1\n2",
        "1,",
        ",1",
        "123456789",
        "-1",
        "1 2",
        "\0",
        "\u0661",
        "1," * 4000 + "1",
        "f" * 8 + ",0" * 300,
    ],
)
def test_what_is_no_mask_is_never_written(tmp_path: Path, value: str) -> None:
    guest(tmp_path)
    files = Faulty(str(tmp_path), {})
    maps = QueueMap(machine(tmp_path, files))
    place = maps.locate(RPS, eth0(1, "rx"))
    assert maps.check(place, value)
    with pytest.raises(Refusal) as refused:
        maps.write(place, value)
    assert refused.value.why is Why.FAILED
    assert files.tried == []


def test_cpus_that_are_all_offline(tmp_path: Path) -> None:
    guest(tmp_path)
    maps = QueueMap(machine(tmp_path))
    place = maps.locate(RPS, eth0(1, "rx"))
    assert maps.check(place, "30") == "CPUs 4-5 are not online"
    assert maps.check(place, "31") is None
    assert maps.check(place, "0") is None
    (tmp_path / "sys/devices/system/cpu/online").unlink()
    assert QueueMap(machine(tmp_path)).check(place, "30") is None


def test_a_value_that_is_no_mask_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    guest(tmp_path, rps={1: "1;reboot"})
    maps = QueueMap(machine(tmp_path))
    with pytest.raises(Refusal) as refused:
        maps.read(maps.locate(RPS, eth0(1, "rx")))
    assert refused.value.why is Why.FAILED
    assert "'1;reboot' is not a mask of CPUs" in refused.value.detail


def test_flows_count_for_nothing_without_the_table_of_all_sockets(tmp_path: Path) -> None:
    guest(tmp_path)
    table = tmp_path / "proc/sys/net/core/rps_sock_flow_entries"
    table.parent.mkdir(parents=True)
    table.write_text("0\n")
    flows = QueueFlowCount(machine(tmp_path))
    place = flows.locate(FLOWS, eth0(3, "rx"))
    assert flows.read(place) == "13"
    seen = flows.effect(place, "13", None)
    assert (seen.effect, "rps_sock_flow_entries is 0" in seen.detail) == (Effect.NOT_YET, True)
    table.write_text("32768\n")
    assert flows.effect(place, "13", None).effect is Effect.VERIFIED
    assert flows.effect(place, "17", None).effect is Effect.CONTRADICTED
    table.write_text("0\n")
    flows.write(place, "0")
    assert flows.effect(place, "0", None).effect is Effect.VERIFIED


def test_a_plan_may_not_ask_for_flows_without_end(tmp_path: Path) -> None:
    guest(tmp_path)
    flows = QueueFlowCount(machine(tmp_path))
    place = flows.locate(FLOWS, eth0(3, "rx"))
    assert flows.check(place, str(1 << 20)) is None
    assert flows.check(place, str((1 << 20) + 1))
    assert flows.check(place, "four")


CPUS = st.sets(st.integers(0, 40)).map(CpuSet.of)


@pytest.fixture(scope="module")
def four_cpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return guest(tmp_path_factory.mktemp("tree"))


@given(one=CPUS, other=CPUS, zeros=st.integers(0, 3))
def test_masks_are_sets_of_online_cpus(four_cpus: Path, one: CpuSet, other: CpuSet, zeros: int) -> None:
    maps = QueueMap(machine(four_cpus))
    online = CpuSet.of(range(4))
    padded = "00000000," * zeros + other.mask().rjust(8, "0") if "," not in other.mask() else other.mask()
    assert maps.same(f"{one.mask()}\n", padded) == (one & online == other & online)
    assert maps.same(one.mask(), one.mask().upper())


@given(CPUS, CPUS)
def test_masks_are_whole_where_it_is_not_known_who_is_online(one: CpuSet, other: CpuSet) -> None:
    maps = QueueMap(machine("/nonexistent"))
    assert maps.same(one.mask(), other.mask()) == (one == other)


@given(st.text(max_size=12), st.text(max_size=12))
def test_texts_of_any_kind_can_be_compared(one: str, other: str) -> None:
    maps = QueueMap(machine("/nonexistent"))
    assert maps.same(one, other) == maps.same(other, one)
    assert maps.same(one, one)


@given(st.integers(0, 1 << 32), st.integers(0, 1 << 32))
def test_flows_are_one_when_the_kernel_s_table_is(one: int, other: int) -> None:
    flows = QueueFlowCount(machine("/nonexistent"))
    assert flows.same(str(one), str(other)) == (_table(one) == _table(other))


def _table(count: int) -> int:
    """As store_rps_dev_flow_table_cnt() makes it."""
    if count == 0:
        return 0
    mask = count - 1
    while mask | (mask >> 1) != mask:
        mask |= mask >> 1
    return mask + 1


if __name__ == "__main__":
    json.dump(look(), sys.stdout)
