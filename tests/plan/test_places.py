from __future__ import annotations

from dataclasses import replace

from tests import make_hypervisor as host
from tests.plan.hypervisors import interface, web1
from tuneagent.plan.places import places

OTHER = "22222222-2222-3333-4444-555555555555"


def test_subjects_are_found_as_the_view_finds_them() -> None:
    view = host.hypervisor_view(
        web1(interface(), interface(position=1, mac="52:54:00:00:00:77", target=None)),
        web1(interface(target="vnet9"), key=OTHER, name="db 1"),
    )
    known = places(view)
    assert set(known) == {
        "domain web1",
        "domain web1 vnet0",
        "domain web1 52:54:00:00:00:77",
        "domain db 1",
        "domain db 1 vnet9",
    }
    assert {name: (place.domain, place.interface) for name, place in known.items()} == {
        name: view.of_subject(name) for name in known
    }


def test_two_of_one_name_are_not_told_apart() -> None:
    known = places(host.hypervisor_view(web1(), replace(web1(interface(target="vnet1")), key=OTHER)))
    assert known["domain web1"].ambiguous
    assert not known["domain web1 vnet0"].ambiguous
    assert known["domain web1 vnet1"].domain.key == OTHER


def test_no_hypervisor_no_places() -> None:
    assert places(None) == {}
