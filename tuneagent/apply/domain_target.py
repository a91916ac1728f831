"""Which domain of which libvirt a target means. Targets come out of plan files and journals: each word is checked."""

from __future__ import annotations

import re

from tuneagent.apply.actuator import Refusal, Why
from tuneagent.model.plan import Target

SYSTEM = "qemu:///system"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LOCAL = re.compile(r"(?:qemu(?:\+unix)?:///(?:system|session)|test:///[\w./-]{1,512})", re.ASCII)
"""Without a host, a transport that runs a program, and parameters: ``?command=`` names one that libvirt executes."""


def uuid_of(target: Target) -> str:
    """The domain's UUID, lower case. Refusal where it is none."""
    uuid = target.domain_uuid
    if uuid is None or _UUID.fullmatch(uuid.lower()) is None:
        raise Refusal(Why.FACT, "which virtual machine is meant is not told: run it on the hypervisor")
    return uuid.lower()


def uri_of(target: Target) -> str:
    """The connection of this machine's libvirt that has the domain. Refusal for any other."""
    uri = target.uri or SYSTEM
    if _LOCAL.fullmatch(uri) is None:
        raise Refusal(Why.FACT, "only libvirt's own connections on this machine are written to, such as qemu:///system")
    return uri
