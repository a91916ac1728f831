"""The machine-wide counter files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.observe.looking import Refusing, gaps_at, look, put
from tests.trees import Guest, guest
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.counters import CpuTime
from tuneagent.model.missing import Reason
from tuneagent.observe import snapshot

FILES = {
    "/proc/interrupts": "interrupts",
    "/proc/net/softnet_stat": "softnet",
    "/proc/softirqs": "softirqs",
    "/proc/stat": "cpu_times",
}


def test_interrupts_by_cpu(tmp_path: Path) -> None:
    seen = look(guest(tmp_path, cpus=3, queues=1))
    assert seen.interrupts is not None
    assert seen.interrupts.cpus == (0, 1, 2)
    assert [(row.label, row.counts) for row in seen.interrupts.rows] == [
        ("30", (30_003, 30_013, 30_023)),
        ("31", (31_003, 31_013, 31_023)),
        ("32", (32_003, 32_013, 32_023)),
        ("LOC", (7_000, 7_001, 7_002)),
        ("ERR", ()),
    ]
    assert seen.interrupts.rows[1].actions == ("virtio0-input.0",)
    assert seen.interrupts.rows[-1].total == 2


def test_softnet_softirqs_stat_and_protocols(tmp_path: Path) -> None:
    seen = look(guest(tmp_path, cpus=2, softnet=((0xFFFFFFFE, 7, 8), (12, 13, 14))))
    assert seen.softnet is not None
    assert seen.softirqs is not None
    assert seen.cpu_times is not None
    assert seen.protocols is not None
    assert [(row.cpu, row.processed, row.dropped, row.time_squeeze) for row in seen.softnet.rows] == [
        (0, 4294967294, 7, 8), (1, 12, 13, 14),
    ]  # fmt: skip
    assert seen.softirqs.counts["NET_RX"] == (4_000 + 0xFFFFFFFE % 997, 4_012)
    assert seen.cpu_times.rows[1] == CpuTime(1, 4_101, 32, 2_201, 90_001, 141, 18, 611, 42, 3, 2)
    assert seen.protocols.counters["Tcp"]["RetransSegs"] == 13
    assert seen.protocols.counters["TcpExt"]["ListenDrops"] == 4


@pytest.mark.parametrize(("path", "part"), FILES.items())
@pytest.mark.parametrize("spoilt", ["absent", "empty", "refused", "binary"])
def test_what_cannot_be_read_is_unknown_and_named(tmp_path: Path, path: str, part: str, spoilt: str) -> None:
    guest(tmp_path)
    reasons = {
        "absent": Reason.ABSENT, "empty": Reason.EMPTY, "refused": Reason.PERMISSION, "binary": Reason.MALFORMED,
    }  # fmt: skip
    if spoilt == "absent":
        (tmp_path / path.lstrip("/")).unlink()
    elif spoilt != "refused":
        put(tmp_path, path, "" if spoilt == "empty" else "\x00\x01\x02\x7f")
    seen = snapshot(Refusing(tmp_path, path) if spoilt == "refused" else Sysroot(str(tmp_path)))
    assert getattr(seen, part) is None
    (gap,) = gaps_at(seen, path)
    assert (gap.what, gap.reason) == (part, reasons[spoilt])
    assert all(getattr(seen, other) is not None for other in FILES.values() if other != part)


def test_a_row_that_is_cut_off_is_named_with_its_line(tmp_path: Path) -> None:
    guest(tmp_path, cpus=4, queues=1)
    text = (tmp_path / "proc/interrupts").read_text()
    put(tmp_path, "/proc/interrupts", text[: text.index("virtio0-input.0") - 70])
    seen = look(tmp_path)
    assert seen.interrupts is None
    assert seen.irqs is None
    (gap,) = gaps_at(seen, "/proc/interrupts")
    assert (gap.reason, gap.line) == (Reason.MALFORMED, 3)


def test_half_of_the_protocols_is_better_than_none(tmp_path: Path) -> None:
    guest(tmp_path)
    put(tmp_path, "/proc/net/snmp", "Tcp: InSegs\nTcp: many\n")
    seen = look(tmp_path)
    assert seen.protocols is not None
    assert set(seen.protocols.counters) == {"TcpExt"}
    (gap,) = gaps_at(seen, "/proc/net/snmp")
    assert gap.line == 2


def test_old_softnet_rows_get_their_cpus_from_the_online_list(tmp_path: Path) -> None:
    """Before kernel 5.10 no CPU id is printed, and only online CPUs have a row."""
    guest(tmp_path, cpus=4)
    put(tmp_path, "/sys/devices/system/cpu/online", "0,2-3\n")
    rows = [" ".join(f"{10 * row + column:08x}" for column in range(1, 12)) for row in range(1, 4)]
    put(tmp_path, "/proc/net/softnet_stat", "\n".join(rows) + "\n")
    seen = look(tmp_path)
    assert seen.softnet is not None
    assert [(row.cpu, row.processed, row.received_rps) for row in seen.softnet.rows] == [
        (0, 11, 20), (2, 21, 30), (3, 31, 40),
    ]  # fmt: skip


def test_softnet_rows_for_other_cpus_than_are_online_are_not_guessed(tmp_path: Path) -> None:
    guest(tmp_path, cpus=4)
    put(tmp_path, "/proc/net/softnet_stat", "00000005 " + " ".join(["00000001"] * 10) + "\n")
    seen = look(tmp_path)
    assert seen.softnet is not None
    assert [row.cpu for row in seen.softnet.rows] == [None]
    assert [gap.what for gap in gaps_at(seen, "/proc/net/softnet_stat")] == ["softnet.cpu"]


def test_stat_of_a_kernel_without_steal_and_guest(tmp_path: Path) -> None:
    guest(tmp_path, cpus=2)
    put(tmp_path, "/proc/stat", "cpu  9 9 9 9\ncpu0 1 2 3 4\ncpu1 5 6 7 8\nctxt 5\n")
    seen = look(tmp_path)
    assert seen.cpu_times is not None
    assert seen.cpu_times.rows[1] == CpuTime(1, 5, 6, 7, 8, None, None, None, None, None, None)


def test_each_table_has_the_time_of_its_own_read(tmp_path: Path) -> None:
    guest(tmp_path)
    times = '{"monotonic_ns": 9, "boottime_ns": 10, "realtime_ns": 11, "read_at_ns": {"/proc/interrupts": 21, '
    put(tmp_path, "/captured/clock.json", times + '"/proc/stat": 22, "/proc/softirqs": 23, "queue-statistics": 24}}')
    seen = look(tmp_path)
    assert seen.interrupts is not None
    assert seen.cpu_times is not None
    assert seen.softirqs is not None
    assert seen.softnet is not None
    assert (seen.interrupts.read_at_ns, seen.cpu_times.read_at_ns, seen.softirqs.read_at_ns) == (21, 22, 23)
    assert seen.softnet.read_at_ns is None
    assert seen.nics is not None
    assert {nic.queue_statistics_read_at_ns for nic in seen.nics} == {24}


def test_rows_that_did_not_change_are_taken_over(tmp_path: Path) -> None:
    root = Guest().write(tmp_path)
    earlier = look(root)
    later = snapshot(Sysroot(str(root)), earlier)
    assert later == earlier
    assert later.interrupts is not None
    assert earlier.interrupts is not None
    assert all(new is old for new, old in zip(later.interrupts.rows, earlier.interrupts.rows, strict=True))
