"""The interfaces through which the operator came in: what must not be cut off without a way back (rtnetlink(7)).

sshd leaves ``SSH_CONNECTION`` in the environment of the session: the client's address and port, ours and our port.
sudo(8) and ``su -`` take it away, so that it is looked for in the processes that we come from as well.
"""

from __future__ import annotations

import ipaddress
import os
import struct
from collections.abc import Mapping

from tuneagent.machine.links import IFLA_IFNAME, IFLA_MASTER, RTM_GETLINK
from tuneagent.machine.netlink import NETLINK_ROUTE, Netlink, attributes, malformed, text, unsigned
from tuneagent.machine.reasons import source_error

NAME = "addresses"
VARIABLE = "SSH_CONNECTION"
MOST_ANCESTORS = 64
MOST_ENVIRONMENT_BYTES = 1 << 20
_FIELDS = 4

RTM_GETADDR = 22
IFA_ADDRESS, IFA_LOCAL = 1, 2
IFLA_LINK, IFLA_LINK_NETNSID = 5, 37
_IFINFO = struct.Struct("=BxHiII")  # struct ifinfomsg
_IFADDR = struct.Struct("=BBBBI")  # struct ifaddrmsg

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def ssh_address(environment: Mapping[str, str]) -> str | None:
    """The address of this machine that the operator's ssh session is to; None where there is no such session."""
    found = environment.get(VARIABLE) or _of_ancestors()
    fields = found.split() if found else []
    return fields[2] if len(fields) == _FIELDS else None


def interfaces(address: str) -> frozenset[str]:
    """Names of those that hold this address, and of all below them: ports of a bridge, a bond's, what a VLAN is on.

    Empty where none holds it, which is so behind a proxy in another network namespace. SourceError where the kernel
    does not answer.
    """
    try:
        wanted, _, zone = address.partition("%")
        sought = _plain(ipaddress.ip_address(wanted))
    except ValueError:
        return frozenset()
    try:
        with Netlink(NETLINK_ROUTE) as netlink:
            held = [_held(body) for body in netlink.dump(RTM_GETADDR, _IFADDR.pack(0, 0, 0, 0, 0))]
            links = _Links(netlink.dump(RTM_GETLINK, _IFINFO.pack(0, 0, 0, 0, 0)))
    except OSError as error:
        raise source_error(NAME, error) from None
    holders = {index for index, one in held if one == sought}
    return links.names(links.with_lower({index for index in holders if not zone or links.is_called(index, zone)}))


class _Links:
    """What lies on what, by number."""

    def __init__(self, bodies: list[bytes]) -> None:
        self._names: dict[int, str] = {}
        self._lower: dict[int, set[int]] = {}
        for body in bodies:
            self._add(body)

    def names(self, numbers: set[int]) -> frozenset[str]:
        return frozenset(self._names[number] for number in numbers if number in self._names)

    def is_called(self, number: int, zone: str) -> bool:
        """A zone is an interface's name, or its number."""
        return zone in {self._names.get(number), str(number)}

    def with_lower(self, numbers: set[int]) -> set[int]:
        found: set[int] = set()
        todo = list(numbers)
        while todo:
            number = todo.pop()
            if number not in found:
                found.add(number)
                todo.extend(self._lower.get(number, ()))
        return found

    def _add(self, body: bytes) -> None:
        if len(body) < _IFINFO.size:
            raise malformed("an ifinfomsg is cut off")
        number = _IFINFO.unpack_from(body)[2]
        found = attributes(body[_IFINFO.size :])
        if IFLA_IFNAME in found:
            self._names[number] = text(found[IFLA_IFNAME])
        if IFLA_MASTER in found:
            self._lower.setdefault(unsigned(found[IFLA_MASTER]), set()).add(number)
        if IFLA_LINK in found and IFLA_LINK_NETNSID not in found:  # else it is a number of another namespace
            self._lower.setdefault(number, set()).add(unsigned(found[IFLA_LINK]))


def _held(body: bytes) -> tuple[int, Address | None]:
    """Interface and its own address of one RTM_NEWADDR; None for a family without IP addresses."""
    if len(body) < _IFADDR.size:
        raise malformed("an ifaddrmsg is cut off")
    number = _IFADDR.unpack_from(body)[4]
    found = attributes(body[_IFADDR.size :])
    # On a point-to-point link IFA_ADDRESS is the other end's (include/uapi/linux/if_addr.h).
    packed = found.get(IFA_LOCAL, found.get(IFA_ADDRESS, b""))
    return number, ipaddress.ip_address(packed) if len(packed) in {4, 16} else None


def _plain(address: Address) -> Address:
    """An IPv4 client of a socket for both is ``::ffff:192.0.2.1`` to it."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _of_ancestors() -> str | None:
    pid: int | None = os.getppid()
    for _ in range(MOST_ANCESTORS):
        if not pid:
            break
        found = _of_process(pid)
        if found:
            return found
        pid = _parent(pid)
    return None


def _of_process(pid: int) -> str | None:
    start = f"{VARIABLE}=".encode()
    entries = _bytes(f"/proc/{pid}/environ").split(b"\0")
    entry = next((entry for entry in entries if entry.startswith(start)), b"")
    return entry.removeprefix(start).decode("ascii", "replace") or None


def _parent(pid: int) -> int | None:
    lines = _bytes(f"/proc/{pid}/status").splitlines()
    word = next((line.partition(b":")[2].strip() for line in lines if line.startswith(b"PPid:")), b"")
    return int(word) if word.isdigit() and len(word) <= 10 else None  # noqa: PLR2004 - digits of a pid at most


def _bytes(path: str) -> bytes:
    """Nothing where it may not be read, or the process has ended: then less is known of where we come from."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(MOST_ENVIRONMENT_BYTES) or b""
    except OSError:
        return b""
