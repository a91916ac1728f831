"""The few calls of libvirt that change a domain, and its definitions as they are now (libvirt-domain.h).

Definitions are read over a read-only connection. One that may write is opened with the first change, and not before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tuneagent.machine.libvirt_connection import Connection, bindings, one_line
from tuneagent.machine.libvirt_domains import STATES
from tuneagent.model.cpuset import MAX_CPUS, CpuSet
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

WRITE_TIMEOUT_S = 40.0
"""libvirt itself waits 30 s for others that change the same domain."""
POLL_S = 0.25

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Definitions:
    """What a domain is now, and what it will be at its next cold start. Secrets are in neither."""

    state: str
    """libvirt's word: ``running``, ``paused``, ``shut off``…"""
    live: str | None
    """None while it does not run."""
    stored: str | None
    """None for a transient domain."""


class LibvirtWriting:
    """One libvirt of this machine. Domains are named by UUID.

    Everything raises SourceError: ABSENT where there is no libvirt, PERMISSION, UNSUPPORTED for what this domain or
    libvirt cannot, FAILED for all else, also where there is no answer in time and for a domain that has gone since.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._reading = Connection(uri)
        self._writing = Connection(uri, read_only=False, timeout_s=WRITE_TIMEOUT_S)

    def close(self) -> None:
        """Ends both connections; they may be asked again."""
        self._reading.close()
        self._writing.close()

    def definitions(self, uuid: str) -> Definitions | None:
        """Both definitions; None where there is no such domain."""
        return self._reading.ask(lambda connection: _definitions(connection, uuid))

    def emulator_cpus(self, uuid: str) -> CpuSet:
        """Where the emulator of a running domain may run: as pinned, else as its vCPUs are, else on every CPU."""
        libvirt = bindings()

        def question(connection: Any) -> tuple[bool, ...]:
            pins: tuple[bool, ...] = connection.lookupByUUIDString(uuid).emulatorPinInfo(libvirt.VIR_DOMAIN_AFFECT_LIVE)
            return pins

        return CpuSet.of(cpu for cpu, is_in in enumerate(self._reading.ask(question)[:MAX_CPUS]) if is_in)

    def pin_emulator(self, uuid: str, cpus: CpuSet, *, live: bool) -> None:
        """``virsh emulatorpin`` with ``--live`` or ``--config``. CPUs that the host does not have are left out."""
        libvirt = bindings()
        flag = libvirt.VIR_DOMAIN_AFFECT_LIVE if live else libvirt.VIR_DOMAIN_AFFECT_CONFIG
        wanted = tuple(cpu in cpus for cpu in range(max(cpus, default=0) + 1))
        self._change(uuid, lambda domain: domain.pinEmulator(wanted, flag))

    def redefine(self, uuid: str, edit: Callable[[str], str]) -> None:
        """Defines anew what ``edit`` makes of the stored definition, which it is given with its secrets."""
        libvirt = bindings()
        flags = libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE  # else passwords would be lost by it

        def question(domain: Any) -> None:
            domain.connect().defineXML(edit(domain.XMLDesc(flags)))

        self._change(uuid, question)

    def update_stored_device(self, uuid: str, element: str) -> None:
        """``virsh update-device --config``: the device in the stored definition becomes this element."""
        flag = bindings().VIR_DOMAIN_AFFECT_CONFIG
        self._change(uuid, lambda domain: domain.updateDeviceFlags(element, flag))

    def detach_device(self, uuid: str, element: str) -> None:
        """``virsh detach-device --live``: asks the guest to let go of the device; ``await_true`` tells when it has."""
        flag = bindings().VIR_DOMAIN_AFFECT_LIVE
        self._change(uuid, lambda domain: domain.detachDeviceFlags(element, flag))

    def attach_device(self, uuid: str, element: str) -> None:
        """``virsh attach-device --live``."""
        flag = bindings().VIR_DOMAIN_AFFECT_LIVE
        self._change(uuid, lambda domain: domain.attachDeviceFlags(element, flag))

    def await_live(self, uuid: str, is_so: Callable[[str], bool], seconds: float) -> bool:
        """Whether the running definition became so within the time; True as well where it runs no more."""
        deadline = time.monotonic() + seconds
        while True:
            now = self.definitions(uuid)
            if now is None or now.live is None or is_so(now.live):
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)

    def _change(self, uuid: str, call: Callable[[Any], object]) -> None:
        refused = self._writing.ask(lambda connection: _refusal(self.uri, connection, uuid, call))
        if refused is not None:
            raise refused


def _definitions(connection: Any, uuid: str) -> Definitions | None:
    libvirt = bindings()
    try:
        domain = connection.lookupByUUIDString(uuid)
        number, runs = domain.state()[0], domain.isActive()
        live = domain.XMLDesc(0) if runs else None
        stored = domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE) if domain.isPersistent() else None
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            return None
        raise
    return Definitions(STATES[number] if 0 <= number < len(STATES) else f"state {number}", live, stored)


def _refusal(uri: str, connection: Any, uuid: str, call: Callable[[Any], object]) -> SourceError | None:
    """What libvirt cannot do, given and not raised: an error raised here would hold libvirt's objects."""
    libvirt = bindings()
    cannot = {
        libvirt.VIR_ERR_OPERATION_UNSUPPORTED,
        libvirt.VIR_ERR_CONFIG_UNSUPPORTED,
        libvirt.VIR_ERR_ARGUMENT_UNSUPPORTED,
    }
    try:
        call(connection.lookupByUUIDString(uuid))
    except libvirt.libvirtError as error:
        if error.get_error_code() not in cannot:
            raise
        return SourceError(uri, Reason.UNSUPPORTED, one_line(error.get_error_message() or str(error)))
    return None
