from __future__ import annotations

import errno
import os
import socket

import pytest

from tests.apply import nics
from tests.machine import oracle
from tuneagent.machine import ethtool_set, xdp
from tuneagent.machine.ethtool_set import CHANNELS, COALESCE, RINGS, Interface, Setting
from tuneagent.machine.netlink import NetlinkError

pytestmark = [pytest.mark.namespaces, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]
VETH = Interface("veth1")


def refused(setting: Setting, interface: Interface, **values: int) -> NetlinkError:
    with pytest.raises(NetlinkError) as caught:
        ethtool_set.write(setting, interface, values)
    return caught.value


def test_what_is_read_is_what_ethtool_reads() -> None:
    with nics.veth():
        assert ethtool_set.read(CHANNELS, VETH) == oracle.channels("veth1")
    with nics.tap():
        assert ethtool_set.read(COALESCE, Interface("tap7")) == oracle.coalesce("tap7")


def test_only_what_is_named_is_set() -> None:
    with nics.veth():
        ethtool_set.write(CHANNELS, Interface("veth1", socket.if_nametoindex("veth1")), {"rx": 2})
        shown = oracle.channels("veth1")
        assert shown is not None
        assert (shown["rx"], shown["tx"]) == (2, 3)


def test_all_of_a_request_or_none_of_it() -> None:
    with nics.veth():
        error = refused(CHANNELS, VETH, rx=1, tx=4)
        assert (error.errno, error.strerror) == (
            errno.EINVAL,
            "Invalid argument: requested channel count exceeds maximum",
        )
        assert ethtool_set.read(CHANNELS, VETH)["rx"] == 4


def test_the_interface_is_the_one_that_is_meant() -> None:
    with nics.veth():
        wrong = Interface("veth1", socket.if_nametoindex("veth0"))
        assert refused(CHANNELS, wrong, rx=1).errno == errno.ENODEV
        assert refused(CHANNELS, Interface("veth9"), rx=1).errno == errno.ENODEV


def test_what_a_driver_cannot_do() -> None:
    with nics.veth():
        for setting, values in ((RINGS, {"rx": 64}), (COALESCE, {"rx_usecs": 5})):
            assert refused(setting, VETH, **values).errno == errno.EOPNOTSUPP
            with pytest.raises(NetlinkError) as caught:
                ethtool_set.read(setting, VETH)
            assert caught.value.errno == errno.EOPNOTSUPP
    with nics.tap():
        error = refused(COALESCE, Interface("tap7"), rx_usecs=5)
        assert error.strerror == "Invalid argument: cannot modify an unsupported parameter"
        assert refused(COALESCE, Interface("tap7"), adaptive_rx=True).strerror == error.strerror


@pytest.mark.parametrize("value", [-1, 2**32])
def test_a_number_that_is_no_u32_is_not_sent(value: int) -> None:
    assert refused(CHANNELS, VETH, rx=value).errno == errno.ERANGE


def test_no_program_is_loaded_on_an_interface_that_is_not_there() -> None:
    with nics.veth(), pytest.raises(NetlinkError) as caught:
        xdp.loaded(4_711)
    assert caught.value.errno == errno.ENODEV
