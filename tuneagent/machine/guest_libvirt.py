"""The way to a guest's agent that libvirt is: virDomainQemuAgentCommand of libvirt-qemu.

A read-only connection is refused there, so this is a second connection, which can write; it is opened only for a guest
that somebody asked to look into, and used for nothing else. libvirt allows one command at a time and synchronises with
the agent itself (guest-sync), so that no late answer of an earlier command is taken for a new one.
"""

from __future__ import annotations

from typing import Any

from tuneagent.machine.guest_agent import LONGEST_CALL_S, NAME, JsonTransport, garbled, quoted, refused
from tuneagent.machine.libvirt_connection import INSTALL, Connection, bindings
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

NO_CHANNEL = "add <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel> to its devices"
NOT_CONNECTED = "install and start qemu-guest-agent in the guest"
GRACE_S = 3.0
"""libvirt waits for the guest as long as it was told, and may wait for its own lock before."""

_OF_THE_CONNECTION = (
    "OPERATION_DENIED",
    "ACCESS_DENIED",
    "AUTH_FAILED",
    "AUTH_CANCELLED",
    "AUTH_UNAVAILABLE",
    "SYSTEM_ERROR",
    "NO_SUPPORT",
    "NO_CONNECT",
    "RPC",
)
_LATE = "{command} timed out: the guest does not answer"
_KINDS = (
    ("NO_DOMAIN", "no domain with matching", Reason.ABSENT, "libvirt has no such domain now", None),
    (None, "not configured", Reason.ABSENT, "the domain's definition has no guest agent channel", NO_CHANNEL),
    (None, "not running", Reason.ABSENT, "the domain is not running", None),
    ("AGENT_COMMAND_TIMEOUT", "timed out", Reason.FAILED, _LATE, NOT_CONNECTED),
    (None, "not available for now", Reason.FAILED, _LATE, NOT_CONNECTED),
    ("AGENT_UNRESPONSIVE", "agent is not connected", Reason.ABSENT, "no agent answers in the guest", NOT_CONNECTED),
)
"""libvirt's code (VIR_ERR_…) or words of its message (src/qemu/qemu_domain.c, qemu_agent.c), and what they mean."""


def transport(uri: str, uuid: str) -> JsonTransport:
    """The agent of the domain with this UUID at a libvirt connection such as ``qemu:///system``.

    SourceError, here and at each question: ABSENT without libvirt's library, daemon, domain, channel or an agent that
    runs, PERMISSION where libvirt refuses, FAILED where nobody answers in time.
    """
    libvirt, libvirt_qemu = bindings(), _qemu()
    connection = Connection(uri, read_only=False, timeout_s=LONGEST_CALL_S + GRACE_S)

    def exchange(command: str, request: str, seconds: int) -> str:
        def question(connected: Any) -> str | SourceError:
            try:
                domain = connected.lookupByUUIDString(uuid)
                return str(libvirt_qemu.qemuAgentCommand(domain, request, seconds, 0))
            except UnicodeDecodeError:  # libvirt-python makes a str of the guest's bytes
                return garbled(command, "not UTF-8")
            except libvirt.libvirtError as error:
                if _has_code(libvirt, error, _OF_THE_CONNECTION):
                    raise
                return failure_of(libvirt, command, error)

        answer = connection.ask(question)
        if isinstance(answer, SourceError):
            raise answer
        return answer

    return JsonTransport(exchange)


def failure_of(libvirt: Any, command: str, error: Any) -> SourceError:
    """What a libvirtError says of the domain, its agent, or the command: the agent's own errors come so as well."""
    said = str(error.get_error_message() or error)
    for code, words, reason, detail, remedy in _KINDS:
        if words in said or (code is not None and _has_code(libvirt, error, (code,))):
            return SourceError(NAME, reason, detail.format(command=command), remedy)
    return refused(command, said)


def _has_code(libvirt: Any, error: Any, names: tuple[str, ...]) -> bool:
    # Older libraries lack the newer names.
    return any(getattr(libvirt, f"VIR_ERR_{name}", None) == error.get_error_code() for name in names)


def _qemu() -> Any:
    try:
        import libvirt_qemu  # noqa: PLC0415 - a shared library that guests do without
    except ImportError as error:
        detail = f"libvirt-python has no libvirt_qemu: {quoted(str(error))}"
        raise SourceError(NAME, Reason.ABSENT, detail, INSTALL) from None
    return libvirt_qemu
