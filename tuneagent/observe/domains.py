"""libvirt's domains: what each connection told, and what of it could not be had."""

from __future__ import annotations

from collections.abc import Iterable

from tuneagent.model.domain import Domain
from tuneagent.model.missing import Missing, Reason
from tuneagent.observe.gaps import Gaps
from tuneagent.parse import captured_domains
from tuneagent.parse.captured_domains import Connection
from tuneagent.parse.domain_xml import Definition

SOURCE = "domains"
WHAT = "hypervisor.domains"


def observe(gaps: Gaps) -> tuple[Domain, ...] | None:
    """The domains of all connections by name, each once; None where no connection could be had.

    One note for each connection that failed, and one for each definition that could not be read in full.
    """
    told = gaps.captured(WHAT, SOURCE, captured_domains.parse)
    if told is None:
        return None
    for connection in told[0]:
        _note_connection(gaps, connection)
    if told[0] and all(connection.fault and not connection.definitions for connection in told[0]):
        return None
    found = [definition.domain for connection in told[0] for definition in connection.definitions]
    return tuple(sorted(_each_once(gaps, found), key=lambda domain: (domain.name, domain.uuid, domain.uri)))


def _note_connection(gaps: Gaps, connection: Connection) -> None:
    fault = connection.fault
    if fault is not None:
        gaps.note(WHAT, SOURCE, fault.reason, f"{connection.uri}: {fault.detail}", fault.remedy)
    gaps.missing.extend(lost.missing(WHAT, SOURCE) for lost in connection.lost)
    for definition in connection.definitions:
        if definition.faults:
            gaps.missing.append(_missing(definition))


def _missing(definition: Definition) -> Missing:
    first, *others = definition.faults
    more = f" (and {len(others)} more)" if others else ""
    return Missing(f"{WHAT}.{definition.domain.name}", SOURCE, first.reason, f"{first.detail}{more}", first.line)


def _each_once(gaps: Gaps, domains: Iterable[Domain]) -> Iterable[Domain]:
    """A domain that several connections tell of is the one that runs; of two that run, the first."""
    unnamed: list[Domain] = []
    by_uuid: dict[str, Domain] = {}
    for domain in domains:
        other = by_uuid.get(domain.uuid)
        if not domain.uuid:
            unnamed.append(domain)
        elif other is None or (domain.running and not other.running):
            by_uuid[domain.uuid] = domain
        elif domain.running and domain.uri != other.uri:
            detail = f"runs by {other.uri} and by {domain.uri}: the second is left out"
            gaps.note(f"{WHAT}.{domain.name}", SOURCE, Reason.MALFORMED, detail)
    return [*by_uuid.values(), *unnamed]
