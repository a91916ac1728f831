"""The captured source ``domains``: libvirt's definitions by connection.

``{"connections": [{"uri": "qemu:///system", "error": null, "domains": [{"state": "running", "xml": "<domain …>",
"inactive_xml": null}]}]}``; ``error`` is ``{"detail": "…", "remedy": "…", "reason": "permission"}`` where a connection
could not be had, the last two if known; ``inactive_xml`` is there where the stored definition is not the live one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse import domain_xml, stored_definition
from tuneagent.parse.domain_xml import Definition
from tuneagent.parse.json_values import array, mapping, optional_string, string
from tuneagent.parse.lines import shown

MAX_CONNECTIONS = 64
MAX_DOMAINS = 4096
"""Over all connections. Each may take 50 kB with all that is to say of it, where everything is wrong with it."""


@dataclass(frozen=True, slots=True)
class ConnectionFault:
    """Why a connection could not be had, in libvirt's words."""

    reason: Reason
    detail: str
    remedy: str | None


@dataclass(frozen=True, slots=True)
class Connection:
    """What one connection told."""

    uri: str
    fault: ConnectionFault | None
    """None where it was had."""
    definitions: tuple[Definition, ...]
    lost: tuple[ParseError, ...]
    """One for each definition that is no use at all, with its JSON path and its line."""


def parse(value: Any) -> tuple[Connection, ...]:
    """Connections in their order. ParseError with the JSON path of the first value that is not as described.

    What is wrong inside a definition's XML is told by :attr:`Connection.lost` or by the definition itself.
    """
    connections = array(mapping(value, "$").get("connections"), "$.connections", MAX_CONNECTIONS)
    told = (one.get("domains") if isinstance(one, dict) else None for one in connections)
    if sum(len(one) for one in told if isinstance(one, list)) > MAX_DOMAINS:
        raise ParseError(f"$.connections: more than {MAX_DOMAINS} domains in all", reason=Reason.TOO_LARGE)
    return tuple(_connection(one, f"$.connections[{index}]") for index, one in enumerate(connections))


def _connection(value: Any, where: str) -> Connection:
    fields = mapping(value, where)
    uri = string(fields.get("uri"), f"{where}.uri")
    told = fields.get("domains")
    definitions: list[Definition] = []
    lost: list[ParseError] = []
    for index, one in enumerate([] if told is None else array(told, f"{where}.domains", MAX_DOMAINS)):
        found = _definition(one, f"{where}.domains[{index}]", uri)
        if isinstance(found, ParseError):
            lost.append(found)
        else:
            definitions.append(found)
    return Connection(uri, _fault(fields.get("error"), f"{where}.error"), tuple(definitions), tuple(lost))


def _fault(value: Any, where: str) -> ConnectionFault | None:
    if value is None:
        return None
    fields = mapping(value, where)
    word = optional_string(fields, "reason", where) or Reason.FAILED.value
    if word not in set(Reason):
        raise ParseError(f"{where}.reason: {shown(word)} is no reason, such as {Reason.PERMISSION.value}")
    detail = string(fields.get("detail"), f"{where}.detail")
    return ConnectionFault(Reason(word), detail, optional_string(fields, "remedy", where))


def _definition(value: Any, where: str, uri: str) -> Definition | ParseError:
    fields = mapping(value, where)
    state, text = string(fields.get("state"), f"{where}.state"), _text(fields.get("xml"), f"{where}.xml")
    stored = fields.get("inactive_xml")
    stored_text = None if stored is None else _text(stored, f"{where}.inactive_xml")
    try:
        live = domain_xml.parse(text, uri, state)
    except ParseError as error:
        return ParseError(f"{where}.xml: {error.detail}", error.line, error.reason)
    return live if stored_text is None else _with_stored(live, stored_text)


def _with_stored(live: Definition, text: str) -> Definition:
    domain = live.domain
    try:
        stored = domain_xml.parse(text, domain.uri, domain.state)
    except ParseError as error:
        return Definition(domain, (*live.faults, _of_stored(error)))
    faults = (*live.faults, *map(_of_stored, stored.faults))
    pending = stored.domain if stored_definition.differs(domain, stored.domain) else None
    return Definition(replace(domain, pending=pending), faults)


def _of_stored(error: ParseError) -> ParseError:
    return ParseError(f"stored definition: {error.detail}", error.line, error.reason)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ParseError(f"{where}: not a string")
    return value
