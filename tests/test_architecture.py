"""Who may import whom, held against the code itself; registries held against the modules that there are."""

from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tuneagent
from tuneagent import observe
from tuneagent.app.policy_files import rule_names
from tuneagent.diagnose import NAMES
from tuneagent.model.policy import Action
from tuneagent.observe import whole
from tuneagent.plan import registry

ROOT = Path(tuneagent.__file__).parent
MAY_IMPORT = {
    "model": {"model"},
    "parse": {"parse", "model"},
    "machine": {"machine", "model", "parse"},
    "observe": {"observe", "machine", "parse", "model"},
    "contention": {"contention", "model"},
    # A view is whole when rates has made it: whoever compares two samples need not think of its record of waits.
    "rates": {"rates", "contention", "model"},
    "profile": {"profile", "model"},
    "join": {"join", "model"},
    "diagnose": {"diagnose", "model"},
    # An element that is written back is edited by the code that the undo edits it with.
    "plan": {"plan", "parse", "model"},
    "report": {"report", "model"},
    # A target is looked up again by those who know how to look: apply reads through the observers, and writes itself.
    "apply": {"apply", "machine", "observe", "parse", "model"},
    "load": {"load", "model"},
    # It is handed what switches, waits and measures: a trial's logic is tried without a machine.
    "measure": {"measure", "model"},
    "record": {"record", "model"},
    "app": {
        "app",
        "apply",
        "contention",
        "diagnose",
        "join",
        "load",
        "machine",
        "measure",
        "model",
        "observe",
        "parse",
        "plan",
        "profile",
        "rates",
        "record",
        "report",
    },
}
"""Package → packages of ours that it may import. The root package (the version) is everybody's."""
OBSERVERS_SEE = {"tuneagent.machine.source"}
"""Of machine/, observers see the protocol alone: what they are given decides whether it is this machine or a file."""
WRITES = {"app/writing.py"}
"""What is given the writing side of the machine; the commands that write go through it."""
WRITING_SIDE = (
    "tuneagent.apply",
    "tuneagent.machine.writable",
    "tuneagent.machine.libvirt_writing",
    "tuneagent.machine.thread_affinity",
)
TOUCHES_THE_MACHINE = {"machine", "app", "load", "record"}
"""load/ is sockets, clocks and processes; record/ is one database file."""
BANNED_CALLS = {"open", "exec", "eval", "input", "print"}
BANNED_MODULES = {"os", "socket", "subprocess", "time", "pathlib", "sqlite3", "shutil", "tempfile", "fcntl", "ctypes"}


def _modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def _package(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", _modules(), ids=_name)
def test_imports_follow_the_table(path: Path) -> None:
    package = _package(path)
    if package == "__init__":
        return
    if package == "__main__":
        package = "app"  # another door to the same command
    ours = {name.split(".")[1] for name in _imports(path) if name.startswith("tuneagent.")}
    assert ours - {"__version__"} <= MAY_IMPORT[package]


@pytest.mark.parametrize("path", [path for path in _modules() if _package(path) == "observe"], ids=_name)
def test_observers_see_the_protocol_of_a_source_only(path: Path) -> None:
    machine = {name for name in _imports(path) if name.startswith("tuneagent.machine.")}
    assert all(any(name == seen or name.startswith(seen + ".") for seen in OBSERVERS_SEE) for name in machine)


@pytest.mark.parametrize(
    "path", [path for path in _modules() if _package(path) not in TOUCHES_THE_MACHINE | {"__init__"}], ids=_name
)
def test_only_the_door_touches_the_machine(path: Path) -> None:
    assert not BANNED_MODULES & {name.split(".")[0] for name in _imports(path)}
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not BANNED_CALLS & calls


@pytest.mark.parametrize("path", [path for path in _modules() if _package(path) != "apply"], ids=_name)
def test_only_commands_that_write_are_given_the_writing_side(path: Path) -> None:
    # Advice cannot write: not by a flag that somebody may get wrong, but because nothing that writes is in reach.
    reached = [name for name in _imports(path) if name.startswith(WRITING_SIDE)]
    assert not reached or _name(path) in WRITES


@pytest.mark.parametrize("path", _modules(), ids=_name)
def test_paths_of_the_machine_are_not_spelt_where_nothing_is_read(path: Path) -> None:
    if _package(path) not in {"model", "parse"}:
        return
    code = ast.parse(path.read_text())
    documented = {id(node.value) for node in ast.walk(code) if isinstance(node, ast.Expr)}
    spelt = [
        node.value
        for node in ast.walk(code)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documented
        and re.match(r"/(proc|sys)/", node.value)
    ]
    assert not spelt


def test_every_package_has_its_row() -> None:
    there = {path.name for path in ROOT.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert there == set(MAY_IMPORT)


def test_every_collector_is_registered() -> None:
    modules = {name for _, name, _ in pkgutil.iter_modules(observe.__path__)}
    assert {module.__name__.rsplit(".", 1)[1] for module in whole.COLLECTORS} == modules - {"gaps", "whole"}


def test_every_rule_is_registered_and_has_its_page() -> None:
    pages = {path.stem for path in (ROOT / "diagnose" / "pages").glob("*.md")}
    assert pages == set(NAMES) == rule_names()
    judging = {path.stem for path in (ROOT / "diagnose").glob("*.py") if "def judge" in path.read_text()}
    assert judging == {name.replace("-", "_") for name in rule_names()}


def test_every_action_has_a_solver() -> None:
    assert {action for action, _ in registry.SOLVERS} == set(Action)
    solving = {path.stem for path in (ROOT / "plan").glob("*.py") if "\ndef solve(" in path.read_text()}
    assert solving == {action.value.replace("-", "_") for action in Action}
