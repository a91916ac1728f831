"""The actuators that there are."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

from tests.apply.machines import machine
from tuneagent import apply
from tuneagent.apply.actuator import Defaults
from tuneagent.apply.registry import actuators, class_of
from tuneagent.model.plan import ORDER, TunableKind


def test_each_kind_has_the_actuator_that_changes_it(tmp_path: Path) -> None:
    made = actuators(machine(tmp_path))
    assert tuple(made) == ORDER
    assert len(made) == len(ORDER)
    assert all(kind in one.kinds for kind, one in made.items())
    assert made[TunableKind.XPS_CPUS] is made[TunableKind.RPS_CPUS]


def test_no_actuator_has_a_kind_that_another_is_asked_for(tmp_path: Path) -> None:
    made = actuators(machine(tmp_path))
    assert {kind: type(made[kind]) for kind in ORDER} == {
        kind: type(one) for one in made.values() for kind in one.kinds
    }


def test_every_actuator_is_registered() -> None:
    modules = [
        importlib.import_module(f"tuneagent.apply.{name}") for _, name, _ in pkgutil.iter_modules(apply.__path__)
    ]
    there: set[object] = {
        one
        for module in modules
        for _, one in inspect.getmembers(module, inspect.isclass)
        if issubclass(one, Defaults) and "kinds" in vars(one)
    }
    assert there == {class_of(kind) for kind in ORDER}
