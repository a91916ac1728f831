"""libvirt's domains as a captured tree tells them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.observe.looking import Refusing, put
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.domain import Domain
from tuneagent.model.missing import Missing, Reason
from tuneagent.observe import domains
from tuneagent.observe.gaps import Gaps

SYSTEM, SESSION = "qemu:///system", "qemu:///session"


def defined(name: str, number: int, state: str = "running", queues: str = "2") -> dict[str, Any]:
    uuid = f"<uuid>4dea22b3-1d52-d8f3-2516-0000000000{number:02}</uuid>" if number else ""
    nic = f"<interface type='bridge'><model type='virtio'/><driver queues='{queues}'/></interface>"
    xml = f"<domain type='kvm'><name>{name}</name>{uuid}<devices>{nic}</devices></domain>"
    return {"state": state, "xml": xml, "inactive_xml": None}


def connection(uri: str, *told: dict[str, Any], error: Any = None) -> dict[str, Any]:
    return {"uri": uri, "error": error, "domains": list(told)}


def look(root: Path, *connections: dict[str, Any]) -> tuple[tuple[Domain, ...] | None, list[Missing]]:
    put(root, "/captured/domains.json", json.dumps({"connections": list(connections)}))
    gaps = Gaps(Sysroot(str(root)))
    return domains.observe(gaps), gaps.missing


def test_domains_come_by_name(tmp_path: Path) -> None:
    found, missing = look(
        tmp_path,
        connection(SYSTEM, defined("web2", 2), defined("db", 3, "shut off")),
        connection(SESSION, defined("test", 1)),
    )
    assert found is not None
    assert [(one.name, one.uri, one.running) for one in found] == [
        ("db", SYSTEM, False),
        ("test", SESSION, True),
        ("web2", SYSTEM, True),
    ]
    assert not missing


def test_a_hypervisor_without_domains_has_none_and_not_unknown_ones(tmp_path: Path) -> None:
    assert look(tmp_path, connection(SYSTEM)) == ((), [])
    assert look(tmp_path) == ((), [])


def test_each_connection_that_failed_is_one_gap(tmp_path: Path) -> None:
    refused = {"detail": "authentication failed", "remedy": "run as root", "reason": "permission"}
    gap = Missing(
        "hypervisor.domains",
        "domains",
        Reason.PERMISSION,
        "qemu:///system: authentication failed",
        remedy="run as root",
    )
    assert look(tmp_path, connection(SYSTEM, error=refused)) == (None, [gap])
    found, missing = look(tmp_path, connection(SYSTEM, error=refused), connection(SESSION, defined("test", 1)))
    assert found is not None
    assert [one.name for one in found] == ["test"]
    assert missing == [gap]


def test_each_definition_with_faults_is_one_gap(tmp_path: Path) -> None:
    found, missing = look(tmp_path, connection(SYSTEM, defined("web1", 0, queues="many"), defined("web2", 2)))
    assert found is not None
    assert [one.interfaces[0].queues for one in found] == [None, 2]
    assert [str(gap) for gap in missing] == ["hypervisor.domains.web1: domains: no <uuid> (and 1 more)"]


def test_a_definition_that_is_lost_costs_no_other(tmp_path: Path) -> None:
    found, missing = look(tmp_path, connection(SYSTEM, {"state": "running", "xml": "<domain/>"}, defined("web2", 2)))
    assert found is not None
    assert [one.name for one in found] == ["web2"]
    assert [str(gap) for gap in missing] == [
        "hypervisor.domains: domains: $.connections[0].domains[0].xml: no <uuid>; no <name>"
    ]


def test_a_domain_of_two_connections_is_the_one_that_runs(tmp_path: Path) -> None:
    here, there = "qemu+ssh://a/system", "qemu+ssh://b/system"
    found, missing = look(
        tmp_path, connection(here, defined("moved", 1, "shut off")), connection(there, defined("moved", 1))
    )
    assert found is not None
    assert [(one.name, one.uri) for one in found] == [("moved", there)]
    assert not missing


def test_a_domain_that_runs_twice_is_told(tmp_path: Path) -> None:
    here, there = "qemu+ssh://a/system", "qemu+ssh://b/system"
    found, missing = look(tmp_path, connection(here, defined("a", 1)), connection(there, defined("a", 1)))
    assert found is not None
    assert [one.uri for one in found] == [here]
    assert [str(gap) for gap in missing] == [
        f"hypervisor.domains.a: domains: runs by {here} and by {there}: the second is left out"
    ]
    assert look(tmp_path, connection(here, defined("a", 1)), connection(here, defined("a", 1)))[1] == []


def test_definitions_without_a_uuid_stay_apart(tmp_path: Path) -> None:
    found, _ = look(tmp_path, connection(SYSTEM, defined("b", 0), defined("a", 0)))
    assert found is not None
    assert [one.name for one in found] == ["a", "b"]


def test_what_was_not_captured_is_a_gap(tmp_path: Path) -> None:
    gaps = Gaps(Sysroot(str(tmp_path)))
    assert domains.observe(gaps) is None
    assert [(gap.what, gap.reason) for gap in gaps.missing] == [("hypervisor.domains", Reason.NOT_CAPTURED)]
    refused = Gaps(Refusing(tmp_path, "domains"))
    assert domains.observe(refused) is None
    assert [(gap.what, gap.reason) for gap in refused.missing] == [("hypervisor.domains", Reason.PERMISSION)]


def test_what_is_not_as_described_is_a_gap(tmp_path: Path) -> None:
    put(tmp_path, "/captured/domains.json", '{"connections": {}}')
    gaps = Gaps(Sysroot(str(tmp_path)))
    assert domains.observe(gaps) is None
    assert [str(gap) for gap in gaps.missing] == ["hypervisor.domains: domains: $.connections: an object, not an array"]
