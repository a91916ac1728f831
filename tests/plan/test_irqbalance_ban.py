from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests import make
from tests.plan import build
from tuneagent.model.irqbalance import IrqbalanceConfig
from tuneagent.model.plan import Change
from tuneagent.model.policy import Action
from tuneagent.model.snapshot import Snapshot

BAN = Action.IRQBALANCE_BAN
RESTART = " && systemctl restart irqbalance.service"


def running(config: IrqbalanceConfig | None, queues: int = 1) -> Snapshot:
    return replace(make.snapshot(queues=queues), irqbalance=build.balance(config))


def ban(config: IrqbalanceConfig, queues: int = 1) -> Change:
    (change,) = build.changes(build.solve(BAN, running(config, queues)))
    return change


def run(line: str | None) -> None:
    assert line is not None
    assert line.endswith(RESTART)
    subprocess.run(["sh", "-c", line.removesuffix(RESTART)], check=True)


def test_other_options_stay() -> None:
    change = ban(build.config("--policyscript=/etc/ib.sh"))
    assert change.old == 'IRQBALANCE_ARGS="--policyscript=/etc/ib.sh"'
    assert change.new == 'IRQBALANCE_ARGS="--policyscript=/etc/ib.sh --banirq=31 --banirq=32"'
    assert change.where == "/etc/sysconfig/irqbalance"


@pytest.mark.parametrize(
    ("before", "key", "options"),
    [
        (
            '# a comment\nIRQBALANCE_ARGS="--policyscript=/etc/ib.sh"\nOTHER=1\n',
            "IRQBALANCE_ARGS",
            ("--policyscript=/etc/ib.sh",),
        ),
        ("IRQBALANCE_ARGS='-t 5'\n", "IRQBALANCE_ARGS", ("-t", "5")),
        ("OPTIONS=--debug\n", "OPTIONS", ("--debug",)),
        ('ENABLED="1"\nOPTIONS=""\n', "OPTIONS", ()),
        ("IRQBALANCE_OPTS=\n", "IRQBALANCE_OPTS", ()),
    ],
)
def test_the_lines_edit_that_key_and_nothing_else(
    tmp_path: Path, before: str, key: str, options: tuple[str, ...]
) -> None:
    file = tmp_path / "a file"
    file.write_text(before)
    line = next(line for line in before.splitlines() if line.startswith(key))
    change = ban(build.config(*options, key=key, path=str(file), plain_line=line))
    assert change.old == line
    run(change.do)
    after = file.read_text().splitlines()
    assert change.new in after
    assert [line for line in after if not line.startswith(key)] == [
        line for line in before.splitlines() if not line.startswith(key)
    ]
    run(change.undo)
    assert file.read_text() == before


def test_a_second_ban_keeps_the_first(tmp_path: Path) -> None:
    file = tmp_path / "irqbalance"
    file.write_text('IRQBALANCE_ARGS="--debug"\n')
    config = build.config("--debug", path=str(file))
    first = ban(config)
    other = build.with_nic(running(config), queue_irqs=build.second_nic("x", 71, 1, "").queue_irqs)
    (second,) = build.changes(build.solve(BAN, other))
    run(first.do)
    run(second.do)
    assert file.read_text() == 'IRQBALANCE_ARGS="--debug --banirq=31 --banirq=32 --banirq=71 --banirq=72"\n'
    run(first.undo)
    assert file.read_text() == 'IRQBALANCE_ARGS="--debug --banirq=71 --banirq=72"\n'


def test_a_file_without_options_gets_a_line_and_loses_it_again(tmp_path: Path) -> None:
    file = tmp_path / "irqbalance"
    file.write_text("#IRQBALANCE_ARGS=\n")
    change = ban(build.config(key=None, path=str(file)))
    assert change.new == 'IRQBALANCE_ARGS="--banirq=31 --banirq=32"'
    run(change.do)
    assert file.read_text() == '#IRQBALANCE_ARGS=\nIRQBALANCE_ARGS="--banirq=31 --banirq=32"\n'
    run(change.undo)
    assert file.read_text() == "#IRQBALANCE_ARGS=\n"


def test_openrc_has_another_key() -> None:
    assert ban(build.config(key=None, path="/etc/conf.d/irqbalance")).new.startswith("IRQBALANCE_OPTS=")


def test_no_file_is_said_and_none_is_made() -> None:
    assert "none is created blindly" in build.reason(build.solve(BAN, running(None)))


def test_a_file_with_faults_is_left_alone() -> None:
    answer = build.solve(BAN, running(build.config("--banirq=", errors=("line 3: --banirq without a number",))))
    assert "line 3: --banirq without a number" in build.reason(answer)


@pytest.mark.parametrize("option", ["--policyscript=/etc/a b", "$(reboot)", "a|b", "a&b", 'x"y', "a\nb"])
def test_options_that_a_line_could_break_are_left_to_a_hand(option: str) -> None:
    assert "only a hand" in build.reason(build.solve(BAN, running(build.config(option))))


def test_a_line_that_no_command_can_edit_is_left_to_a_hand() -> None:
    said = build.reason(build.solve(BAN, running(build.config("-t", "5", plain_line=None, hand_only="line 2: odd"))))
    assert "only a hand can edit /etc/sysconfig/irqbalance: line 2: odd" in said
    assert "only a hand" in build.reason(build.solve(BAN, running(build.config("-t", "5", plain_line=None))))
    unfinished = build.config(key=None, hand_only="its last line has no end")
    assert "no end" in build.reason(build.solve(BAN, running(unfinished)))


def test_what_is_banned_already_is_not_banned_again() -> None:
    by_number = build.config("--banirq=31", banned_irqs=frozenset({31}))
    assert ban(by_number).new == 'IRQBALANCE_ARGS="--banirq=31 --banirq=32"'
    by_module = build.balance(build.config("--banmod=virtio", banned_modules=("virtio",)), command=())
    assert build.changes(build.solve(BAN, replace(make.snapshot(queues=1), irqbalance=by_module))) == ()


def test_a_file_that_the_process_has_not_read_is_not_edited_again() -> None:
    written = build.config("--banirq=31", "--banirq=32", banned_irqs=frozenset({31, 32}))
    said = build.reason(build.solve(BAN, running(written)))
    assert "/etc/sysconfig/irqbalance bans these interrupts already, and irqbalance (pid 612) runs without" in said
    assert "systemctl restart irqbalance.service" in said


def test_what_the_process_was_told_is_not_banned_again() -> None:
    by_number = build.balance(build.config(), banned_irqs=frozenset({32}))
    (change,) = build.changes(build.solve(BAN, replace(make.snapshot(queues=1), irqbalance=by_number)))
    assert change.new == 'IRQBALANCE_ARGS="--banirq=31"'
    by_module = build.balance(build.config(), banned_modules=("ahci", "virtio"))
    assert build.changes(build.solve(BAN, replace(make.snapshot(queues=1), irqbalance=by_module))) == ()


def test_not_running_and_not_known() -> None:
    assert "is not running" in build.reason(build.solve(BAN, make.snapshot()))
    unknown = replace(make.snapshot(), irqbalance=build.balance(running=None))
    assert "not known" in build.reason(build.solve(BAN, unknown))
    assert "not known" in build.reason(build.solve(BAN, replace(make.snapshot(), irqbalance=None)))


@pytest.mark.parametrize("state", [None, "inactive", "not-found"])
def test_what_no_unit_runs_is_restarted_by_whoever_started_it(state: str | None) -> None:
    now = replace(make.snapshot(), irqbalance=build.balance(build.config("-d"), unit_state=state))
    assert "means that started it" in build.notes(build.solve(BAN, now))
