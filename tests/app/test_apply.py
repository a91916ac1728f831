"""apply, status and rollback on a tree: its files are a machine that can be compared byte for byte."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import trees
from tests.app.command import Ran, environment, process, run
from tests.app.test_main import modules_loaded_by
from tests.report.test_advise_json import assert_documented, walk
from tests.trees import Guest
from tuneagent.app import apply_run
from tuneagent.app.watch import Place
from tuneagent.app.writing import Site
from tuneagent.apply.journal_telling import Known, Telling, tell
from tuneagent.machine import way_in
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.apply_report import PlannedChange
from tuneagent.model.errors import ParseError
from tuneagent.model.plan import Change, Target, TunableKind

PINS = "pin-queue-interrupts"
STATE = "var/lib/tuneagent"
SPREAD = {f"{side}.{queue}": "0-3" for side in ("input", "output") for queue in range(4)}
"""Every queue interrupt may go anywhere, and goes to CPU 0."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return Guest(affinity=SPREAD, effective=dict.fromkeys(SPREAD, "0")).write(tmp_path / "tree")


def contents(tree: Path) -> dict[str, bytes]:
    """Every file but the journals, with its bytes."""
    files = (file for file in sorted(tree.rglob("*")) if file.is_file() and not file.is_symlink())
    return {str(name): file.read_bytes() for file in files if STATE not in str(name := file.relative_to(tree))}


def on(tree: Path, *arguments: str | Path) -> Ran:
    return run(*arguments, "--sysroot", tree)


def said(done: Ran, schema: str = "tuneagent.apply/1") -> dict[str, Any]:
    """The JSON of a command, held against what is documented of it."""
    value: dict[str, Any] = json.loads(done.out)
    assert value["schema"] == schema
    shown = dict(value, recovered=[]) if "recovered" in value else value
    assert_documented(schema, walk(shown))
    return value


def pins(tree: Path) -> list[str]:
    return [(tree / f"proc/irq/{31 + number}/smp_affinity_list").read_text().strip() for number in range(8)]


def journals(tree: Path) -> list[str]:
    return sorted(file.name for file in (tree / STATE).glob("*.journal"))


def test_pins_are_applied_told_and_given_back_byte_for_byte(tree: Path) -> None:
    before = contents(tree)

    applied = on(tree, "apply", PINS)
    standing = on(tree, "status")
    undone = on(tree, "rollback")

    assert (applied.code, applied.err) == (0, "")
    assert applied.out.startswith("Applied: 8 changes made.\n")
    assert f"tuneagent rollback 1 --sysroot {tree}" in applied.out
    assert (standing.code, standing.out.splitlines()[0]) == (0, "As applied: 2 in force, 6 not yet in effect.")
    assert (undone.code, undone.out.splitlines()[0]) == (0, "Transaction 1 is undone: 8 changes given back.")
    assert contents(tree) == before


def test_each_pair_has_a_cpu_of_its_own_afterwards(tree: Path) -> None:
    assert on(tree, "apply", PINS).code == 0

    assert pins(tree) == ["0", "0", "1", "1", "2", "2", "3", "3"]


def test_a_second_apply_writes_nothing(tree: Path) -> None:
    on(tree, "apply", PINS)
    before, written = contents(tree), journals(tree)

    again = on(tree, "apply", PINS)

    assert (again.code, again.out.splitlines()[0]) == (0, "Already so: nothing was written.")
    assert (contents(tree), journals(tree)) == (before, written)
    value = said(on(tree, "apply", PINS, "--json"))
    assert (value["result"], value["changed"], value["transactions"]) == ("already-so", False, [])


def test_check_writes_nothing_at_all(tree: Path) -> None:
    def everything() -> list[tuple[str, int, int]]:
        return [(str(path), path.lstat().st_mtime_ns, path.lstat().st_ino) for path in sorted(tree.rglob("*"))]

    before = everything()

    done = on(tree, "apply", PINS, "--check")

    assert (done.code, done.out.splitlines()[0]) == (0, "8 changes would be made; nothing was written.")
    assert everything() == before


def test_diff_tells_the_line_that_goes_and_the_line_that_comes(tree: Path) -> None:
    lines = [line.strip() for line in on(tree, "apply", PINS, "--check", "--diff").out.splitlines()]

    place = next(number for number, line in enumerate(lines) if line.startswith("/proc/irq/33/smp_affinity_list"))
    assert lines[place + 1 : place + 3] == ["- 0-3", "+ 1"]


def test_what_a_check_wrote_is_a_plan(tree: Path, tmp_path: Path) -> None:
    checked = said(on(tree, "apply", PINS, "--check", "--json"))
    (tmp_path / "plan.json").write_text(json.dumps(checked))

    done = said(on(tree, "apply", "--plan", tmp_path / "plan.json", "--json"))

    assert (checked["result"], checked["changed"], len(checked["changes"])) == ("would-change", True, 8)
    assert (done["result"], done["changed"]) == ("applied", True)
    assert {entry["policy"] for entry in done["transactions"][0]["entries"]} == {PINS}
    assert pins(tree) == ["0", "0", "1", "1", "2", "2", "3", "3"]


def test_the_advice_of_a_report_is_a_plan(tree: Path, tmp_path: Path) -> None:
    advice = run("advise", "--once", "--json", "--policy", PINS, "--sysroot", tree)
    (tmp_path / "plan.json").write_text(advice.out)

    done = on(tree, "apply", "--plan", tmp_path / "plan.json")
    again = on(tree, "apply", "--plan", tmp_path / "plan.json")

    assert done.out.startswith("Applied: 8 changes made.")
    assert again.out.startswith("Already so: nothing was written.")
    assert len(journals(tree)) == 1


def planned(tree: Path, file: Path, change: Callable[[dict[str, Any]], None] = lambda _: None) -> Path:
    """A plan of one pin, interrupt 33 from 0-3 to 1, with something changed in it."""
    value = json.loads(on(tree, "apply", PINS, "--check", "--json").out)
    (one,) = (one for one in value["changes"] if one["target"]["irq"] == 33)
    change(one)
    file.write_text(json.dumps({"changes": [one]}))
    return file


def test_an_old_value_that_does_not_hold_any_more_is_refused(tree: Path, tmp_path: Path) -> None:
    file = planned(tree, tmp_path / "plan.json")
    (tree / "proc/irq/33/smp_affinity_list").write_text("2\n")
    before = contents(tree)

    done = on(tree, "apply", "--plan", file)

    assert done.refused, done
    assert "/proc/irq/33/smp_affinity_list: the plan says '0-3', and '2' stands there" in done.err
    assert (contents(tree), journals(tree)) == (before, [])


def test_a_plan_of_another_machine_changes_nothing_here(tree: Path, tmp_path: Path) -> None:
    file = planned(tree, tmp_path / "plan.json", lambda one: one["target"].update(mac="52:54:00:99:99:99"))
    before = contents(tree)

    done = said(on(tree, "apply", "--plan", file, "--json"))

    assert (done["result"], done["changed"]) == ("declined", False)
    assert [entry["outcome"] for entry in done["transactions"][0]["entries"]] == ["gone"]
    assert contents(tree) == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"changes": 1}',
        '{"changes": [{"kind": "irq-affinity"}]}',
        '{"changes": [NaN]}',
        '{"changes": [' + "[" * 2000 + "]" * 2000 + "]}",
        '{"changes": [' + "9" * 5000 + "]}",
        '{"advice": [{"changes": [{"kind": "\\u001b[2J", "target": {}, "new": "1"}]}]}',
        "\x00",
    ],
    ids=lambda text: ascii(text)[:30],
)
def test_a_hostile_plan_is_one_line_and_touches_nothing(tree: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    before = contents(tree)

    done = on(tree, "apply", "--plan", tmp_path / "plan.json")

    assert done.refused, done
    assert str(tmp_path / "plan.json") in done.err
    assert done.err.strip().isprintable()
    assert contents(tree) == before


def test_every_fault_of_a_plan_is_a_line(tree: Path, tmp_path: Path) -> None:
    bad = {"kind": "irq-affinity", "target": {}, "new": ""}
    (tmp_path / "plan.json").write_text(json.dumps({"changes": [bad, {"kind": "x"}]}))

    done = on(tree, "apply", "--plan", tmp_path / "plan.json")

    assert done.code == 2
    assert [re.search(r"\$\.changes\[\d\]", line)[0] for line in done.err.splitlines()] == [  # type: ignore[index]
        "$.changes[0]",
        "$.changes[1]",
    ]


def test_a_plan_that_is_no_text_or_too_much(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "long").write_text(json.dumps({"changes": [], "x": "y" * (33 << 20)}))

    assert "not UTF-8 at byte 0" in on(tree, "apply", "--plan", tmp_path / "bytes").err
    assert "not a plan" in on(tree, "apply", "--plan", tmp_path / "long").err
    assert on(tree, "apply", "--plan", tmp_path / "nosuch").refused
    assert on(tree, "apply", "--plan", tmp_path).refused


@pytest.mark.parametrize(
    "arguments",
    [
        ["apply"],
        ["apply", "nosuch"],
        ["apply", "../pin-queue-interrupts"],
        ["apply", PINS, "--plan", "x"],
        ["apply", PINS, "--on", "eth9"],
        ["apply", PINS, "--domain", "web"],
        ["apply", PINS, "--live"],
        ["apply", PINS, "--connect", "qemu:///session"],
        ["apply", PINS, "--max-changes", "7"],
        ["apply", PINS, "--max-changes", "0"],
        ["apply", PINS, "--confirm-within", "nan"],
        ["confirm", "9"],
        ["confirm", "0"],
        ["rollback", "9"],
        ["rollback", "1", "--all"],
        ["rollback", "--print", "--json"],
        ["status", "9"],
        ["status", "x"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_exit_2_and_touches_nothing(tree: Path, arguments: list[str]) -> None:
    before = contents(tree)

    done = on(tree, *arguments)

    assert done.refused, done
    assert (contents(tree), journals(tree)) == (before, [])


def test_no_tree_is_refused(tmp_path: Path) -> None:
    for command in (["apply", PINS], ["confirm"], ["rollback"], ["status"]):
        assert on(tmp_path / "nosuch", *command).refused


def test_a_policy_that_has_nothing_to_do_is_no_failure(tree: Path) -> None:
    done = said(on(tree, "apply", "irqbalance-off", "queues-per-cpu", "--json"))

    assert (done["result"], done["changed"]) == ("already-so", False)
    assert {one["policy"] for one in done["declined"]} == {"irqbalance-off", "queues-per-cpu"}
    elsewhere = on(tree, "apply", "vhost-affinity")
    assert (elsewhere.code, elsewhere.out.splitlines()[0]) == (0, "Nothing can be done here: nothing was written.")


def test_what_is_not_about_the_interface_that_was_named_is_told(tree: Path) -> None:
    done = said(on(tree, "apply", "irqbalance-off", "--on", "eth0", "--json"))

    assert (done["result"], [one["policy"] for one in done["declined"]]) == ("declined", ["irqbalance-off"])


def test_status_tells_what_somebody_else_changed_and_rollback_leaves_it(tree: Path) -> None:
    on(tree, "apply", PINS)
    (tree / "proc/irq/35/smp_affinity_list").write_text("1\n")
    (tree / "proc/irq/36/smp_affinity_list").write_text("0-3\n")

    told = said(on(tree, "status", "--json"), "tuneagent.status/1")
    shown = on(tree, "status")
    undone = on(tree, "rollback")

    assert shown.code == 6
    assert shown.out.startswith("Drifted: 2 changes no longer as applied.\n")
    standings = {entry["target"]["irq"]: entry["standing"] for entry in told["transactions"][0]["entries"]}
    assert (standings[35], standings[36], told["drifted"]) == ("drifted", "back", True)
    assert undone.code == 0
    assert "7 changes given back, 1 left to whoever changed them since" in undone.out
    assert (tree / "proc/irq/35/smp_affinity_list").read_text() == "1\n"


def test_rollback_takes_the_latest_first_and_all_takes_the_rest(tree: Path, tmp_path: Path) -> None:
    before = contents(tree)
    on(tree, "apply", PINS)
    first = contents(tree)
    on(tree, "apply", "--plan", moving_on(tmp_path / "plan.json"))

    assert said(on(tree, "rollback", "--json"))["transactions"][0]["id"] == 2
    assert contents(tree) == first
    assert said(on(tree, "rollback", "--all", "--json"))["changed"] is True
    assert contents(tree) == before
    nothing = on(tree, "rollback")
    assert (nothing.code, nothing.out.splitlines()[0]) == (0, "Nothing to do: nothing stands.")


def moving_on(file: Path) -> Path:
    """A plan that moves interrupt 31 on to CPU 3."""
    target = {"bus_address": "0000:00:03.0", "mac": "52:54:00:12:34:56", "queue": 0, "queue_role": "input"}
    file.write_text(json.dumps({"changes": [{"kind": "irq-affinity", "target": target, "new": "3"}]}))
    return file


def test_print_shows_lines_that_give_it_back_and_writes_nothing(tree: Path) -> None:
    before = contents(tree)
    on(tree, "apply", PINS)
    applied = contents(tree)

    done = on(tree, "rollback", "--print")

    assert (done.code, done.err, contents(tree)) == (0, "", applied)
    script = done.out.replace("/proc/irq", f"{tree}/proc/irq")
    subprocess.run(["sh", "-e"], input=script, text=True, check=True)
    assert contents(tree) == before


def test_confirm_keeps_what_had_a_deadline(tree: Path) -> None:
    applied = on(tree, "apply", PINS, "--confirm-within", "3600")
    waiting = said(on(tree, "status", "--json"), "tuneagent.status/1")
    confirmed = said(on(tree, "confirm", "--json"))

    assert "unless it is confirmed within 3600 s" in applied.out.splitlines()[0]
    assert waiting["transactions"][0]["awaits_confirmation"] is True
    assert (confirmed["result"], confirmed["changed"]) == ("confirmed", False)
    again = on(tree, "confirm")
    assert (again.code, again.out.splitlines()[0]) == (0, "Nothing to do: no transaction waits to be confirmed.")
    assert on(tree, "rollback", "--due").out.startswith("Nothing to do: no undo is due.")
    assert pins(tree)[-1] == "3"


@pytest.mark.parametrize("command", ["confirm", "rollback"])
def test_no_guardian_waits_for_what_is_confirmed_or_given_back(tree: Path, command: str) -> None:
    assert process("apply", PINS, "--confirm-within", "3600", "--sysroot", tree).code == 0
    keeper = said(on(tree, "status", "--json"), "tuneagent.status/1")["transactions"][0]["deadline"]["keeper"]
    comm = Path(f"/proc/{keeper['pid']}/comm")
    assert comm.read_text() == "tuneagent-guard\n"

    assert on(tree, command).code == 0

    until(lambda: not comm.exists() or " (tuneagent-guard) Z" in comm.with_name("stat").read_text())


def test_a_guardian_that_is_another_process_by_now_is_left_alone(tree: Path) -> None:
    assert process("apply", PINS, "--confirm-within", "3600", "--sysroot", tree).code == 0
    (file,) = (tree / STATE).glob("*.journal")
    text = file.read_text()
    found = re.search(r'"keeper":\{"pid":(\d+),"start_ticks":(\d+)\}', text)
    assert found is not None
    file.write_text(text.replace(found[0], f'"keeper":{{"pid":{found[1]},"start_ticks":{int(found[2]) - 1}}}'))

    assert on(tree, "confirm").code == 0

    assert Path(f"/proc/{found[1]}/comm").read_text() == "tuneagent-guard\n"
    os.kill(int(found[1]), signal.SIGKILL)


def until(true: Callable[[], bool]) -> None:
    """Waits for another process, as long as the slowest machine may take."""
    for _ in range(600):
        if true():
            return
        time.sleep(0.05)
    pytest.fail("it did not happen within 30 s")


def test_without_confirmation_it_is_undone_at_its_deadline(tree: Path) -> None:
    before = contents(tree)

    done = process("apply", PINS, "--confirm-within", "1", "--sysroot", tree)

    assert done.code == 0
    until(lambda: contents(tree) == before)
    until(lambda: "not confirmed" in on(tree, "status", "1").out)
    late = on(tree, "confirm")
    assert (late.code, late.out.splitlines()[0]) == (1, "Too late: transaction 1 is undone already (not confirmed).")


def test_confirming_too_late_undoes_it_now(tree: Path) -> None:
    before = contents(tree)
    on(tree, "apply", PINS, "--confirm-within", "3600")
    overdue(tree)

    shown = on(tree, "status")
    late = on(tree, "confirm")

    assert (shown.code, late.code) == (6, 1)
    assert shown.out.startswith("Transaction 1 was not confirmed in time: run tuneagent rollback 1 ")
    assert late.out.startswith("Too late: transaction 1 was not confirmed in time and is undone now.")
    assert contents(tree) == before


def overdue(tree: Path) -> None:
    """Sets the deadline of the only journal into the past."""
    (file,) = (tree / STATE).glob("*.journal")
    text = re.sub(r'"at_boottime_ns": ?\d+', '"at_boottime_ns": 1', file.read_text())
    file.write_text(re.sub(r'"at_ns": ?\d+', '"at_ns": 1', text))


def interrupted(tree: Path) -> None:
    """Takes the commit away and makes another process the writer: it ended in the middle."""
    (file,) = (tree / STATE).glob("*.journal")
    lines = [line for line in file.read_text().splitlines() if '"commit"' not in line]
    file.write_text("\n".join(re.sub(r'"start_ticks": ?\d+', '"start_ticks": 1', line) for line in lines) + "\n")


def test_what_was_left_in_the_middle_is_told_and_undone_first(tree: Path) -> None:
    before = contents(tree)
    on(tree, "apply", PINS)
    interrupted(tree)

    shown = on(tree, "status")
    told = said(on(tree, "status", "--json"), "tuneagent.status/1")
    checked = said(on(tree, "apply", "irqbalance-off", "--json"))

    assert shown.code == 6
    assert shown.out.startswith("Transaction 1 interrupted: run tuneagent rollback 1 ")
    assert told["due"] == [1]
    assert [one["id"] for one in checked["recovered"]] == [1]
    assert checked["changed"] is True
    assert contents(tree) == before


def test_a_rollback_that_was_killed_in_the_middle_is_due(tree: Path) -> None:
    before = contents(tree)
    on(tree, "apply", PINS)
    on(tree, "rollback")
    (file,) = (tree / STATE).glob("*.journal")
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-3]))  # neither the last two that were given back nor its end were recorded
    pins_of_two = [tree / f"proc/irq/{number}/smp_affinity_list" for number in (31, 32)]
    for pin in pins_of_two:
        pin.write_text("0\n")

    shown = on(tree, "status")
    applied = said(on(tree, "apply", "irqbalance-off", "--json"))

    assert shown.code == 6
    assert shown.out.startswith("Transaction 1 interrupted: run tuneagent rollback 1 ")
    assert [(one["id"], one["undone_why"]) for one in applied["recovered"]] == [(1, "asked")]
    assert contents(tree) == before


def test_a_rollback_that_is_due_is_made_and_one_that_is_not_is_not(tree: Path) -> None:
    before = contents(tree)
    on(tree, "apply", PINS)
    assert on(tree, "rollback", "1", "--due").code == 0
    assert contents(tree) != before
    interrupted(tree)

    assert on(tree, "rollback", "1", "--due").code == 0
    assert contents(tree) == before


def test_a_damaged_journal_is_told_and_its_changes_can_be_printed(tree: Path) -> None:
    on(tree, "apply", PINS)
    (file,) = (tree / STATE).glob("*.journal")
    lines = file.read_text().splitlines()
    lines.insert(len(lines) - 2, '{"record": "\x1b[2J"}')
    file.write_text("\n".join(lines) + "\n")

    shown, undone, printed = on(tree, "status"), on(tree, "rollback"), on(tree, "rollback", "--print")

    assert (shown.code, undone.code, printed.code) == (6, 1, 0)
    assert shown.out.startswith("A journal is damaged")
    assert "\x1b" not in shown.out + undone.out + printed.out
    assert printed.out.count("echo 0-3 > ") == 8
    assert said(on(tree, "status", "--json"), "tuneagent.status/1")["damaged"] is True


def test_a_journal_that_cannot_be_read_is_told_and_keeps_no_other_from_being_given_back(tree: Path) -> None:
    before = contents(tree)
    on(tree, "apply", PINS)
    (tree / STATE / "00000002.journal").symlink_to("00000001.journal")

    shown, undone = on(tree, "status"), on(tree, "rollback", "--all")

    assert (shown.code, undone.code) == (6, 1)
    assert shown.out.startswith("A journal is damaged")
    assert said(on(tree, "status", "--json"), "tuneagent.status/1")["due"] == []
    assert "00000002.journal: not a regular file of its own" in undone.out
    assert contents(tree) == before


def test_a_damaged_journal_does_not_hide_what_stands_before_it(tree: Path) -> None:
    before = contents(tree)
    on(tree, "apply", PINS)
    (tree / STATE / "00000002.journal").symlink_to("00000001.journal")

    undone, again = on(tree, "rollback"), on(tree, "rollback")

    assert (undone.code, again.code) == (1, 1)  # the second is as it was
    assert "00000002.journal: not a regular file of its own" in undone.out
    assert undone.out.startswith("Not all could be undone: ")
    assert undone.out.count("  given back") == 8
    assert contents(tree) == before


def test_hundreds_that_were_given_back_are_named_and_not_looked_at(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on(tree, "apply", PINS)
    on(tree, "rollback")
    closed = (tree / STATE / "00000001.journal").read_bytes()
    for number in range(2, 201):
        (tree / STATE / f"{number:08d}.journal").write_bytes(closed)
    on(tree, "apply", PINS)  # keeps two hundred, its own among them
    read: list[int] = []

    def counted(data: bytes, number: int, known: Known | None = None) -> tuple[Telling, ParseError | None]:
        read.append(number)
        return tell(data, number, known)

    monkeypatch.setattr("tuneagent.apply.journal.tell", counted)

    shown, undone = on(tree, "status"), on(tree, "rollback", "--due")

    assert shown.out.startswith("As applied: ")
    assert "Transactions 193, 194, 195, 196, 197, 198, 199, 200 and 191 before: nothing of it stands" in shown.out
    assert undone.out.startswith("Nothing to do")
    assert read == [201, 201]
    assert len(said(on(tree, "status", "--json"), "tuneagent.status/1")["transactions"]) == 200


def test_who_came_in_through_the_interface_is_told(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(way_in.VARIABLE, "192.0.2.1 40000 192.0.2.9 22")
    held = {"192.0.2.9": frozenset({"br0", "eth0"})}
    monkeypatch.setattr(way_in, "interfaces", held.__getitem__)
    site = Site(Place(tree, None), Sysroot(str(tree)))
    nic = Target(bus_address=trees.PCI, mac=trees.MAC)
    changes = [Change(kind, nic, "", None, "2", "", "", None) for kind in (TunableKind.CHANNELS, TunableKind.XPS_CPUS)]

    through = [site.on_way_in([PlannedChange("", "eth0", one)]) for one in changes]

    assert through == [("eth0",), ()]
    (kept,), (warned,) = apply_run.way_in_notes(("eth0",), 60.0), apply_run.way_in_notes(("eth0",), None)
    assert "through eth0, whose link drops" in kept
    assert ("after 60 s" in kept, "--confirm-within 60" in warned) == (True, True)
    assert apply_run.way_in_notes((), None) == ()


SLOW = """
import sys, time
from tuneagent.app.main import run
from tuneagent.apply.irq_affinity import IrqAffinity

write = IrqAffinity.write

def slow(*given):
    IrqAffinity.write = write
    write(*given)
    time.sleep(60)

IrqAffinity.write = slow
sys.exit(run(["apply", "pin-queue-interrupts", "--sysroot", sys.argv[1]]))
"""
"""An apply that stops after its first write."""


def stopped(tree: Path) -> subprocess.Popen[str]:
    """An apply between its first and its second write."""
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(tree)], env=environment(), stderr=subprocess.PIPE, text=True
    )
    until(lambda: pins(tree)[0] == "0")
    return child


def test_a_killed_apply_is_undone_by_its_guardian(tree: Path) -> None:
    before = contents(tree)
    child = stopped(tree)

    child.kill()
    child.communicate(timeout=60)

    until(lambda: contents(tree) == before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_apply_gives_everything_back(tree: Path, number: signal.Signals) -> None:
    before = contents(tree)
    child = stopped(tree)

    child.send_signal(number)
    _, err = child.communicate(timeout=60)

    assert (child.returncode, err) == (128 + number, f"interrupted by {number.name}; all was given back\n")
    assert contents(tree) == before


def test_a_second_writer_is_told_who_writes(tree: Path) -> None:
    child = stopped(tree)

    second = on(tree, "apply", PINS)
    child.kill()
    child.communicate(timeout=60)

    assert second.code == 1
    assert f"process {child.pid} is changing this machine" in second.err
    assert second.out == ""


@pytest.mark.parametrize("command", ["status", "rollback", "confirm"])
def test_what_undoes_and_tells_needs_no_policy_and_no_terminal(tree: Path, command: str) -> None:
    on(tree, "apply", PINS)

    loaded = modules_loaded_by(command, "--sysroot", str(tree))

    assert not {"pydantic", "rich", "yaml", "tuneagent.plan", "tuneagent.diagnose"} & loaded


def test_a_directory_that_others_may_write_is_refused(tree: Path) -> None:
    on(tree, "apply", PINS)
    (tree / STATE).chmod(0o777)

    for command in (["apply", PINS], ["status"], ["rollback"], ["confirm"]):
        done = on(tree, *command)
        assert (done.code, done.out) == (4, "")
        assert "others than its owner may write it" in done.err


def journal_without_changes(tree: Path) -> None:
    """An apply that ended before it had announced its first change."""
    on(tree, "apply", PINS)
    on(tree, "rollback")
    (file,) = (tree / STATE).glob("*.journal")
    begin = file.read_text().splitlines()[0]
    file.write_text(re.sub(r'"start_ticks": ?\d+', '"start_ticks": 1', begin) + "\n")


def test_what_ended_before_its_first_change_leaves_nothing_to_give_back(tree: Path) -> None:
    journal_without_changes(tree)

    shown, one, undone = on(tree, "status"), on(tree, "status", "1"), on(tree, "rollback", "1")

    assert (shown.code, one.code, undone.code) == (0, 0, 0)
    assert "INTERRUPTED" not in shown.out
    assert "Transaction 1: ended before its first change" in one.out
    assert undone.out.startswith("Nothing to do: nothing of transaction 1 stands.")
    assert said(on(tree, "status", "--json"), "tuneagent.status/1")["due"] == []


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_reader_that_went_away_changes_no_exit_code(tree: Path, form: list[str]) -> None:
    for command in (["apply", PINS], ["rollback"]):
        reading, writing = os.pipe()
        os.close(reading)
        done = process(*command, *form, "--sysroot", tree, stdout=writing)
        os.close(writing)
        assert (done.code, done.err) == (0, "")


def test_a_report_that_cannot_be_written_does_not_say_that_all_was_given_back(tree: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = process("apply", PINS, "--sysroot", tree, stdout=full)

    assert done.code == 0
    assert done.err.startswith("tuneagent: applied, but the report cannot be written: No space left on device")
    assert pins(tree)[-1] == "3"


UNREAD = """
import sys
from tuneagent.app import told
from tuneagent.app.main import run

def held(*_, **__):
    print("telling", flush=True)
    sys.stdin.read()

told.tell = held
sys.exit(run(["apply", "pin-queue-interrupts", "--sysroot", sys.argv[1]]))
"""
"""An apply whose report nobody reads."""


def unread(tree: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", UNREAD, str(tree)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "telling\n"
    return child


def test_who_does_not_read_the_report_keeps_nobody_from_undoing(tree: Path) -> None:
    before = contents(tree)
    child = unread(tree)

    undone = on(tree, "rollback")
    child.communicate(timeout=60)

    assert (undone.code, contents(tree)) == (0, before)


def test_an_interrupt_while_it_tells_does_not_say_that_nothing_was_changed(tree: Path) -> None:
    child = unread(tree)

    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)

    assert (child.returncode, err) == (130, "interrupted; `tuneagent status` tells what stands\n")
    assert pins(tree)[-1] == "3"


def test_without_a_process_that_watches_nothing_is_applied(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    before = contents(tree)
    monkeypatch.setattr("tuneagent.app.watch.Guardian", no_more)

    done = on(tree, "apply", PINS)
    shown = on(tree, "status", "1")

    assert (done.code, contents(tree)) == (1, before)
    assert "no process can be started that undoes it if this one is killed: Resource temporarily" in done.out
    assert (shown.code, "undone (failed: no process can be started" in shown.out) == (0, True)
