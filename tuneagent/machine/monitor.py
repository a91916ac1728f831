"""What QEMU's monitor says of its virtio-net devices: x-query-virtio and its kin (qapi/virtio.json, QEMU 7.2).

Asked only where that is allowed: it needs a read-write connection, and any command of the monitor marks the domain as
tainted ("custom-monitor") in libvirt's eyes and log, until it is started anew.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from tuneagent.machine.captured_json import CapturedJsonError, count, decode, inside, mapping, text
from tuneagent.machine.libvirt_connection import Connections, bindings, none_answered
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

NAME = "virtio-status"
NOT_ASKED = "the monitor was not asked"
MOST_DOMAINS = 4096
MOST_DEVICES = 64
MOST_PAIRS = 256
MOST_FEATURES = 256

_BACKEND = re.compile(r"/machine/peripheral/([^/\s]{1,64})/virtio-backend")
_DRIVER_OK = "VIRTIO_CONFIG_S_DRIVER_OK"

Command = Callable[..., Any]
"""A monitor command by name, with its arguments; gives what it returns, and raises SourceError."""


def read(connections: Connections) -> dict[str, list[dict[str, Any]]]:
    """``{uuid: [{"alias": "net0", "features": […], "queues_active": 2 | null, "vhost_started": true | null}]}``.

    Of running domains, and of devices that a driver in the guest has set up: before that nothing is negotiated.
    Raises SourceError where no connection answered, and where none of the domains did: UNSUPPORTED of an older QEMU.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    failures: list[SourceError] = []
    uuids: list[tuple[Any, str]] = []
    for connection in connections.all():
        try:
            uuids += [(connection, uuid) for uuid in connection.ask(_running)]
        except SourceError as error:
            failures.append(error)
    for connection, uuid in uuids:
        try:
            devices = connection.ask(functools.partial(_devices_of, uuid))
        except SourceError as error:
            failures.append(error)
        else:
            if devices is not None:
                found[uuid] = devices
    if failures and not found:
        raise none_answered(NAME, failures)
    return found


def _running(connection: Any) -> list[str]:
    if connection.getType() != "QEMU":
        raise SourceError(connection.getURI(), Reason.UNSUPPORTED, "not QEMU's driver: it has no monitor")
    domains = connection.listAllDomains(bindings().VIR_CONNECT_LIST_DOMAINS_RUNNING)
    return [domain.UUIDString().lower() for domain in domains[:MOST_DOMAINS]]


def _devices_of(uuid: str, connection: Any) -> list[dict[str, Any]] | None:
    """A domain's devices; None for one that has gone."""
    libvirt = bindings()
    import libvirt_qemu  # noqa: PLC0415 - part of libvirt-python

    def ask(name: str, **arguments: Any) -> Any:
        line = json.dumps({"execute": name, "arguments": arguments})
        return returned(libvirt_qemu.qemuMonitorCommand(domain, line, 0))

    try:
        domain = connection.lookupByUUIDString(uuid)
        return devices(ask)
    except libvirt.libvirtError as error:
        if error.get_error_code() in (libvirt.VIR_ERR_NO_DOMAIN, libvirt.VIR_ERR_OPERATION_INVALID):
            return None
        raise


def returned(reply: str) -> Any:
    """What a monitor's reply returns (docs/interop/qmp-spec). Raises SourceError: UNSUPPORTED without that command."""
    try:
        fields = mapping(decode(reply), "$")
        if "error" not in fields:
            return fields.get("return")
        error = mapping(fields["error"], "$.error")
        word, detail = (text(error.get(key), inside("$.error", key)) for key in ("class", "desc"))
    except CapturedJsonError as wrong:
        raise SourceError(NAME, Reason.MALFORMED, f"a reply of QEMU's monitor: {wrong}") from None
    if word == "CommandNotFound":
        raise SourceError(NAME, Reason.UNSUPPORTED, "QEMU's monitor has no x-query-virtio: it has from QEMU 7.2 on")
    raise SourceError(NAME, Reason.FAILED, f"QEMU's monitor: {detail:.200}")


def devices(ask: Command) -> list[dict[str, Any]]:
    """The virtio-net devices that one QEMU has and that a driver has set up. Raises SourceError."""
    try:
        paths = _paths(ask("x-query-virtio"))
        told = [_device(ask, alias, path) for alias, path in paths]
    except CapturedJsonError as wrong:
        raise SourceError(NAME, Reason.MALFORMED, f"a reply of QEMU's monitor: {wrong}") from None
    return [device for device in told if device is not None]


def _paths(value: Any) -> list[tuple[str, str]]:
    """Aliases and QOM paths; a device that libvirt gave no alias is none of its interfaces."""
    paths = []
    for index, row in enumerate(_array(value, "$", MOST_DEVICES)):
        fields = mapping(row, f"$[{index}]")
        path = text(fields.get("path"), f"$[{index}].path")
        match = _BACKEND.fullmatch(path)
        if fields.get("name") == "virtio-net" and match is not None:
            paths.append((match[1], path))
    return paths


def _device(ask: Command, alias: str, path: str) -> dict[str, Any] | None:
    status = mapping(ask("x-query-virtio-status", path=path), "$")
    if not any(word.startswith(_DRIVER_OK) for word in _words(status, "status", "statuses")):
        return None
    features = [*_words(status, "guest-features", "transports"), *_words(status, "guest-features", "dev-features")]
    started = status.get("vhost-started")
    return {
        "alias": alias,
        "features": features,
        "queues_active": _pairs_set_up(ask, path, count(status.get("num-vqs"), "$.num-vqs")),
        "vhost_started": started if isinstance(started, bool) else None,
    }


def _pairs_set_up(ask: Command, path: str, queues: int) -> int | None:
    """Queue pairs whose receive queue has a ring; the control queue is no pair. None where that is not told."""
    pairs = 0
    for pair in range(min(queues // 2, MOST_PAIRS)):
        try:
            queue = mapping(ask("x-query-virtio-queue-status", path=path, queue=2 * pair), "$")
        except SourceError:
            return None
        pairs += count(queue.get("vring-desc"), "$.vring-desc") != 0
    return pairs


def _words(status: dict[str, Any], section: str, name: str) -> list[str]:
    path = f"{inside('$', section)}.{name}"
    words = _array(mapping(status.get(section), inside("$", section)).get(name), path, MOST_FEATURES)
    return [text(word, f"{path}[{index}]") for index, word in enumerate(words)]


def _array(value: Any, path: str, most: int) -> Sequence[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise CapturedJsonError(path, f"an array of at most {most} is expected")
    return value
