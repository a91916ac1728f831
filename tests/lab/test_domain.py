"""A domain that breaks under a test is a fault of the lab, never a failed assertion."""

from __future__ import annotations

import pytest

from tests.lab.conftest import DomainFactory
from tests.lab.faults import LabFaultError
from tests.lab.ssh import UnansweredError

pytestmark = pytest.mark.lab


def test_a_domain_that_is_gone_is_a_fault(domain: DomainFactory) -> None:
    one = domain()
    one.virsh("destroy")
    with pytest.raises(LabFaultError, match="gone"):
        one.guest.run("true", timeout=10)


def test_a_guest_whose_kernel_panicked_is_a_fault_that_shows_its_console(domain: DomainFactory) -> None:
    one = domain()
    with pytest.raises(LabFaultError, match=r"(?s)panicked.*end Kernel panic"):
        one.guest.run("echo c > /proc/sysrq-trigger", timeout=20)


def test_a_command_that_only_takes_long_is_no_fault(domain: DomainFactory) -> None:
    one = domain()
    with pytest.raises(UnansweredError, match="was not through after 5 s"):
        one.guest.run("sleep 600", timeout=5)
    assert one.guest.run("echo still here").checked() == "still here\n"


def test_what_a_test_leaves_in_a_guest_the_next_does_not_find(domain: DomainFactory) -> None:
    first = domain()
    first.guest.run("touch /root/left").checked()
    first.stop()
    assert domain().guest.run("test -e /root/left").returncode == 1
