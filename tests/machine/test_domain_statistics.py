"""Counters of KVM as libvirt tells them. Its test driver has none, so the records are written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tests.machine.bindings import needs_libvirt
from tuneagent.machine import domain_statistics
from tuneagent.machine.domain_statistics import wanted
from tuneagent.machine.libvirt_connection import Connection, Connections
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason


def test_the_counters_of_a_record() -> None:
    record = {
        "vcpu.current": 2,
        "vcpu.maximum": 4,
        "vcpu.0.state": 1,
        "vcpu.0.time": 17,
        "vcpu.0.exits.sum": 101,
        "vcpu.0.io_exits.sum": 13,
        "vcpu.0.halt_wait_hist.sum": 19,
        "vcpu.0.pf_taken.sum": 23,
        "vcpu.3.exits.sum": 2**63,
        "vcpu.3.halt_poll_fail_ns.sum": 5,
        "vcpu.4.exits.sum": 29,
        "vcpu.3.halt_exits.sum": -1,
    }
    assert wanted(record) == {
        "vcpu.0.exits.sum": 101,
        "vcpu.0.io_exits.sum": 13,
        "vcpu.3.exits.sum": 2**63,
        "vcpu.3.halt_poll_fail_ns.sum": 5,
    }


def test_a_family_of_exits_where_there_is_no_sum() -> None:
    record = {
        "vcpu.maximum": 1,
        "vcpu.0.exit_null.sum": 7,
        "vcpu.0.exit_io_request.sum": 11,
        "vcpu.0.exit_wait_state.cur": 3,
        "vcpu.0.halt_wakeup.sum": 2,
        "vcpu.0.instruction_exit_x.sum": 5,
        "block.0.exit_x.sum": 4,
    }
    assert wanted(record) == {"vcpu.0.exit_null.sum": 7, "vcpu.0.exit_io_request.sum": 11, "vcpu.0.halt_wakeup.sum": 2}


@pytest.mark.parametrize("maximum", [None, "8", -4])
def test_a_record_without_a_number_of_vcpus(maximum: Any) -> None:
    assert wanted({"vcpu.maximum": maximum, "vcpu.0.exits.sum": 5}) == {}


class Host:
    """A connection to a host of many domains, which remembers what it was asked."""

    def __init__(self, count: int, busy: int = 0) -> None:
        self.uuids = [f"{number:032X}" for number in range(count)]
        self.busy = frozenset(self.uuids[:busy])
        self.asked: list[int] = []

    def listAllDomains(self, flags: int) -> list[Any]:  # noqa: N802 - libvirt's name
        assert flags == 1  # VIR_CONNECT_LIST_DOMAINS_ACTIVE
        return [SimpleNamespace(UUIDString=lambda uuid=uuid: uuid) for uuid in self.uuids]

    def domainListGetStats(self, domains: Sequence[Any], stats: int, flags: int) -> Any:  # noqa: N802 - the same
        assert (stats, flags) == (1 << 3, 1 << 29)  # VIR_DOMAIN_STATS_VCPU, …_STATS_NOWAIT
        self.asked.append(len(domains))
        return [(domain, {} if domain.UUIDString() in self.busy else self.record(domain)) for domain in domains]

    @staticmethod
    def record(domain: Any) -> dict[str, int]:
        return {"vcpu.maximum": 1, "vcpu.0.exits.sum": 1000 + int(domain.UUIDString(), 16), "vcpu.0.time": 5}


class Hosts(Connections):
    """Connections of which each is a host by hand."""

    def __init__(self, *hosts: Host | SourceError) -> None:
        super().__init__()
        self._hosts = hosts

    def all(self) -> tuple[Any, ...]:
        return tuple(SimpleNamespace(ask=lambda question, host=host: self._ask(question, host)) for host in self._hosts)

    @staticmethod
    def _ask(question: Any, host: Host | SourceError) -> Any:
        if isinstance(host, SourceError):
            raise host
        return question(host)


@needs_libvirt
def test_many_domains_are_asked_for_in_batches() -> None:
    host = Host(130, busy=2)
    told = domain_statistics.read(Hosts(host))
    assert host.asked == [64, 64, 2]
    assert told == {uuid.lower(): {"vcpu.0.exits.sum": 1000 + int(uuid, 16)} for uuid in host.uuids[2:]}


@needs_libvirt
def test_no_domain_runs() -> None:
    host = Host(0)
    assert domain_statistics.read(Hosts(host)) == {}
    assert host.asked == []


@needs_libvirt
def test_one_of_two_connections_answers() -> None:
    failed = SourceError("qemu:///system", Reason.PERMISSION, "no")
    assert domain_statistics.read(Hosts(failed, Host(1))).keys() == {"0" * 32}
    with pytest.raises(SourceError) as caught:
        domain_statistics.read(Hosts(failed, failed))
    assert (caught.value.source, caught.value.reason) == ("domain-statistics", Reason.PERMISSION)


@needs_libvirt
def test_a_libvirt_that_has_no_counters() -> None:
    assert len(Connection("test:///default").ask(domain_statistics._running)) == 1  # noqa: SLF001 - a domain runs
    with pytest.raises(SourceError) as caught:
        domain_statistics.read(Connections(("test:///default",)))
    assert caught.value.reason is Reason.UNSUPPORTED
    assert "libvirt 8.9" in caught.value.detail


@needs_libvirt
def test_too_many_domains_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain_statistics, "MOST_DOMAINS", 0)
    with pytest.raises(SourceError) as caught:
        domain_statistics.read(Connections(("test:///default",)))
    assert caught.value.reason is Reason.TOO_LARGE
