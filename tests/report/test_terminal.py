from __future__ import annotations

import re

from tests.report import reports
from tuneagent.report import advise_text, plain, terminal
from tuneagent.report.document import Gap, Heading, Lines, Paragraph, Table, Tone

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def words(text: str) -> list[str]:
    return ANSI.sub("", text).split()


def test_what_looks_like_markup_is_text() -> None:
    odd = "[red]not red[/red] [link=x]y[/] :smile: \\[b]"
    document = (Heading(odd), Paragraph(odd), Lines((odd,)), Table(("[b]c[/b]",), ((odd,),)))

    shown = terminal.write(document, 100)

    assert ANSI.sub("", shown).count(odd) == 4
    assert "[b]c[/b]" in ANSI.sub("", shown)


def test_a_tone_is_a_colour() -> None:
    shown = {tone: terminal.write((Heading("x", tone), Paragraph("y", 0, tone)), 80) for tone in Tone}

    assert "\x1b[" in shown[Tone.CRITICAL]
    assert len(set(shown.values())) == len(Tone)


def test_lines_to_paste_are_never_broken() -> None:
    line = "echo " + "x" * 300

    assert line in ANSI.sub("", terminal.write((Lines((line,)),), 60))


def test_a_long_cell_beside_a_name_is_folded_and_whole() -> None:
    cell = "/sys/" + "d" * 200

    shown = terminal.write((Gap(), Table(("a", "b"), (("1", cell),))), 60)

    assert "".join(words(shown)).count("d") == 200
    assert max(len(line) for line in ANSI.sub("", shown).splitlines()) <= 60


def test_a_terminal_says_what_a_pipe_says() -> None:
    document = advise_text.document(reports.everything(), verbose=True)

    assert words(terminal.write(document, 400)) == words(plain.write(document, 400))


def test_names_stay_whole_however_narrow_the_terminal() -> None:
    name = "/sys/class/net/eth0/queues/tx-12/xps_cpus"
    table = Table(("what", "old", "new", "why"), ((name, "1", "11", "a reason of some length that may be folded"),))

    for width in (30, 60, 100):
        assert name in terminal.write((table,), width)
