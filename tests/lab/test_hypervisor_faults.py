"""What goes wrong beside a virtual machine: the report tells each in a line, and the rest of it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab import hostile_agent
from tests.lab.conftest import DomainFactory
from tests.lab.domain import Domain
from tests.lab.test_hypervisor import advise, told

pytestmark = pytest.mark.lab
AGENT = "lab-hostile-agent"


def replace_agent(one: Domain, kind: str) -> None:
    """The guest's agent is ended and another answers in its place, of a kind of hostile_agent."""
    one.guest.put(Path(hostile_agent.__file__), "/root")
    one.guest.run(
        f"systemctl stop qemu-guest-agent {AGENT} 2>/dev/null; "
        f"systemd-run --quiet --collect --unit={AGENT} python3 /root/hostile_agent.py {kind}"
    ).checked()


def test_a_hostile_agent_spoils_its_own_part_only(domain: DomainFactory, program: str) -> None:
    one = domain()
    for kind in hostile_agent.KINDS:
        replace_agent(one, kind)
        shown = one.run(f"{program} advise --interval 5 --domain {one.name}", 300).checked()
        # Said by the guest, none of it reaches the terminal as it is.
        assert not set(shown) & set(map(chr, (*range(9), *range(11, 32), 127))), kind
        assert "exits/s" in shown
        said = [line for line in shown.splitlines() if f"guest of {one.name}" in line]
        assert len(said) == 1, (kind, said)


def test_without_libvirt_the_rest_is_told(domain: DomainFactory, program: str) -> None:
    one = domain()
    sockets = "libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket"
    one.run(f"systemctl stop {sockets} libvirtd.service").checked()
    try:
        report = advise(one, program, "--interval 5")
    finally:
        one.run(f"systemctl start {sockets} libvirtd.service").checked()
    assert report["hypervisor"]["libvirt_answered"] is False
    (why,) = [each for each in report["missing"] if each["what"] == "hypervisor.domains"]
    assert "libvirt" in why["detail"]
    seen = told(report, one)
    assert seen["definition"] is None
    assert seen["kvm"]["per_sec"]["exits"] > 0
    assert {thread["role"] for thread in seen["threads"]} == {"emulator", "vcpu", "vhost"}


def test_a_domain_that_ends_between_the_samples_is_told_gone(domain: DomainFactory, program: str) -> None:
    one = domain()
    soon = "--on-active=30s --timer-property=AccuracySec=100ms"
    one.run(f"systemd-run --quiet --collect {soon} virsh destroy {one.name}").checked()
    report = advise(one, program, "--interval 60")
    assert report["hypervisor"]["gone"] == [one.name]
    assert report["rates_reason"] is None
    stopped = told(report, one)
    assert (stopped["running"], stopped["kvm"], stopped["definition"]["state"]) == (False, None, "shut off")
