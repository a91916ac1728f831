"""Netlink messages, and a client for requests and dumps (netlink(7), Documentation/userspace-api/netlink/intro.rst).

Small on purpose: it asks and reads, and can tell "the driver does not report" from 0. What goes wrong is a
NetlinkError, an OSError: the kernel's errno with the kernel's own words where it gives any (extended acknowledgement),
ETIMEDOUT, or EBADMSG for a message that is not well formed.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR = 0x1, 0x4, 0x300, 0x10
NLM_F_CAPPED, NLM_F_ACK_TLVS = 0x100, 0x200
NLMSG_ERROR, NLMSG_DONE, NLMSG_MIN_TYPE = 2, 3, 0x10
NLMSGERR_ATTR_MSG = 1
NLA_F_NESTED, NLA_TYPE_MASK = 0x8000, 0x3FFF

SOL_NETLINK, NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK = 270, 10, 11, 12
NETLINK_ROUTE, NETLINK_GENERIC = 0, 16

GENL_ID_CTRL, CTRL_CMD_GETFAMILY = 0x10, 3
CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 1, 2

TIMEOUT_S = 2.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024
MAX_RETRIES = 3
_BUFFER = 1 << 17

_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
_ATTRIBUTE = struct.Struct("=HH")  # struct nlattr
_GENERIC = struct.Struct("=BBH")  # struct genlmsghdr
_UNSIGNED = {1: struct.Struct("=B"), 2: struct.Struct("=H"), 4: struct.Struct("=I"), 8: struct.Struct("=Q")}


class NetlinkError(OSError):
    """The kernel's refusal, silence or nonsense."""


@dataclass(frozen=True, slots=True)
class Message:
    """One netlink message without its header."""

    type: int
    flags: int
    sequence: int
    body: bytes


def attribute(kind: int, payload: bytes) -> bytes:
    """One attribute, padded to four bytes."""
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(payload), kind) + payload + bytes(-len(payload) % 4)


def nested(kind: int, *attributes: bytes) -> bytes:
    """An attribute that holds attributes."""
    return attribute(kind | NLA_F_NESTED, b"".join(attributes))


def u32(kind: int, value: int) -> bytes:
    """An attribute that holds a number of four bytes."""
    return attribute(kind, _UNSIGNED[4].pack(value))


def string(kind: int, value: str) -> bytes:
    """An attribute that holds a string with its NUL."""
    return attribute(kind, os.fsencode(value) + b"\0")


def walk(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The attributes in ``data`` as (type without its flags, payload); NetlinkError when it is not well formed."""
    at = 0
    while at < len(data):
        if len(data) - at < _ATTRIBUTE.size:
            if not any(data[at:]):
                return  # padding behind the last attribute
            raise malformed("an attribute is cut off")
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if not _ATTRIBUTE.size <= length <= len(data) - at:
            raise malformed(f"an attribute of {length} bytes where {len(data) - at} are left")
        yield kind & NLA_TYPE_MASK, data[at + _ATTRIBUTE.size : at + length]
        at += length + -length % 4


def attributes(data: bytes) -> dict[int, bytes]:
    """The attributes in ``data`` by type; of a repeated type, the last. NetlinkError as in walk().

    The same as dict(walk(data)) at half its cost: an interface has fifty, and a hypervisor a thousand interfaces.
    """
    found: dict[int, bytes] = {}
    at, end, head = 0, len(data), _ATTRIBUTE.size
    unpack = _ATTRIBUTE.unpack_from
    while end - at >= head:
        length, kind = unpack(data, at)
        if not head <= length <= end - at:
            return dict(walk(data))  # which says what is wrong
        found[kind & NLA_TYPE_MASK] = data[at + head : at + length]
        at += (length + 3) & ~3
    return found if at >= end else dict(walk(data))


def unsigned(payload: bytes) -> int:
    """The number in an attribute of 1, 2, 4 or 8 bytes (NLA_U8 to NLA_U64, NLA_UINT)."""
    form = _UNSIGNED.get(len(payload))
    if form is None:
        raise malformed(f"a number of {len(payload)} bytes")
    return int(form.unpack(payload)[0])


def text(payload: bytes) -> str:
    """The string in an attribute, up to its NUL; bytes that are not UTF-8 come escaped."""
    return payload.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def malformed(detail: str) -> NetlinkError:
    """The error of a message that is not well formed."""
    return NetlinkError(errno.EBADMSG, detail)


def messages(datagram: bytes) -> Iterator[Message]:
    """The messages in one datagram."""
    at = 0
    while at < len(datagram):
        if len(datagram) - at < _HEADER.size:
            raise malformed("a message header is cut off")
        length, kind, flags, sequence, _ = _HEADER.unpack_from(datagram, at)
        if not _HEADER.size <= length <= len(datagram) - at:
            raise malformed(f"a message of {length} bytes where {len(datagram) - at} are left")
        yield Message(kind, flags, sequence, datagram[at + _HEADER.size : at + length])
        at += length + -length % 4


def refusal(message: Message) -> NetlinkError | None:
    """The error in NLMSG_ERROR or NLMSG_DONE; None in an acknowledgement (struct nlmsgerr)."""
    if len(message.body) < _UNSIGNED[4].size:
        if message.type == NLMSG_DONE:
            return None
        raise malformed("an error message without an error")
    number = -struct.unpack_from("=i", message.body)[0]
    if number == 0:
        return None
    words = _extended(message)
    detail = os.strerror(number) if 0 < number < 4096 else f"error {number}"  # noqa: PLR2004 - MAX_ERRNO
    return NetlinkError(number, f"{detail}: {words}" if words else detail)


def _extended(message: Message) -> str | None:
    if not message.flags & NLM_F_ACK_TLVS:
        return None
    at = 4
    if message.type == NLMSG_ERROR:
        at += _HEADER.size
        if not message.flags & NLM_F_CAPPED and len(message.body) >= at:
            request = _HEADER.unpack_from(message.body, 4)[0]
            at += max(0, request - _HEADER.size + -request % 4)
    found = attributes(message.body[at:]).get(NLMSGERR_ATTR_MSG)
    return None if found is None else text(found)


class Netlink:
    """One socket to one netlink protocol. Every method raises NetlinkError or another OSError, in bounded time."""

    def __init__(self, protocol: int) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol)
        self._sequence = 0
        for option in (NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK):
            # Kernels before 4.12 and 4.20 lack the last two: their answers have fewer words, that is all.
            with suppress(OSError):
                self._socket.setsockopt(SOL_NETLINK, option, 1)

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def request(self, kind: int, body: bytes) -> list[bytes]:
        """The bodies of what one request is answered with."""
        return self._ask(kind, NLM_F_REQUEST | NLM_F_ACK, body)

    def dump(self, kind: int, body: bytes) -> list[bytes]:
        """The bodies of a dump. One that a change in the kernel interrupted is asked for again, three times at most."""
        for _ in range(MAX_RETRIES):
            try:
                return self._ask(kind, NLM_F_REQUEST | NLM_F_DUMP, body)
            except InterruptedError:
                continue
        raise NetlinkError(errno.EAGAIN, "the dump was interrupted by changes again and again")

    def _ask(self, kind: int, flags: int, body: bytes) -> list[bytes]:
        self._sequence += 1
        head = _HEADER.pack(_HEADER.size + len(body), kind, flags, self._sequence, 0)
        self._socket.settimeout(TIMEOUT_S)
        self._socket.sendto(head + body, (0, 0))
        bodies: list[bytes] = []
        interrupted = False
        for message in self._answers():
            interrupted = interrupted or bool(message.flags & NLM_F_DUMP_INTR)
            if message.type in (NLMSG_ERROR, NLMSG_DONE):
                error = refusal(message)
                if error is not None:
                    raise error
                break
            if message.type >= NLMSG_MIN_TYPE:
                bodies.append(message.body)
        if interrupted:
            raise InterruptedError(errno.EINTR, "the dump was interrupted by a change")
        return bodies

    def _answers(self) -> Iterator[Message]:
        """Messages that answer the last request, until the caller has enough of them."""
        deadline = time.monotonic() + TIMEOUT_S
        size = 0
        while True:
            datagram = self._receive(deadline)
            size += len(datagram)
            if size > MAX_ANSWER_BYTES:
                raise NetlinkError(errno.EMSGSIZE, f"more than {MAX_ANSWER_BYTES} bytes of answer")
            yield from (message for message in messages(datagram) if message.sequence == self._sequence)

    def _receive(self, deadline: float) -> bytes:
        while (left := deadline - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                datagram, _, flags, sender = self._socket.recvmsg(_BUFFER)
            except TimeoutError:
                break
            if flags & socket.MSG_TRUNC:
                raise malformed(f"a datagram of more than {_BUFFER} bytes")
            if sender[0] == 0:  # from the kernel; any process may send to this socket
                return datagram
        raise NetlinkError(errno.ETIMEDOUT, f"no answer within {TIMEOUT_S:g} s")


class GenericNetlink:
    """One generic netlink family, found by its name (Documentation/netlink/specs/nlctrl.yaml).

    NetlinkError with ENOENT where the kernel has no such family.
    """

    def __init__(self, family: str, version: int = 1) -> None:
        self._netlink = Netlink(NETLINK_GENERIC)
        self._version = version
        try:
            self._id = self._resolve(family)
        except OSError:
            self._netlink.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._netlink.close()

    def request(self, command: int, body: bytes) -> list[dict[int, bytes]]:
        """The attributes of each message of the answer."""
        return [_generic(answer) for answer in self._netlink.request(self._id, self._head(command) + body)]

    def dump(self, command: int, body: bytes = b"") -> list[dict[int, bytes]]:
        """The attributes of each message of a dump."""
        return [_generic(answer) for answer in self._netlink.dump(self._id, self._head(command) + body)]

    def _head(self, command: int) -> bytes:
        return _GENERIC.pack(command, self._version, 0)

    def _resolve(self, family: str) -> int:
        head = _GENERIC.pack(CTRL_CMD_GETFAMILY, 1, 0)
        for answer in self._netlink.request(GENL_ID_CTRL, head + string(CTRL_ATTR_FAMILY_NAME, family)):
            found = _generic(answer).get(CTRL_ATTR_FAMILY_ID)
            if found is not None:
                return unsigned(found)
        raise malformed(f"no id in the answer for the family {family}")


def _generic(body: bytes) -> dict[int, bytes]:
    if len(body) < _GENERIC.size:
        raise malformed("a generic netlink header is cut off")
    return attributes(body[_GENERIC.size :])
