from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.model.counters import InterruptRow
from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse.interrupts import parse

HEAD = "           CPU0       CPU1\n"
MSI = "  PCI-MSIX-0000:00:03.0   1-edge      virtio0-input.0"


def row(line: str, head: str = HEAD) -> InterruptRow:
    (only,) = parse(f"{head}{line}\n").rows
    return only


def test_reads_a_row_in_all_its_parts() -> None:
    line = f" 31:         10         25{MSI}"
    assert row(line) == InterruptRow(
        label="31",
        irq=31,
        counts=(10, 25),
        total=35,
        chip="PCI-MSIX-0000:00:03.0",
        hwirq="1",
        trigger="edge",
        actions=("virtio0-input.0",),
        description="PCI-MSIX-0000:00:03.0   1-edge      virtio0-input.0",
        text=line,
    )


def test_architecture_rows_are_described_and_have_no_chip() -> None:
    local = row("LOC:      10000      10001   Local timer interrupts")
    assert (local.irq, local.counts, local.description) == (None, (10000, 10001), "Local timer interrupts")
    assert (local.chip, local.hwirq, local.trigger, local.actions) == (None, None, None, ())


def test_the_label_ends_at_the_first_colon_though_the_count_touches_it() -> None:
    ipi = row("IPI0:3123456789 2987654321       Rescheduling interrupts")
    assert (ipi.label, ipi.counts, ipi.total) == ("IPI0", (3123456789, 2987654321), 6111111110)


def test_a_row_may_hold_text_only() -> None:
    fiq = row("FIQ:              usb_fiq")
    assert (fiq.counts, fiq.total, fiq.description) == ((), None, "usb_fiq")


def test_a_row_of_text_may_begin_with_a_digit() -> None:
    table = parse(f"{HEAD}FIQ:              3f00b880.fiq\n 31: 4 5 {MSI}\n")
    assert (table.rows[0].description, table.rows[0].total) == ("3f00b880.fiq", None)
    assert table.rows[1].counts == (4, 5)


def test_a_chip_that_begins_with_digits_is_no_count() -> None:
    key = row(" 22:          4          6  9030000.pl061   3 Edge      GPIO Key Poweroff")
    assert (key.counts, key.chip, key.actions) == ((4, 6), "9030000.pl061", ("GPIO Key Poweroff",))


@pytest.mark.parametrize("label", ["ERR", "MIS", "Err"])
@pytest.mark.parametrize("head", [HEAD, "     CPU0\n"])
def test_a_single_total_is_given_to_no_cpu(label: str, head: str) -> None:
    errors = row(f"{label}:         17", head)
    assert (errors.counts, errors.total) == ((), 17)


def test_another_row_of_a_single_cpu_has_its_count() -> None:
    assert row("RES:         17", "     CPU0\n").counts == (17,)


def test_fewer_numbers_of_an_architecture_row_are_a_total() -> None:
    head = "      CPU0       CPU1       CPU2\n"
    spurious = row("SPU:  3  4  Spurious", head)
    assert (spurious.counts, spurious.total, spurious.description) == ((), 7, "Spurious")


def test_rows_without_text_keep_their_counts() -> None:
    io = row("I/O:         70         30")
    assert (io.label, io.counts, io.total, io.description) == ("I/O", (70, 30), 100, None)
    gone = row(" 31:          7          8")
    assert (gone.irq, gone.counts, gone.chip, gone.actions) == (31, (7, 8), None, ())


def test_a_label_may_occur_twice() -> None:
    table = parse(f"{HEAD}LOC: 5 6 Local timer\nSPU: 1 2 Spurious\nLOC: 3 4 Local others\n")
    assert [(each.label, each.counts) for each in table.rows] == [("LOC", (5, 6)), ("SPU", (1, 2)), ("LOC", (3, 4))]


def test_blank_lines_trailing_blanks_and_a_missing_newline_are_nothing() -> None:
    table = parse(f"\n{HEAD}ERR: 9\n\n   \nPIN: 1 2   Posted   \nPIW: 3 4   Wakeup   ")
    assert [each.label for each in table.rows] == ["ERR", "PIN", "PIW"]
    assert table.rows[2].description == "Wakeup"


def test_carriage_returns_are_blanks() -> None:
    table = parse(f"{HEAD} 31: 4 5 {MSI}\n".replace("\n", "\r\n"))
    assert table.rows[0].actions == ("virtio0-input.0",)


def test_cpus_are_known_by_id_and_may_have_holes() -> None:
    table = parse("     CPU0       CPU1       CPU3\n 9: 1 2 3  IO-APIC  9-fasteoi  acpi\n")
    assert table.cpus == (0, 1, 3)
    assert table.rows[0].counts == (1, 2, 3)


def test_a_header_alone_is_a_table_without_rows() -> None:
    table = parse(HEAD)
    assert (table.cpus, table.rows) == ((0, 1), ())


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_nothing_is_empty(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.reason is Reason.EMPTY


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  1:          3   IO-APIC   1-edge      i8042\n", 1),
        ("     CPU0  CPUx\n", 1),
        ("     CPU0  CPU0\n", 1),
        ("     CPU0  CPU8192\n", 1),
        (f"{HEAD} 31 4 5 PCI\n", 2),
        (f"{HEAD}: 4 5 PCI\n", 2),
        (f"{HEAD}ERR: 1\n a b: 4 5 PCI\n", 3),
        (f"{HEAD} 31: 4 -5 {MSI}\n", 2),
        (f"{HEAD} 31: 4 +5 {MSI}\n", 2),
        (f"{HEAD} 31: 4 5_0 {MSI}\n", 2),
        (f"{HEAD} 31: 4 \u0665 {MSI}\n", 2),
        (f"{HEAD} 31: 4 18446744073709551616 {MSI}\n", 2),
        (f"{HEAD} 31: 4 {'9' * 5000} {MSI}\n", 2),
        (f"{HEAD} 31: 4 5 virtio\x1b[2J\n", 2),
        (f"{HEAD} 31: 4 5 virtio\udcff\n", 2),
        (f"{HEAD} 31: 4 5 6 {MSI}\n", 2),
        (f"{HEAD}LOC: 4 5 6 Local\n", 2),
        (f"{HEAD}LOC: 4 5x Local\n", 2),
        (f"{HEAD}LOC: 4 -5x Local\n", 2),
        (f"{HEAD}LOC: 4x Local\n", 2),
        (f"{HEAD}LOC: +4\n", 2),
        (f"{HEAD}LOC: 4b.2 5 Local\n", 2),
        (f"{HEAD}99999999999: 4 5 {MSI}\n", 2),
        (f"{HEAD} 31: 4 {MSI}\n", 2),
        (f"{HEAD} 30: 1 2 {MSI}\n 31:  ", 3),
        (f"{HEAD} 30: 1 2 {MSI}\n 31:    4", 3),
        (f"{HEAD} 30: 1 2 {MSI}\n 31:    4   5", 3),
        (f"{HEAD} 30: 1 2 {MSI}\n 31:    4\n", 3),
        (f"{HEAD} 30: 1 2 {MSI}\nLOC:    4", 3),
        (f"{HEAD}LOC:\n", 2),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, line: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.reason) == (line, Reason.MALFORMED)


@pytest.mark.parametrize("end", ["4 5 ", "4 5\n", "4 5 None"])
def test_a_last_count_that_something_follows_is_whole(end: str) -> None:
    assert parse(f"{HEAD} 31: {end}").rows[0].counts == (4, 5)


def test_a_total_without_newline_at_the_end_is_complete() -> None:
    assert parse(f"{HEAD}ERR: 6").rows[0].total == 6


def test_an_unchanged_row_is_the_same_object() -> None:
    before = parse(f"{HEAD} 30: 1 2 {MSI}\n 31: 3 4 {MSI}\n")
    after = parse(f"{HEAD} 31: 3 4 {MSI}\n 30: 1 3 {MSI}\n", before)
    assert after.rows[0] is before.rows[1]
    assert after.rows[1].counts == (1, 3)
    assert after == parse(f"{HEAD} 31: 3 4 {MSI}\n 30: 1 3 {MSI}\n")


def test_rows_of_other_cpus_are_not_taken_over() -> None:
    line = " 30: 1 2 3 IO-APIC  9-fasteoi  acpi\n"
    before = parse(f"  CPU0 CPU1 CPU2\n{line}")
    after = parse(f"  CPU0 CPU1 CPU3\n{line}", before)
    assert after.rows[0] is not before.rows[0]
    with pytest.raises(ParseError, match="more counts than the 2 CPUs"):
        parse(f"{HEAD}{line}", before)


@given(
    st.lists(st.integers(0, 8191), min_size=1, max_size=9, unique=True).flatmap(
        lambda cpus: st.tuples(
            st.just(cpus),
            st.dictionaries(
                st.integers(0, 99_999),
                st.tuples(*[st.integers(0, 2**32 - 1)] * len(cpus)),
                max_size=8,
            ),
        )
    )
)
def test_a_table_gives_back_its_numbers(table: tuple[list[int], dict[int, tuple[int, ...]]]) -> None:
    cpus, rows = table
    lines = ["           " + "".join(f"CPU{cpu:<8d}" for cpu in cpus)]
    for irq, counts in rows.items():
        lines.append(
            f"{irq:3d}:" + "".join(f"{count:10d} " for count in counts) + f" {irq}.gpio {irq:4d} Edge      {irq}"
        )
    parsed = parse("\n".join(lines) + "\n")
    assert parsed.cpus == tuple(cpus)
    assert {each.irq: each.counts for each in parsed.rows} == rows
    assert all(each.hwirq == each.label and each.actions == (each.label,) for each in parsed.rows)
