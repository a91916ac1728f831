from __future__ import annotations

from dataclasses import replace

from tests import make_hypervisor as make
from tuneagent.model.domain import Domain, DomainInterface

RUNNING = make.domain_interface(queues=2)


def with_stored(*stored: DomainInterface) -> Domain:
    return make.domain(interfaces=(RUNNING,), pending=make.domain(interfaces=stored))


def test_the_stored_interface_has_the_same_mac() -> None:
    stored = replace(RUNNING, queues=4)
    assert with_stored(replace(stored, mac="52:54:00:99:88:77"), stored).stored_interface(RUNNING) is stored


def test_of_two_with_one_mac_the_address_tells() -> None:
    here, there = replace(RUNNING, queues=4), replace(RUNNING, queues=8, address="0000:00:09.0")
    assert with_stored(there, here).stored_interface(RUNNING) is here
    assert with_stored(here, replace(there, address=here.address)).stored_interface(RUNNING) is None


def test_another_virtio_model_is_the_same_interface_and_another_device_is_none() -> None:
    transitional = replace(RUNNING, model="virtio-transitional")
    assert with_stored(transitional).stored_interface(RUNNING) is transitional
    assert with_stored(replace(RUNNING, model="e1000e")).stored_interface(RUNNING) is None


def test_what_is_stored_as_it_runs_has_no_other() -> None:
    assert make.domain(interfaces=(RUNNING,)).stored_interface(RUNNING) is None
