"""Definitions and states of libvirt's domains, over read-only connections (libvirt-domain.h).

A definition is asked for once a minute and once a start of the domain; the states are asked for every time, at once.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tuneagent.machine.libvirt_connection import Connection, Connections, bindings, none_answered
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

NAME = "domains"
KEPT_NS = 60 * 10**9
BATCH = 64
"""Domains in one question, so that the deadline of a question holds for a host of a thousand."""
MOST_DOMAINS = 4096
SHUT_OFF_ID = -1
STATES = ("no state", "running", "idle", "paused", "in shutdown", "shut off", "crashed", "pmsuspended")
"""virDomainState in the words of virsh(1), by number."""


class Key(NamedTuple):
    """One run of a domain: libvirt gives a new id at every start, and -1 to what does not run."""

    uuid: str
    id: int


@dataclass(frozen=True, slots=True)
class _Definition:
    live: str
    stored: str | None
    read_at_ns: int


class Domains:
    """What libvirt has of its domains. Remembers definitions, so an instance serves one Source."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._kept: dict[tuple[str, Key], _Definition] = {}

    def read(self) -> dict[str, Any]:
        """``{"connections": [{"uri", "error": null | {"detail", "remedy"}, "domains": [{"state", "xml", …}]}]}``.

        Raises SourceError where no connection answered.
        """
        rows: list[dict[str, Any]] = []
        failures: list[SourceError] = []
        for connection in self._connections.all():
            try:
                rows.append({"uri": connection.uri, "error": None, "domains": self._of(connection)})
            except SourceError as error:
                failures.append(error)
                told = {"detail": error.detail, "remedy": error.remedy}
                rows.append({"uri": connection.uri, "error": told, "domains": []})
        if failures and len(failures) == len(rows):
            raise none_answered(NAME, failures)
        return {"connections": rows}

    def _of(self, connection: Connection) -> list[dict[str, Any]]:
        states = connection.ask(_states)
        self._forget(connection.uri, states)
        unknown = [key for key in states if (connection.uri, key) not in self._kept]
        for batch in batches(unknown, BATCH):
            read = connection.ask(functools.partial(_definitions, batch))
            self._kept.update({(connection.uri, key): definition for key, definition in read.items()})
        known = ((state, self._kept.get((connection.uri, key))) for key, state in states.items())
        return [
            {"state": state, "xml": definition.live, "inactive_xml": definition.stored}
            for state, definition in known
            if definition is not None
        ]

    def _forget(self, uri: str, states: Mapping[Key, str]) -> None:
        """Definitions that are old, or of domains that have gone or begun anew."""
        oldest = time.monotonic_ns() - KEPT_NS
        self._kept = {
            (of, key): definition
            for (of, key), definition in self._kept.items()
            if of != uri or (key in states and definition.read_at_ns > oldest)
        }


def _states(connection: Any) -> dict[Key, str]:
    """Every domain's state, in one message where the driver has statistics."""
    libvirt = bindings()
    try:
        told = connection.getAllDomainStats(libvirt.VIR_DOMAIN_STATS_STATE, 0)
    except libvirt.libvirtError as error:
        if error.get_error_code() != libvirt.VIR_ERR_NO_SUPPORT:
            raise
        told = [(domain, {}) for domain in connection.listAllDomains(0)]
    if len(told) > MOST_DOMAINS:
        raise SourceError(connection.getURI(), Reason.TOO_LARGE, f"more than {MOST_DOMAINS} domains")
    states = {Key(domain.UUIDString().lower(), domain.ID()): _state(libvirt, domain, told) for domain, told in told}
    return {key: state for key, state in states.items() if state is not None}


def _state(libvirt: Any, domain: Any, told: Mapping[str, int]) -> str | None:
    """A state's word; None for a domain that has gone since the listing."""
    try:
        number = told["state.state"] if "state.state" in told else domain.state()[0]
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            return None
        raise
    return STATES[number] if 0 <= number < len(STATES) else f"state {number}"


def _definitions(keys: Iterable[Key], connection: Any) -> dict[Key, _Definition]:
    libvirt = bindings()
    read = {key: _definition(libvirt, connection, key) for key in keys}
    return {key: definition for key, definition in read.items() if definition is not None}


def _definition(libvirt: Any, connection: Any, key: Key) -> _Definition | None:
    """None for a domain that has gone, or was started or ended, since the listing. Secrets are never asked for."""
    try:
        domain = connection.lookupByUUIDString(key.uuid)
        if domain.ID() != key.id:
            return None
        stored = None
        if key.id != SHUT_OFF_ID and domain.isPersistent():
            stored = domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE)
        return _Definition(domain.XMLDesc(0), stored, time.monotonic_ns())
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            return None
        raise


def batches(keys: list[Key], size: int) -> Iterator[list[Key]]:
    """A list in pieces of at most this size."""
    return (keys[start : start + size] for start in range(0, len(keys), size))
