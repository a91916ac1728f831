from __future__ import annotations

from dataclasses import replace

from tuneagent.model.missing import Missing, Reason
from tuneagent.report.capabilities import missing_rows


def hidden(what: str, source: str, **changes: object) -> Missing:
    base = Missing(what, source, Reason.PERMISSION, "Permission denied", None, "run as root")
    return replace(base, **changes)  # type: ignore[arg-type]  # the field's own types


def test_causes_that_differ_in_a_number_only_are_one_row() -> None:
    rows = missing_rows(
        hidden(f"irq.{number}.affinity", f"/proc/irq/{number}/smp_affinity_list") for number in range(30, 37)
    )

    ((what, why, remedy),) = rows
    assert what == "irq.30.affinity, irq.31.affinity, irq.32.affinity, irq.33.affinity, … 7 in all"
    assert why == "/proc/irq/30/smp_affinity_list: Permission denied"
    assert remedy == "run as root"


def test_causes_that_differ_otherwise_are_rows_of_their_own() -> None:
    base = hidden("irq.30.affinity", "/proc/irq/30/smp_affinity_list")
    others = (
        replace(base, what="irq.30.effective"),
        replace(base, source="/proc/irq/30/node"),
        replace(base, reason=Reason.FAILED),
        replace(base, detail="Input/output error"),
        replace(base, remedy=None),
    )

    assert len(missing_rows((base, *others))) == 6


def test_a_line_is_part_of_the_place() -> None:
    assert missing_rows([hidden("stat", "/proc/stat", line=7)])[0][1] == "/proc/stat:7: Permission denied"


def test_up_to_four_names_are_all_told() -> None:
    rows = missing_rows(hidden(f"cpu{cpu}", "/proc/stat") for cpu in range(4))

    assert rows[0][0] == "cpu0, cpu1, cpu2, cpu3"


def test_what_is_hostile_is_escaped_and_nothing_gives_nothing() -> None:
    ((what, why, remedy),) = missing_rows([hidden("\x1bw", "\x1bs", detail="\x1bd", remedy="\x1br")])

    assert (what, why, remedy) == ("\\x1bw", "\\x1bs: \\x1bd", "\\x1br")
    assert missing_rows(()) == ()
