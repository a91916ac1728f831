"""The lines themselves, carried out by a real shell and a real sed on real files."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from tuneagent.parse.irqbalance_env import parse
from tuneagent.plan.irqbalance_edit import Edit

REST = b"# OPTIONS=\"--banirq=9\"\nOTHER='1 2'\n"
EVERY = ("--banirq=31 --banirq=32", "--banirq=71", "--banirq=7")


def run(line: str) -> bool:
    return subprocess.run(["sh", "-c", line], check=False).returncode == 0


def edits(file: Path) -> list[Edit]:
    """Several made at one time for one file, as for several NICs in one plan."""
    config = parse(file.read_bytes().decode(), str(file))
    assert config.hand_only is None
    return [Edit(str(file), "OPTIONS", config.plain_line, words) for words in EVERY]


PLAIN = [
    'OPTIONS="--debug"',
    'OPTIONS=""',
    'OPTIONS=" "',
    'OPTIONS=" --debug  -t 5 "',
    'OPTIONS="--debug" \t',
    "OPTIONS='--policyscript=/etc/ib.sh -t 5'",
    "OPTIONS='' ",
    "OPTIONS=",
    "OPTIONS= ",
    "OPTIONS=--debug",
    "OPTIONS=-t 5 --policyscript=/etc/ib.sh",
    "OPTIONS=--debug  ",
    "OPTIONS=d",
    None,
]


@pytest.mark.parametrize("line", PLAIN)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (2, 1, 0)])
def test_what_is_added_can_be_taken_away_in_any_order_byte_for_byte(
    tmp_path: Path, line: str | None, order: tuple[int, ...]
) -> None:
    file = tmp_path / "a 'file'"
    before = REST + (b"" if line is None else line.encode() + b"\nLAST=1\n")
    file.write_bytes(before)
    given = parse(before.decode(), "").options
    made = edits(file)

    assert run(made[0].do)
    assert made[0].line.encode() in file.read_bytes().split(b"\n")
    assert all(run(edit.do) for edit in made[1:])

    config = parse(file.read_bytes().decode(), str(file))
    assert config.errors == ()
    assert config.options == (*given, *" ".join(EVERY).split())
    sourced = subprocess.run(
        ["sh", "-c", f". {shlex.quote(str(file))}; echo $OPTIONS"], capture_output=True, text=True, check=True
    )
    assert tuple(sourced.stdout.split()) == config.options
    assert REST in file.read_bytes()

    for index in order:
        assert run(made[index].undo)
        left = parse(file.read_bytes().decode(), "").options
        assert not set(EVERY[index].split()) & set(left)
        assert left[: len(given)] == given
    assert file.read_bytes() == before


@pytest.mark.parametrize("line", ['OPTIONS="--debug" # mine', 'export OPTIONS="--debug"', "OPTIONS='--debug'", ""])
def test_a_line_that_became_another_kind_is_left_and_the_command_fails(tmp_path: Path, line: str) -> None:
    file = tmp_path / "irqbalance"
    file.write_text('OPTIONS="--debug"\n')
    edit = edits(file)[0]
    file.write_text(f"{line}\n")
    assert not run(edit.do)
    assert file.read_text() == f"{line}\n"


def test_an_empty_file_gets_a_line_and_loses_it(tmp_path: Path) -> None:
    file = tmp_path / "irqbalance"
    file.write_bytes(b"")
    edit = edits(file)[1]
    assert run(edit.do)
    assert file.read_bytes() == b'OPTIONS="--banirq=71"\n'
    assert run(edit.undo)
    assert file.read_bytes() == b""


def test_a_last_line_without_end_keeps_none(tmp_path: Path) -> None:
    file = tmp_path / "irqbalance"
    file.write_bytes(b"OPTIONS=--debug")
    edit = edits(file)[1]
    assert run(edit.do)
    assert file.read_bytes() == b'OPTIONS="--debug --banirq=71"'
    assert run(edit.undo)
    assert file.read_bytes() == b"OPTIONS=--debug"
