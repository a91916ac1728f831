"""KVM's counters as libvirt tells them: virDomainListGetStats with its vCPU group (libvirt 8.9, QEMU 7.1 and newer).

The dearest of the ways to these counters, of which libvirtd and QEMU pay the most: observers come here last. It never
waits for a domain that is busy with something else, such as a migration; such a domain's counters are then not told.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from tuneagent.machine.libvirt_connection import Connections, bindings, none_answered
from tuneagent.model.errors import SourceError
from tuneagent.model.hypervisor import EXIT_FAMILY, KVM_COUNTERS
from tuneagent.model.missing import Reason

NAME = "domain-statistics"
BATCH = 64
"""A record has some 430 values, and a message of libvirt at most 32 MiB."""
MOST_DOMAINS = 4096
MOST_VCPUS = 4096

Counters = dict[str, int]


def read(connections: Connections) -> dict[str, Counters]:
    """``{uuid: {"vcpu.0.exits.sum": …}}`` of the running domains that have them.

    Raises SourceError where no connection answered, and with UNSUPPORTED where no running domain's counters are told.
    """
    found: dict[str, Counters] = {}
    running, answered = 0, 0
    failures: list[SourceError] = []
    for connection in connections.all():
        try:
            uuids = connection.ask(_running)
            running += len(uuids)
            for start in range(0, len(uuids), BATCH):
                found |= connection.ask(functools.partial(_counters, uuids[start : start + BATCH]))
            answered += 1
        except SourceError as error:
            failures.append(error)
    if failures and not answered:
        raise none_answered(NAME, failures)
    if running and not found:
        detail = "libvirt tells no counters of KVM: it does for domains under KVM, from libvirt 8.9 and QEMU 7.1 on"
        raise SourceError(NAME, Reason.UNSUPPORTED, detail)
    return found


def _active(connection: Any) -> list[Any]:
    domains = connection.listAllDomains(bindings().VIR_CONNECT_LIST_DOMAINS_ACTIVE)
    if len(domains) > MOST_DOMAINS:
        raise SourceError(connection.getURI(), Reason.TOO_LARGE, f"more than {MOST_DOMAINS} running domains")
    return list(domains)


def _running(connection: Any) -> list[str]:
    return [domain.UUIDString().lower() for domain in _active(connection)]


def _counters(uuids: Sequence[str], connection: Any) -> dict[str, Counters]:
    # Listed anew: one message, where a look-up of each would be one message each, and who has gone is not in it.
    libvirt = bindings()
    domains = [domain for domain in _active(connection) if domain.UUIDString().lower() in uuids]
    if not domains:
        return {}  # an empty list means all domains to libvirt
    flags = libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT
    records = connection.domainListGetStats(domains, libvirt.VIR_DOMAIN_STATS_VCPU, flags)
    told = {domain.UUIDString().lower(): wanted(record) for domain, record in records}
    return {uuid: counters for uuid, counters in told.items() if counters}


def wanted(record: Mapping[str, Any]) -> Counters:
    """KVM's counters in a record; vCPU numbers may have gaps. Asks for names: taking 430 keys apart costs far more."""
    maximum = record.get("vcpu.maximum", 0)
    vcpus = range(min(maximum, MOST_VCPUS) if isinstance(maximum, int) else 0)
    keys = [key for vcpu in vcpus for name in KVM_COUNTERS if (key := f"vcpu.{vcpu}.{name}.sum") in record]
    if not any(key.endswith(".exits.sum") for key in keys):
        keys += [key for key in record if f".{EXIT_FAMILY}" in key and _is_family(key)]
    return {key: record[key] for key in keys if isinstance(record[key], int) and record[key] >= 0}


def _is_family(key: str) -> bool:
    """Whether a key is ``vcpu.N.exit_NAME.sum``."""
    parts = key.split(".")
    return len(parts) == 4 and (parts[0], parts[3]) == ("vcpu", "sum") and parts[2].startswith(EXIT_FAMILY)  # noqa: PLR2004 - the parts just named
