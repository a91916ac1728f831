from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import make_hypervisor as make
from tests.plan import build, hypervisors
from tests.plan.hypervisors import VNET0, interface, on, web1
from tuneagent.model.plan import Plan


def test_qemu_becomes_vhost() -> None:
    change = hypervisors.change(on(web1(interface(driver_name="qemu")), "absent"))
    assert (change.old, change.new) == ("qemu", "vhost")
    assert "+   <driver name='vhost' queues='2'/>" in change.diff


def without_module(one: dict[str, Any]) -> Plan:
    host = make.host(hypervisor=make.hypervisor(parameters={}))
    view = make.host_view(web1(interface(**one)), after=host)
    return hypervisors.of(view, build.finding("absent", VNET0))


def test_without_the_module_the_domain_would_not_start() -> None:
    assert "modprobe vhost_net" in "\n".join(hypervisors.only(without_module({"driver_name": "qemu"})).notes)


def test_a_definition_that_allows_vhost_lacks_the_module_only() -> None:
    assert "modprobe vhost_net" in hypervisors.reason(without_module({"driver_name": None}))


@pytest.mark.parametrize("name", [None, "vhost"])
def test_vhost_is_vhost(name: str | None) -> None:
    assert "already so" in hypervisors.reason(on(web1(interface(driver_name=name)), "absent"))


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"type": "vhostuser"}, "vhost-user"),
        ({"type": "vdpa"}, "vDPA"),
        ({"type": "user", "driver_name": "qemu"}, "no tap"),
        ({"type": "hostdev"}, "no virtio-net"),
    ],
)
def test_other_back_ends_are_left(changes: dict[str, Any], word: str) -> None:
    assert word in hypervisors.reason(on(web1(interface(**changes)), "absent"))


def test_without_kvm_vhost_is_not_the_matter() -> None:
    domain = web1(interface(driver_name="qemu"))
    assert domain.definition is not None
    emulated = replace(domain, definition=replace(domain.definition, type="qemu"))
    assert "no KVM" in hypervisors.reason(on(emulated, "absent"))
