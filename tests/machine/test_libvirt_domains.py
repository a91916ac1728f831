"""Definitions of domains, from libvirt's own test driver."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.machine.bindings import needs_libvirt
from tuneagent.machine import libvirt_connection, libvirt_domains
from tuneagent.machine.libvirt_connection import Connection, Connections
from tuneagent.machine.libvirt_domains import Domains, Key
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

pytestmark = needs_libvirt

WEB = "7b0f9c1e-1111-4222-8333-44445555aaaa"
DATABASE = "7b0f9c1e-1111-4222-8333-44445555bbbb"
NODE = """<node>
 <domain type='test'><name>web1</name><uuid>{web}</uuid><memory unit='KiB'>65536</memory><vcpu>3</vcpu>
  <os><type>hvm</type></os>
  <devices><interface type='bridge'><mac address='52:54:00:11:22:33'/><source bridge='br7'/><model type='virtio'/>
   <driver name='vhost' queues='5' event_idx='off'/></interface></devices></domain>
 <domain type='test'><name>db1</name><uuid>{database}</uuid><memory unit='KiB'>32768</memory><vcpu>1</vcpu>
  <os><type>hvm</type></os></domain>
</node>"""


@pytest.fixture
def uri(tmp_path: Path) -> str:
    path = tmp_path / "node.xml"
    path.write_text(NODE.format(web=WEB, database=DATABASE))
    return f"test://{path}"


def told(domains: Domains) -> dict[str, dict[str, Any]]:
    """The domains of the one connection, by name."""
    (row,) = domains.read()["connections"]
    assert row["error"] is None
    return {re.findall("<name>(.*)</name>", one["xml"])[0]: one for one in row["domains"]}


def by_hand(connections: Connections, change: Callable[[Any], Any]) -> None:
    """Changes something of a test driver, which lives in its connection; so that one, opened to write, does it."""
    (connection,) = connections.all()
    connection.ask(change)


def test_running_domains_with_their_definitions(uri: str) -> None:
    domains = told(Domains(Connections((uri,))))
    assert domains.keys() == {"web1", "db1"}
    web = domains["web1"]
    assert web["state"] == "running"
    assert re.search(r"<driver name='vhost' .*queues='5'", web["xml"])
    assert "<domain type='test' id=" in web["xml"]
    assert "<domain type='test'>" in web["inactive_xml"]


def test_a_domain_that_is_paused_started_and_ended(uri: str) -> None:
    connections = Connections((uri,), read_only=False)
    domains = Domains(connections)
    running = told(domains)["web1"]
    by_hand(connections, lambda it: it.lookupByName("web1").suspend())
    assert told(domains)["web1"] == running | {"state": "paused"}
    by_hand(connections, lambda it: it.lookupByName("web1").destroy())
    ended = told(domains)["web1"]
    assert (ended["state"], ended["inactive_xml"]) == ("shut off", None)
    assert " id=" not in ended["xml"].partition(">")[0]
    by_hand(connections, lambda it: it.lookupByName("web1").undefine())
    assert told(domains).keys() == {"db1"}


def test_a_transient_domain_has_no_stored_definition(uri: str) -> None:
    connections = Connections((uri,), read_only=False)
    xml = "<domain type='test'><name>brief</name><memory>4096</memory><os><type>hvm</type></os></domain>"
    by_hand(connections, lambda it: it.createXML(xml, 0).ID())
    assert told(Domains(connections))["brief"]["inactive_xml"] is None


def count_of_definitions(monkeypatch: pytest.MonkeyPatch) -> list[Key]:
    asked: list[Key] = []
    original = libvirt_domains._definition  # noqa: SLF001 - counts the questions

    def counting(libvirt: Any, connection: Any, key: Key) -> Any:
        asked.append(key)
        return original(libvirt, connection, key)

    monkeypatch.setattr(libvirt_domains, "_definition", counting)
    return asked


def test_a_definition_is_asked_for_once_a_minute(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = count_of_definitions(monkeypatch)
    now = 10**12
    monkeypatch.setattr("time.monotonic_ns", lambda: now)
    domains = Domains(Connections((uri,)))
    assert told(domains) == told(domains)
    assert len(asked) == 2
    now += libvirt_domains.KEPT_NS
    told(domains)
    assert len(asked) == 4


def test_a_new_start_is_asked_for_anew(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = count_of_definitions(monkeypatch)
    connections = Connections((uri,), read_only=False)
    domains = Domains(connections)
    told(domains)
    by_hand(connections, lambda it: it.lookupByName("db1").destroy())
    by_hand(connections, lambda it: it.lookupByName("db1").create())
    told(domains)
    assert [key.uuid for key in asked].count(DATABASE) == 2
    assert [key.uuid for key in asked].count(WEB) == 1


def test_a_domain_that_vanishes_before_its_definition_is_read(uri: str) -> None:
    def vanished(it: Any) -> dict[Key, Any]:
        live = it.lookupByName("web1")
        key, other = Key(WEB, live.ID()), Key(DATABASE, it.lookupByName("db1").ID() + 7)
        live.destroy()
        live.undefine()
        return libvirt_domains._definitions([key, other], it)  # noqa: SLF001 - the moment between two calls

    assert Connection(uri, read_only=False).ask(vanished) == {}


def test_one_connection_that_fails_leaves_the_other(uri: str, tmp_path: Path) -> None:
    absent = f"qemu+unix:///system?socket={tmp_path}/none"
    first, second = Domains(Connections((absent, uri))).read()["connections"]
    assert first["uri"] == absent
    assert first["domains"] == []
    assert first["error"]["remedy"] == libvirt_connection.START
    assert second["error"] is None
    assert len(second["domains"]) == 2


def test_no_connection_answers(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        Domains(Connections((f"qemu+unix:///system?socket={tmp_path}/none",))).read()
    assert (caught.value.source, caught.value.reason) == ("domains", Reason.ABSENT)
    assert "No such file or directory" in caught.value.detail


def test_a_driver_without_statistics(uri: str) -> None:
    libvirt = libvirt_connection.bindings()

    class Without:
        """A connection of a driver that has no statistics, such as the one of ESX."""

        def __init__(self, it: Any) -> None:
            self._it = it

        def __getattr__(self, name: str) -> Any:
            return getattr(self._it, name)

        def getAllDomainStats(self, *_: object) -> None:  # noqa: N802 - libvirt's name
            error = libvirt.libvirtError("not supported")
            error.err = (libvirt.VIR_ERR_NO_SUPPORT, 0, "not supported", 2, None, None, None, -1, -1)
            raise error

    states = Connection(uri).ask(lambda it: libvirt_domains._states(Without(it)))  # noqa: SLF001 - one step of a read
    assert {key.uuid: state for key, state in states.items()} == {WEB: "running", DATABASE: "running"}


def test_too_many_domains(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libvirt_domains, "MOST_DOMAINS", 1)
    with pytest.raises(SourceError) as caught:
        Domains(Connections((uri,))).read()
    assert caught.value.reason is Reason.TOO_LARGE


@pytest.mark.parametrize(("length", "sizes"), [(0, []), (3, [3]), (4, [3, 1])])
def test_batches(length: int, sizes: list[int]) -> None:
    keys = [Key(str(number), number) for number in range(length)]
    pieces = list(libvirt_domains.batches(keys, 3))
    assert [len(piece) for piece in pieces] == sizes
    assert [key for piece in pieces for key in piece] == keys
