from __future__ import annotations

import pytest

from tests.plan import hypervisors
from tests.plan.hypervisors import interface, on, web1


@pytest.mark.parametrize(
    ("vcpus", "queues", "wanted"),
    [(4, None, "4"), (4, 2, "4"), (16, 2, "8"), (3, 5, "3"), (12, 16, "12"), (1, 4, "1")],
)
def test_as_many_as_vcpus_within_reason(vcpus: int, queues: int | None, wanted: str) -> None:
    change = hypervisors.change(on(web1(interface(queues=queues), vcpus=vcpus), "few"))
    assert (change.old, change.new) == (str(queues or 1), wanted)
    assert f"queues='{wanted}'" in "".join(change.diff)


@pytest.mark.parametrize(("vcpus", "queues"), [(1, None), (2, 2), (16, 8), (16, 12)])
def test_enough_is_enough(vcpus: int, queues: int | None) -> None:
    assert "already so" in hypervisors.reason(on(web1(interface(queues=queues), vcpus=vcpus), "few"))


def test_what_the_guest_does_is_said() -> None:
    notes = "\n".join(hypervisors.only(on(web1(interface(queues=1)), "few")).notes)
    assert "min" in notes or "smaller" in notes
    assert "cold start" in notes


@pytest.mark.parametrize(("kind", "word"), [("vdpa", "vDPA"), ("user", "one queue pair"), ("hostdev", "no virtio-net")])
def test_where_queues_are_not_the_definitions(kind: str, word: str) -> None:
    assert word in hypervisors.reason(on(web1(interface(type=kind, queues=1)), "few"))


def test_the_other_end_of_a_socket_must_agree() -> None:
    notes = hypervisors.only(on(web1(interface(type="vhostuser", queues=1)), "few")).notes
    assert any("other end" in note for note in notes)


def test_unknown_vcpus() -> None:
    assert "vCPUs" in hypervisors.reason(on(web1(interface(queues=1), vcpus=None), "few"))
