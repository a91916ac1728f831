"""The file byte for byte, whatever others do to it, and the restart that makes it count."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from tests.apply.irqbalance_machine import TARGET, Processes, machine, process
from tests.machine.systemctl import Systemctl
from tuneagent.apply.actuator import Place, Refusal, Why
from tuneagent.apply.irqbalance_ban_file import IrqbalanceBanFile
from tuneagent.machine.source import Process
from tuneagent.machine.writable import NEW, WritableRoot
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect
from tuneagent.observe import irqbalance
from tuneagent.parse.irqbalance_env import parse

KIND = TunableKind.IRQBALANCE_BAN
PATH = "/etc/default/irqbalance"
UNIT = "irqbalance.service"
REST = b"# OPTIONS=\"--banirq=9\"\r\n\xffOTHER='1 2'\n"
OWN = "--banirq=31 --banirq=32"


class Tree:
    """A tree with irqbalance's file."""

    def __init__(self, root: Path, content: bytes, path: str = PATH) -> None:
        self.root, self.file = root, root / path[1:]
        self.file.parent.mkdir(parents=True)
        self.file.write_bytes(content)
        self.ban = IrqbalanceBanFile(machine(Processes((), str(root)), str(root)))

    def place(self, target: Target = TARGET) -> Place:
        return self.ban.locate(KIND, target)

    def of_another_nic(self) -> Place:
        return self.place(replace(TARGET, bus_address="0000:00:04.0", parameter="OPTIONS=71,72"))


def done(tree: Tree, place: Place, value: str) -> str:
    """Writes it as a transaction does; gives the old value."""
    old = tree.ban.read(place)
    assert tree.ban.check(place, value) is None
    assert not tree.ban.same(old, value)
    tree.ban.write(place, value)
    assert tree.ban.same(tree.ban.read(place), value)
    assert not tree.ban.same(tree.ban.read(place), old)
    return old


LINES = [
    ('OPTIONS="--debug"', f'OPTIONS="--debug {OWN}"'),
    ("OPTIONS='-t 5' \t", f"OPTIONS='-t 5 {OWN}' \t"),
    ('OPTIONS=" "', f'OPTIONS="{OWN}"'),
    ("OPTIONS=", f'OPTIONS="{OWN}"'),
    ("OPTIONS=--debug  ", f'OPTIONS="--debug {OWN}"'),
    ("OPTIONS=-t 5", f'OPTIONS="-t 5 {OWN}"'),
]


@pytest.mark.parametrize(("line", "new"), LINES)
@pytest.mark.parametrize("end", [b"\n", b"\r\n# last\r\n", b"", b"\nLAST=1"])
def test_there_and_back_byte_for_byte(tmp_path: Path, line: str, new: str, end: bytes) -> None:
    if end.startswith(b"\r"):
        end = b"\n" + end[2:]
    before = REST.replace(b"\xff", b"") + line.encode() + end
    tree = Tree(tmp_path, before)
    tree.file.chmod(0o640)
    place = tree.place()
    old = done(tree, place, new)
    assert tree.file.read_bytes() == REST.replace(b"\xff", b"") + new.encode() + end
    tree.ban.write(place, old)
    assert tree.ban.same(tree.ban.read(place), old)
    assert tree.file.read_bytes() == before
    assert tree.file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(("path", "key"), [(PATH, "IRQBALANCE_ARGS"), ("/etc/conf.d/irqbalance", "IRQBALANCE_OPTS")])
def test_a_line_that_was_not_there_goes_again(tmp_path: Path, path: str, key: str) -> None:
    tree = Tree(tmp_path, b"# none\n", path)
    place = tree.place()
    assert place.target.parameter == f"{key}=31,32,33,34,35,36,37,38"
    old = done(tree, place, f'{key}="{OWN}"')
    assert tree.file.read_bytes() == f'# none\n{key}="{OWN}"\n'.encode()
    with tree.file.open("ab") as file:
        file.write(b"X=1\n")
    tree.ban.write(place, old)
    assert tree.file.read_bytes() == b"# none\nX=1\n"


def test_what_others_added_to_the_line_stays(tmp_path: Path) -> None:
    tree = Tree(tmp_path, b'OPTIONS="--debug"\n')
    place = tree.place()
    old = done(tree, place, f'OPTIONS="--debug {OWN}"')
    tree.file.write_bytes(f'A=1\nOPTIONS="-t 5 {OWN} --banirq=99 --banirq=310"\nB=2\n'.encode())
    assert tree.ban.same(tree.ban.read(place), f'OPTIONS="--debug {OWN}"'), "it is still ours"
    tree.ban.write(place, old)
    assert tree.file.read_bytes() == b'A=1\nOPTIONS="-t 5 --banirq=99 --banirq=310"\nB=2\n'


def test_somebody_who_takes_one_ban_away_has_changed_it(tmp_path: Path) -> None:
    tree = Tree(tmp_path, b"OPTIONS=--debug\n")
    place = tree.place()
    new = f'OPTIONS="--debug {OWN}"'
    old = done(tree, place, new)
    tree.file.write_bytes(b'OPTIONS="--debug --banirq=32"\n')
    now = tree.ban.read(place)
    assert now == 'OPTIONS="--debug --banirq=32" # bans 32 of 31,32,33,34,35,36,37,38'
    assert not tree.ban.same(now, new)
    assert not tree.ban.same(now, old)


@pytest.mark.parametrize("line", ['OPTIONS="--debug"', "OPTIONS=--debug", ""])
@pytest.mark.parametrize("later_first", [True, False])
def test_two_nics_planned_at_once_in_one_file(tmp_path: Path, line: str, *, later_first: bool) -> None:
    before = f"A=1\n{line}\n".encode() if line else b"OTHER=1\n"
    tree = Tree(tmp_path, before)
    given = parse(before.decode(), "").options
    first, second = tree.place(replace(TARGET, parameter="OPTIONS=31,32")), tree.of_another_nic()
    debug = "--debug " if line else ""
    news = {first.where: "", "first": f'OPTIONS="{debug}{OWN}"', "second": f'OPTIONS="{debug}--banirq=71"'}
    olds = [tree.ban.read(first), tree.ban.read(second)]
    tree.ban.write(first, news["first"])
    tree.ban.write(second, news["second"])
    assert tree.ban.same(tree.ban.read(first), news["first"])
    assert tree.ban.same(tree.ban.read(second), news["second"])
    assert parse(tree.file.read_text(), "").options == (*given, *OWN.split(), "--banirq=71")
    undone = [(second, olds[1]), (first, olds[0])]
    for place, old in undone if later_first else undone[::-1]:
        tree.ban.write(place, old)
        assert tree.ban.same(tree.ban.read(place), old)
    assert tree.file.read_bytes() == before


def test_after_a_reboot_the_numbers_of_then_are_meant(tmp_path: Path) -> None:
    tree = Tree(tmp_path, f'OPTIONS="{OWN} --banirq=131"\n'.encode())
    then = replace(TARGET, parameter="OPTIONS=31,32", interface="gone")
    place = tree.place(then)
    assert place.target == then
    tree.ban.write(place, 'OPTIONS="" # bans none of 31,32')
    assert tree.file.read_bytes() == b'OPTIONS="--banirq=131"\n'


@pytest.mark.parametrize(
    "content", [b'export OPTIONS="-d"\n', b'OPTIONS="-d" # mine\n', b'OPTIONS="-d"\r\n', b"OPTIONS=-d\nOPTIONS=-d\n"]
)
def test_a_file_that_only_a_hand_can_edit_is_left(tmp_path: Path, content: bytes) -> None:
    tree = Tree(tmp_path, content)
    with pytest.raises(Refusal, match="only a hand can edit"):
        tree.ban.read(tree.place())
    assert tree.file.read_bytes() == content


def test_what_must_not_be_written(tmp_path: Path) -> None:
    tree = Tree(tmp_path, b"OPTIONS=\n")
    place = tree.place()
    for value in (
        "rm -rf /",
        'OPTIONS="-d"\nX=1',
        "OTHER=1",
        'OPTIONS="$(id)"',
        'export OPTIONS="-d"',
        "OPTIONS=" + "a" * 70_000,
    ):
        assert tree.ban.check(place, value), value
    assert tree.ban.check(place, "") is None


def test_no_file_and_one_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        IrqbalanceBanFile(machine(Processes((), str(tmp_path)), str(tmp_path))).locate(KIND, TARGET)
    assert caught.value.why is Why.GONE

    class ReadOnly(WritableRoot):
        def replace(self, path: str, data: bytes) -> None:
            assert data
            raise OSError(errno.EROFS, "Read-only file system", path)

    tree = Tree(tmp_path, b"OPTIONS=\n")
    sealed = IrqbalanceBanFile(replace(machine(Processes((), str(tmp_path))), files=ReadOnly(str(tmp_path))))
    with pytest.raises(Refusal, match="Read-only file system") as caught:
        sealed.write(tree.place(), f'OPTIONS="{OWN}"')
    assert caught.value.why is Why.FORBIDDEN


class Here(WritableRoot):
    """Files of a tree that says it is the running machine."""

    @property
    def live(self) -> bool:
        return True


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemctl:
    return Systemctl.instead(tmp_path, monkeypatch)


def running(tree: Tree, *found: Process) -> IrqbalanceBanFile:
    return IrqbalanceBanFile(replace(machine(Processes(found, str(tree.root))), files=Here(str(tree.root))))


def test_it_is_restarted_where_systemd_runs_it(tmp_path: Path, systemctl: Systemctl) -> None:
    tree = Tree(tmp_path, b"OPTIONS=\n")
    ban = running(tree)
    for state, starts in (("inactive", ""), ("active", "1")):
        systemctl.unit(UNIT, state)
        ban.write(tree.place(), f'OPTIONS="{OWN}"' if state == "active" else 'OPTIONS="--banirq=31"')
        assert systemctl.told(UNIT, "Starts") == starts
    systemctl.unit(UNIT, "active", Says="Job failed")
    with pytest.raises(Refusal, match="Job failed"):
        ban.write(tree.place(), "OPTIONS=")


def test_an_end_between_the_file_and_the_restart_is_made_good(tmp_path: Path, systemctl: Systemctl) -> None:
    tree = Tree(tmp_path, b'OPTIONS="--banirq=32"\n')
    systemctl.unit(UNIT, "active")
    half = tree.file.with_name(tree.file.name + NEW)
    half.write_bytes(b"OPT")
    running(tree, process(4711, "--banirq=32", "--banirq=99")).settle(tree.place())
    assert not half.exists()
    assert systemctl.told(UNIT, "Starts") == ""
    running(tree, process(4711, *OWN.split())).settle(tree.place())
    assert systemctl.told(UNIT, "Starts") == "1"


def test_the_effect_is_the_command_line_of_the_process(tmp_path: Path, systemctl: Systemctl) -> None:
    tree = Tree(tmp_path, b"OPTIONS=\n")
    systemctl.unit(UNIT, "active")
    place, new = tree.place(), f'OPTIONS="{OWN}"'
    assert running(tree, process(5, *OWN.split())).effect(place, new, None).effect is Effect.VERIFIED
    assert running(tree).effect(place, new, None).effect is Effect.NOT_YET
    other = running(tree, process(5, "--banirq=31")).effect(place, new, None)
    assert (other.effect, f"systemctl cat {irqbalance.UNIT}" in other.detail) == (Effect.CONTRADICTED, True)
    systemctl.unit(UNIT, "inactive")
    assert running(tree, process(5)).effect(place, new, None).effect is Effect.NOT_YET
    assert tree.ban.effect(place, new, None).effect is Effect.NOT_YET
