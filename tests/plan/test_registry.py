from __future__ import annotations

import pkgutil

from tuneagent import plan
from tuneagent.model.policy import Action
from tuneagent.plan.registry import OF_ANY_NIC, OF_THE_MACHINE, SOLVERS, solver_of

NO_SOLVERS = {
    "conflicts",
    "domain_interface",
    "fault",
    "host_cpus",
    "irqbalance_edit",
    "kvm_parameter",
    "mover",
    "placement",
    "places",
    "policy_load",
    "policy_scalar",
    "policy_schema",
    "policy_yaml",
    "questions",
    "queue_homes",
    "registry",
    "scope",
    "situation",
    "solve",
    "sweepable",
}


def test_every_action_has_one_solver() -> None:
    assert sorted(action for action, _ in SOLVERS) == sorted(Action)
    assert all(solver_of(action) is solver for action, solver in SOLVERS)


def test_every_module_is_registered_under_its_actions_name() -> None:
    modules = {name for _, name, _ in pkgutil.iter_modules(plan.__path__)}
    assert modules - NO_SOLVERS == {action.value.replace("-", "_") for action in Action}
    for action, solver in SOLVERS:
        assert solver.__module__ == f"tuneagent.plan.{action.value.replace('-', '_')}"


def test_the_two_kinds_of_subject_do_not_meet() -> None:
    assert not OF_THE_MACHINE & OF_ANY_NIC
