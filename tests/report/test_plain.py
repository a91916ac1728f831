from __future__ import annotations

from tuneagent.report import plain
from tuneagent.report.document import Gap, Heading, Lines, Paragraph, Table, Tone


def test_each_block_in_its_form() -> None:
    document = (
        Heading("Head", Tone.CRITICAL),
        Gap(),
        Paragraph("one two", 3, Tone.GOOD, "Label:"),
        Lines(("echo 1 > /proc/x", "echo 2 > /proc/y")),
        Table(("name", "count"), (("a", "1"), ("long name", "23,456")), frozenset({"count"})),
    )

    assert plain.write(document) == (
        "Head\n"
        "\n"
        "   Label: one two\n"
        "      echo 1 > /proc/x\n"
        "      echo 2 > /proc/y\n"
        "  name        count\n"
        "  a               1\n"
        "  long name  23,456\n"
    )


def test_running_text_is_wrapped_at_blanks_only_and_hangs_under_its_label() -> None:
    text = "alpha /proc/irq/38/smp_affinity_list is-very-long-with-hyphens beta"

    lines = plain.write((Paragraph(text, 2, Tone.PLAIN, "On:"),), 30).splitlines()

    assert lines == [
        "  On: alpha",
        "      /proc/irq/38/smp_affinity_list",
        "      is-very-long-with-hyphens",
        "      beta",
    ]


def test_a_long_label_does_not_push_the_text_out_of_the_page() -> None:
    lines = plain.write(
        (Paragraph("one two three four five", 2, Tone.PLAIN, "A label of some length:"),), 32
    ).splitlines()

    assert lines == ["  A label of some length: one", "    two three four five"]


def test_lines_to_paste_are_never_wrapped() -> None:
    line = "echo " + "x " * 200

    assert plain.write((Lines((line,), 0),), 20) == line.rstrip() + "\n"


def test_an_empty_paragraph_and_an_empty_table_are_no_error() -> None:
    assert plain.write((Paragraph("", 2), Table(("a", "b"), ()))) == "\n  a  b\n"
