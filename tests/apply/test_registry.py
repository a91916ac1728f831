"""The actuators that there are."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

from tests.apply.machines import machine
from tuneagent import apply
from tuneagent.apply.actuator import Defaults
from tuneagent.apply.registry import ACTUATORS, actuators


def test_no_kind_is_two_actuators(tmp_path: Path) -> None:
    kinds = [kind for one in ACTUATORS for kind in one.kinds]
    assert len(set(kinds)) == len(kinds)
    made = actuators(machine(tmp_path))
    assert set(made) == set(kinds)
    assert all(kind in one.kinds for kind, one in made.items())


def test_every_actuator_is_registered() -> None:
    modules = [
        importlib.import_module(f"tuneagent.apply.{name}") for _, name, _ in pkgutil.iter_modules(apply.__path__)
    ]
    there = {
        one
        for module in modules
        for _, one in inspect.getmembers(module, inspect.isclass)
        if issubclass(one, Defaults) and "kinds" in vars(one)
    }
    assert there == set(ACTUATORS)
