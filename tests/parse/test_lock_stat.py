from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.model.contention import LockClass
from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse.lock_stat import enabled, parse

COLUMNS = (
    "con-bounces contentions waittime-min waittime-max waittime-total waittime-avg "
    "acq-bounces acquisitions holdtime-min holdtime-max holdtime-total holdtime-avg"
)
OLD_COLUMNS = COLUMNS.replace(" waittime-avg", "").replace(" holdtime-avg", "")
NUMBERS = "900 1200 0.10 50.25 4000.50 3.33 1800 5000 0.05 9.75 10.15 0.02"
OLD_NUMBERS = "9 12 0.10 5.25 40.50 18 1000 0.05 9.75 10.15"
LINE = "-" * 200
SHORT = "                    ----------------"
DOTS = "." * 220


def table(*lines: str, version: str = "0.4", columns: str = COLUMNS, warning: bool = False) -> str:
    head = [f"lock_stat version {version}"] + ["*WARNING* lock debugging disabled!!"] * warning
    return "\n".join([*head, LINE, f"                              class name    {columns}", LINE, "", *lines]) + "\n"


def only(text: str) -> LockClass:
    (single,) = parse(text).classes
    return single


def test_each_number_goes_to_its_column() -> None:
    assert only(table(f"   &irq_desc_lock_class: {NUMBERS}")) == LockClass(
        name="&irq_desc_lock_class",
        contentions=1200,
        con_bounces=900,
        wait_min_us=0.10,
        wait_max_us=50.25,
        wait_total_us=4000.50,
        wait_avg_us=3.33,
        acquisitions=5000,
        acq_bounces=1800,
        hold_min_us=0.05,
        hold_max_us=9.75,
        hold_total_us=10.15,
        hold_avg_us=0.02,
        points=(),
    )


def test_the_columns_go_by_their_names_not_their_places() -> None:
    columns, numbers = COLUMNS.split(), NUMBERS.split()
    turned = only(table(f"a: {' '.join(reversed(numbers))}", columns=" ".join(reversed(columns))))
    assert turned == only(table(f"a: {' '.join(numbers)}"))


def test_version_0_3_has_no_averages() -> None:
    stat = parse(table(f"   &irq_desc_lock_class: {OLD_NUMBERS}", version="0.3", columns=OLD_COLUMNS))
    assert stat.version == "0.3"
    assert [(each.contentions, each.acquisitions, each.hold_total_us) for each in stat.classes] == [(12, 1000, 10.15)]
    assert (stat.classes[0].wait_avg_us, stat.classes[0].hold_avg_us) == (None, None)


def test_a_later_version_is_read_where_its_columns_are_known() -> None:
    later = parse(table(f"a: 7 {NUMBERS}", version="0.5", columns=f"spins {COLUMNS}"))
    assert (later.version, later.classes[0].con_bounces) == ("0.5", 900)
    with pytest.raises(ParseError, match=r"version 0\.5 has no column contentions") as caught:
        parse(table(version="0.5", columns=COLUMNS.replace("contentions", "waits")))
    assert caught.value.line == 3


def test_the_places_below_a_class_are_no_classes() -> None:
    stat = parse(
        table(
            f"   &irq_desc_lock_class: {NUMBERS}",
            SHORT,
            "   &irq_desc_lock_class   1100   [<ffffffff81000000>] handle_edge_irq+0x1f/0x200",
            "   &irq_desc_lock_class    100   [<ffffffffc0001000>] vp_bus+0x2f/0x100 [virtio_pci]",
            SHORT,
            "   &irq_desc_lock_class   1150   [<(____ptrval____)>] show_interrupts+0x3f/0x300",
            "",
            DOTS,
            "",
            f"   other: {NUMBERS}",
            warning=True,
        )
    )
    first, second = stat.classes
    assert stat.warning
    assert first.points == (("handle_edge_irq+0x1f/0x200", 1100), ("vp_bus+0x2f/0x100 [virtio_pci]", 100))
    assert first.holders == (("show_interrupts+0x3f/0x300", 1150),)
    assert (second.name, second.points, second.holders) == ("other", (), ())


def test_the_rows_of_readers_and_writers_share_their_places() -> None:
    write, read = parse(
        table(
            f"&mm->mmap_sem-W: {NUMBERS}",
            f"&mm->mmap_sem-R: {NUMBERS}",
            SHORT,
            "&mm->mmap_sem 84 [<1>] vm_mmap+0x1/0x2",
        )
    ).classes
    assert (write.name, read.name) == ("&mm->mmap_sem-W", "&mm->mmap_sem-R")
    assert write.points == read.points == (("vm_mmap+0x1/0x2", 84),)


@pytest.mark.parametrize(
    "name",
    [
        "&rq->lock/1",
        "&(&zone->lru_lock)->rlock",
        "(wq_completion)events",
        "dev:eth0 tx lock",
        "a: b",
        "&q->lock#2",
        "a-R",
    ],
)
def test_a_name_may_hold_blanks_colons_and_suffixes(name: str) -> None:
    stat = parse(table(f"    {name}: {NUMBERS}", SHORT, f"   {name}  3  [<ffffffff81>] f+0x1/0x2"))
    assert [(each.name, each.contentions, each.points) for each in stat.classes] == [(name, 1200, (("f+0x1/0x2", 3),))]


def test_a_number_that_fills_its_column_touches_the_colon() -> None:
    wide = only(table(f"a:{'9' * 18} {NUMBERS.split(None, 1)[1]}"))
    assert (wide.name, wide.con_bounces) == ("a", int("9" * 18))


def test_a_table_without_classes_is_known_to_have_none() -> None:
    stat = parse(table())
    assert (stat.classes, stat.warning, stat.enabled) == ((), False, None)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("MemTotal: 12 kB\n", 1, "not a table of lock_stat"),
        ("lock_stat version 0.4\n", 1, "without a line of column names"),
        (table(f"a: {NUMBERS} 5"), 6, "13 numbers for 12 columns"),
        (table(f"a: {NUMBERS[:-5]}"), 6, "11 numbers"),
        (table(f"a: {NUMBERS}"[:-1]), 6, "0.0"),
        (table(f"a {NUMBERS}"), 6, "no lock class"),
        (table(f": {NUMBERS}"), 6, "no lock class"),
        (table(NUMBERS.join(["a: ", " "]).replace("1200", "-1200")), 6, "-1200"),
        (table(f"a: {NUMBERS}".replace("1200", "9" * 21)), 6, "not a number"),
        (table(f"a: {NUMBERS}".replace("50.25", "9" * 21 + ".00")), 6, "no time"),
        (table(f"a: {NUMBERS}".replace("50.25", "nan")), 6, "no time"),
        (table("a 5 [<1>] f+0x1/0x2"), 6, "without its class"),
        (table(f"a: {NUMBERS}", SHORT, "a x [<1>] f+0x1/0x2"), 8, "not a number"),
        (table(f"a: {NUMBERS}", SHORT, "a 5 [<1>]"), 8, "no contention point"),
        (table(f"a\x1b: {NUMBERS}"), 6, "unprintable"),
        (table(columns=f"{COLUMNS} contentions"), 3, "twice"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        parse(text)
    assert caught.value.line == line


def test_nothing_is_empty() -> None:
    with pytest.raises(ParseError) as caught:
        parse(" \n")
    assert caught.value.reason is Reason.EMPTY


def test_the_switch_is_on_or_off() -> None:
    assert enabled("1\n")
    assert not enabled("0\n")
    with pytest.raises(ParseError):
        enabled("2\n")


PIECES = st.sampled_from(
    ["lock_stat version 0.4", LINE, "class name", COLUMNS, OLD_COLUMNS, "a:", NUMBERS, OLD_NUMBERS, "\n", " ",
     "[<1>] f", "5", "-", ".", ":", "*WARNING*", "\x00", "9" * 400, "0.10"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map(" ".join), st.booleans())
def test_whatever_is_said_is_a_table_or_a_fault(text: str, headed: bool) -> None:  # noqa: FBT001  # hypothesis gives it
    try:
        stat = parse(table(text) if headed else text)
    except ParseError:
        return
    assert all(each.name and each.contentions >= 0 for each in stat.classes)
