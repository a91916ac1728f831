"""Messages that are well formed, messages that are not, and the running kernel."""

from __future__ import annotations

import errno
import os
import socket
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tuneagent.machine import ethtool, links, netlink, queue_statistics
from tuneagent.machine.netlink import GenericNetlink, Message, Netlink, NetlinkError

ANY = settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])  # the box may be busy

PAYLOADS = st.recursive(
    st.binary(max_size=12),
    lambda inner: st.lists(st.tuples(st.integers(0, 40), inner), max_size=4).map(
        lambda pairs: b"".join(netlink.attribute(kind, payload) for kind, payload in pairs)
    ),
    max_leaves=6,
)


def test_attributes_are_padded_and_found_again() -> None:
    data = netlink.string(3, "eth0") + netlink.nested(18, netlink.string(1, "veth")) + netlink.u32(31, 4)
    assert len(data) % 4 == 0
    found = netlink.attributes(data)
    assert netlink.text(found[3]) == "eth0"
    assert netlink.text(netlink.attributes(found[18])[1]) == "veth"
    assert netlink.unsigned(found[31]) == 4


@pytest.mark.parametrize(("form", "value"), [("=B", 200), ("=H", 60_000), ("=I", 2**32 - 1), ("=Q", 2**64 - 1)])
def test_numbers_of_every_size(form: str, value: int) -> None:
    assert netlink.unsigned(struct.pack(form, value)) == value


@pytest.mark.parametrize(
    "data",
    [
        b"\x01",
        struct.pack("=HH", 3, 1),
        struct.pack("=HH", 0, 0),
        struct.pack("=HH", 5, 1),
        netlink.u32(1, 1) + struct.pack("=HH", 65_535, 1),
        netlink.u32(1, 1)[:-1],
    ],
)
def test_attributes_that_are_none(data: bytes) -> None:
    with pytest.raises(NetlinkError) as caught:
        netlink.attributes(data)
    assert caught.value.errno == errno.EBADMSG


def test_numbers_that_are_none() -> None:
    for size in (0, 3, 5, 9):
        with pytest.raises(NetlinkError):
            netlink.unsigned(bytes(size))


def message(kind: int, body: bytes, flags: int = 0, sequence: int = 7) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, flags, sequence, 0) + body + bytes(-len(body) % 4)


def test_messages_of_a_datagram() -> None:
    datagram = message(0x10, b"abcde", 2) + message(3, b"", 0, 8)
    assert list(netlink.messages(datagram)) == [Message(0x10, 2, 7, b"abcde"), Message(3, 0, 8, b"")]


@pytest.mark.parametrize(
    "datagram", [b"x", struct.pack("=IHHII", 15, 16, 0, 0, 0), struct.pack("=IHHII", 17, 2, 0, 0, 0)]
)
def test_messages_that_are_none(datagram: bytes) -> None:
    with pytest.raises(NetlinkError):
        list(netlink.messages(datagram))


def test_a_refusal_has_the_words_of_the_kernel() -> None:
    words = netlink.string(netlink.NLMSGERR_ATTR_MSG, "no such queue")
    request = netlink.u32(1, 5) + b"x"
    head = struct.pack("=IHHII", 16 + len(request), 0x10, 5, 7, 0)
    whole = struct.pack("=i", -errno.EINVAL) + head + request + bytes(3) + words
    capped = struct.pack("=i", -errno.EINVAL) + head + words
    for flags, body in ((netlink.NLM_F_ACK_TLVS, whole), (netlink.NLM_F_ACK_TLVS | netlink.NLM_F_CAPPED, capped)):
        error = netlink.refusal(Message(netlink.NLMSG_ERROR, flags, 7, body))
        assert error is not None
        assert (error.errno, error.strerror) == (errno.EINVAL, "Invalid argument: no such queue")
    plain = netlink.refusal(Message(netlink.NLMSG_ERROR, 0, 7, whole))
    assert plain is not None
    assert plain.strerror == "Invalid argument"


def test_an_acknowledgement_is_no_refusal() -> None:
    assert netlink.refusal(Message(netlink.NLMSG_ERROR, 0, 7, bytes(20))) is None
    assert netlink.refusal(Message(netlink.NLMSG_DONE, 0, 7, bytes(4))) is None
    assert netlink.refusal(Message(netlink.NLMSG_DONE, 0, 7, b"")) is None
    ended = netlink.refusal(Message(netlink.NLMSG_DONE, 0, 7, struct.pack("=i", -errno.EOPNOTSUPP)))
    assert ended is not None
    assert ended.errno == errno.EOPNOTSUPP


@ANY
@given(st.binary(max_size=200) | PAYLOADS)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    readers = (
        lambda: netlink.attributes(data),
        lambda: [netlink.refusal(found) for found in netlink.messages(data)],
        lambda: netlink.refusal(Message(netlink.NLMSG_ERROR, netlink.NLM_F_ACK_TLVS, 1, data)),
        lambda: netlink.refusal(Message(netlink.NLMSG_DONE, netlink.NLM_F_ACK_TLVS, 1, data)),
        lambda: links.link(data),
        lambda: links.link(bytes(16) + data),
        lambda: ethtool.bitset(data),
    )
    for read in readers:
        try:
            read()
        except NetlinkError as error:
            assert error.errno is not None  # noqa: PT017 - either way is right; only the kind of error is tested


@ANY
@given(st.dictionaries(st.integers(0, 40), PAYLOADS, max_size=8))
def test_any_attributes_are_read_or_refused(answer: dict[int, bytes]) -> None:
    readers = (
        lambda: ethtool.interface_name(answer),
        lambda: ethtool.channels(answer),
        lambda: ethtool.rings(answer),
        lambda: ethtool.coalesce(answer),
        lambda: ethtool.features(answer, {0: "a", 70: "b"}),
        lambda: ethtool.feature_names([answer]),
        lambda: queue_statistics.by_interface([answer], {2: "eth0"}),
    )
    for read in readers:
        try:
            read()
        except NetlinkError as error:
            assert error.errno == errno.EBADMSG  # noqa: PT017 - as above


def test_a_family_that_is_not_there() -> None:
    with pytest.raises(NetlinkError) as caught:
        GenericNetlink("no-such-family")
    assert caught.value.errno == errno.ENOENT


def test_a_command_that_is_not_there() -> None:
    with GenericNetlink("ethtool") as family, pytest.raises(NetlinkError) as caught:
        family.dump(250)
    assert caught.value.errno == errno.EOPNOTSUPP


def test_the_kernel_says_why() -> None:
    header = netlink.nested(1, netlink.string(2, "no-such-nic"))
    with GenericNetlink("ethtool") as family, pytest.raises(NetlinkError) as caught:
        family.request(ethtool.CHANNELS_GET, header)
    assert caught.value.errno == errno.ENODEV
    assert caught.value.strerror == f"{os.strerror(errno.ENODEV)}: no device matches name"


def test_silence_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netlink, "TIMEOUT_S", 0.05)
    with Netlink(netlink.NETLINK_ROUTE) as client, pytest.raises(NetlinkError) as caught:
        client._ask(netlink.NLMSG_MIN_TYPE - 15, netlink.NLM_F_REQUEST, b"")  # noqa: SLF001 - NLMSG_NOOP has no answer
    assert caught.value.errno == errno.ETIMEDOUT


def test_others_who_send_to_our_socket_are_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netlink, "TIMEOUT_S", 0.05)
    with Netlink(netlink.NETLINK_ROUTE) as client:
        client._socket.bind((0, 0))  # noqa: SLF001 - the address to forge an answer for
        address = client._socket.getsockname()  # noqa: SLF001 - as above
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, netlink.NETLINK_ROUTE) as other:
            try:
                other.sendto(message(netlink.NLMSG_DONE, bytes(4), 2, 1), address)
            except PermissionError:
                pytest.skip("only root sends to another process here")
        with pytest.raises(NetlinkError) as caught:
            client._ask(netlink.NLMSG_MIN_TYPE - 15, netlink.NLM_F_REQUEST, b"")  # noqa: SLF001 - as above
    assert caught.value.errno == errno.ETIMEDOUT


def test_an_interrupted_dump_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def ask(*_: object) -> list[bytes]:
        asked.append(1)
        if len(asked) < netlink.MAX_RETRIES:
            raise InterruptedError(errno.EINTR, "")
        return [b"whole"]

    monkeypatch.setattr(Netlink, "_ask", ask)
    with Netlink(netlink.NETLINK_ROUTE) as client:
        assert client.dump(18, b"") == [b"whole"]
        monkeypatch.setattr(netlink, "MAX_RETRIES", 0)
        with pytest.raises(NetlinkError):
            client.dump(18, b"")
