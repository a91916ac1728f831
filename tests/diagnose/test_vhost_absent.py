from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests import make_hypervisor as make
from tests.diagnose.hypervisors import quiet_tap, thread, with_interface
from tests.diagnose.views import clear, finding, unjudged, value
from tuneagent.diagnose.vhost_absent import judge
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Severity
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.view import View


def without_module(*domains: DomainView, **parameters: str) -> View:
    return make.host_view(*domains, after=make.host(hypervisor=make.hypervisor(parameters=parameters)))


def lone(**changes: Any) -> DomainView:
    """QEMU's main thread was read, and there is no worker."""
    return make.domain_view(threads=(thread(ThreadRole.EMULATOR, 3.0, 0.5),), **changes)


def test_a_tap_that_qemu_serves_by_its_definition() -> None:
    found = finding(judge, make.host_view(with_interface(driver_name="qemu")))
    assert (found.subject, found.severity) == ("domain web1 vnet0", Severity.WARNING)
    assert "module vhost_net is loaded" in found.explanation
    assert value(found, "driver_name") == "qemu"


def test_hardly_any_packets_are_worth_knowing_only() -> None:
    served = with_interface(driver_name="qemu")
    idle = replace(quiet_tap(), interface=served.taps[0].interface)
    assert finding(judge, make.host_view(replace(served, taps=(idle,)))).severity is Severity.INFO


def test_a_worker_is_well_whatever_the_module_list_says() -> None:
    assert value(clear(judge, make.host_view()), "vhost_workers_of_domain") == 1
    clear(judge, without_module(**{"kvm.halt_poll_ns": "0"}))


def test_libvirt_falls_back_without_a_word() -> None:
    found = finding(judge, without_module(lone(), **{"kvm.halt_poll_ns": "0"}))
    assert "fell back" in found.explanation


def test_what_was_not_seen_is_not_judged() -> None:
    assert "no vhost worker of its QEMU is seen" in unjudged(judge, without_module(lone())).reason
    assert "no thread of its QEMU was read" in unjudged(judge, make.host_view(make.domain_view(threads=()))).reason
    waiting = make.virtio_status(vhost_started=False)
    unjudged(judge, make.host_view(lone(virtio=(waiting,))))
    clear(judge, make.host_view(lone(virtio=(make.virtio_status(),))))


@pytest.mark.parametrize("kind", ["vhostuser", "vdpa", "hostdev", "user"])
def test_other_back_ends_are_others_business(kind: str) -> None:
    assert judge(make.host_view(with_interface(type=kind, driver_name="qemu"))) == ()


def test_emulated_machines_have_no_vhost() -> None:
    assert judge(make.host_view(with_interface(make.domain(type="qemu"), driver_name="qemu"))) == ()


def test_the_stored_definition_counts_later() -> None:
    pending = make.domain(interfaces=(make.domain_interface(driver_name="vhost"),))
    found = finding(judge, make.host_view(with_interface(make.domain(pending=pending), driver_name="qemu")))
    assert "The stored definition has vhost" in found.explanation
