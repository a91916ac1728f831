from __future__ import annotations

from typing import Any

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse.captured_domains import MAX_DOMAINS, Connection, ConnectionFault, parse

UUID = "4dea22b3-1d52-d8f3-2516-782e98ab3fa0"


def xml(queues: str = "2", name: str = "web1") -> str:
    driver = f"<interface type='bridge'><model type='virtio'/><driver queues='{queues}'/></interface>"
    return f"<domain type='kvm'>\n<name>{name}</name><uuid>{UUID}</uuid><devices>{driver}</devices></domain>"


def told(*domains: dict[str, Any], error: Any = None) -> Any:
    return {"connections": [{"uri": "qemu:///system", "error": error, "domains": list(domains)}]}


def only(*domains: dict[str, Any]) -> Connection:
    (connection,) = parse(told(*domains))
    return connection


def test_reads_domains_by_connection() -> None:
    value = told({"state": "running", "xml": xml(), "inactive_xml": None}, {"state": "shut off", "xml": xml("3", "b")})
    value["connections"].append({"uri": "qemu:///session", "error": {"detail": "no socket", "remedy": "start it"}})
    system, session = parse(value)
    assert system.fault is None
    assert [(one.domain.name, one.domain.uri, one.domain.state, one.domain.running) for one in system.definitions] == [
        ("web1", "qemu:///system", "running", True),
        ("b", "qemu:///system", "shut off", False),
    ]
    assert [one.domain.pending for one in system.definitions] == [None, None]
    fault = ConnectionFault(Reason.FAILED, "no socket", "start it")
    assert session == Connection("qemu:///session", fault, (), ())


def test_a_connection_may_say_which_reason_it_has() -> None:
    (connection,) = parse(told(error={"detail": "refused", "reason": "permission"}))
    assert connection.fault == ConnectionFault(Reason.PERMISSION, "refused", None)


def test_a_stored_definition_counts_where_it_means_something_else() -> None:
    same = only({"state": "running", "xml": xml(), "inactive_xml": xml().replace("\n", "  ")})
    assert same.definitions[0].domain.pending is None
    other = only({"state": "running", "xml": xml(), "inactive_xml": xml("4")})
    pending = other.definitions[0].domain.pending
    assert pending is not None
    assert [one.queues for one in pending.interfaces] == [4]
    assert [one.queues for one in other.definitions[0].domain.interfaces] == [2]
    assert other.definitions[0].faults == ()


def test_a_domain_that_is_lost_is_told_with_its_place_and_line() -> None:
    connection = only({"state": "running", "xml": "<domain>\n<name>"}, {"state": "running", "xml": xml()})
    assert [str(error) for error in connection.lost] == [
        "line 2: $.connections[0].domains[0].xml: no XML: no element found"
    ]
    assert [one.domain.name for one in connection.definitions] == ["web1"]


def test_faults_of_both_definitions_stay_with_the_domain() -> None:
    connection = only(
        {"state": "running", "xml": xml("many"), "inactive_xml": xml("some")},
        {"state": "running", "xml": xml(), "inactive_xml": "<a>"},
    )
    first, second = connection.definitions
    assert [fault.detail for fault in first.faults] == [
        "interface 0: <driver> queues: 'many' is not a number",
        "stored definition: interface 0: <driver> queues: 'some' is not a number",
    ]
    assert [str(fault) for fault in second.faults] == ["line 1: stored definition: no XML: no element found"]
    assert second.domain.pending is None
    assert not connection.lost


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([], "$:"),
        ({}, "$.connections:"),
        ({"connections": [7]}, "$.connections[0]:"),
        ({"connections": [{"uri": None}]}, "$.connections[0].uri:"),
        ({"connections": [{"uri": "a"}] * 65}, "$.connections:"),
        (told(error="x"), "$.connections[0].error:"),
        (told(error={}), "$.connections[0].error.detail:"),
        (told(error={"detail": "a", "reason": "b"}), "$.connections[0].error.reason:"),
        (told({"xml": "a"}), "$.connections[0].domains[0].state:"),
        (told({"state": "running"}), "$.connections[0].domains[0].xml:"),
        (told({"state": "running", "xml": "a", "inactive_xml": 5}), "$.connections[0].domains[0].inactive_xml:"),
    ],
)
def test_a_fault_is_named_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(value)
    assert str(caught.value).startswith(path)


def test_domains_are_bounded_over_all_connections() -> None:
    one = {"state": "running", "xml": xml()}
    half = told(*[one] * (MAX_DOMAINS // 2))["connections"]
    assert len(parse({"connections": half * 2})) == 2
    with pytest.raises(ParseError, match="more than 4096 domains in all") as caught:
        parse({"connections": [*half * 2, *told(one)["connections"]]})
    assert caught.value.reason is Reason.TOO_LARGE
