"""That a tuning on a hypervisor is about one virtual machine, which is said before anything is tried."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest

from tests import make_hypervisor as made
from tuneagent.app.applying import Ask
from tuneagent.app.tuning_scope import asked, check_is_about_one
from tuneagent.model.identity import Role
from tuneagent.model.plan import Advice
from tuneagent.model.policy import Disruption
from tuneagent.model.view import View

SECOND = "0c7f9d0e-1111-4222-8333-444455556666"


def named(*domains: str) -> Ask:
    return Ask(policies=(), nics=(), domains=domains, live=True, directories=(), connect=(), in_container=False)


def advice(subject: str) -> Advice:
    return Advice("vhost-affinity", "", "", subject, (), Role.HYPERVISOR, (), Disruption.NONE, (), (), (), "")


def two() -> View:
    definition = made.domain(uuid=SECOND, name="db1", interfaces=(made.domain_interface(mac="52:54:00:00:00:99"),))
    return made.host_view(made.domain_view(), made.domain_view(key=SECOND, name="db1", definition=definition))


def subjects(view: View) -> list[str]:
    assert view.hypervisor is not None
    return [one.subject for one in view.hypervisor.domains]


def test_advice_for_two_is_refused_and_both_are_named() -> None:
    view = two()
    with pytest.raises(click.UsageError, match=r"name it by --domain \(web1, db1\); nothing was changed"):
        check_is_about_one([advice(one) for one in subjects(view)], view, named())


def test_one_of_two_is_enough() -> None:
    view = two()
    every = [advice(one) for one in subjects(view)]
    check_is_about_one(every, view, named("db1"))
    check_is_about_one(every[:1], view, named())
    check_is_about_one([], view, named())
    assert [asked(one, view, named("db1")) is None for one in every] == [True, False]


def test_of_many_a_few_are_named() -> None:
    many = [made.domain_view(key=f"{n:036}", name=f"vm{n}", definition=None) for n in range(100)]
    view = made.host_view(*many)
    with pytest.raises(click.UsageError, match=r"\(vm0, vm1, vm2, vm3, vm4, vm5, …\)"):
        check_is_about_one([replace(advice(one.subject), policy="p") for one in many], view, named())
