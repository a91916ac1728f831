from __future__ import annotations

import errno
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.apply import nics, xdp_program
from tests.apply.namespace import sh
from tests.trees import Wiring
from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.channels import ChannelCount
from tuneagent.machine import xdp
from tuneagent.machine.netlink import NetlinkError
from tuneagent.model.plan import TunableKind
from tuneagent.model.transaction import Effect

KIND = TunableKind.CHANNELS
real = [pytest.mark.namespaces, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]


def shown(name: str = "veth1") -> tuple[str, str]:
    """Receive and transmit channels in use, as the ethtool program says it."""
    (_, rx), (_, tx) = (re.findall(rf"^{way}:\s+(\S+)", sh(f"ethtool -l {name}"), re.MULTILINE) for way in ("RX", "TX"))
    return rx, tx


class TestVeth:
    pytestmark = real

    def test_channels_are_set_and_given_back_as_ethtool_sees_them(self) -> None:
        with nics.veth() as machine:
            actuator = ChannelCount(machine)
            place = actuator.locate(KIND, nics.VETH)
            old = actuator.read(place)
            assert (old, place.where) == ("rx=4 tx=3", "ethtool channels of veth1: rx, tx")
            actuator.write(place, "rx=2 tx=3")
            assert (actuator.read(place), shown()) == ("rx=2 tx=3", ("2", "3"))
            seen = actuator.effect(place, "rx=2 tx=3", None)
            assert (seen.effect, seen.detail) == (Effect.VERIFIED, "2 receive and 3 transmit queues are in use")
            assert actuator.effect(place, "rx=3 tx=3", None).effect is Effect.CONTRADICTED
            actuator.write(place, old)
            assert shown() == ("4", "3")

    def test_the_line_for_people_does_the_same(self) -> None:
        with nics.veth() as machine:
            actuator = ChannelCount(machine)
            place = actuator.locate(KIND, nics.VETH)
            line = actuator.by_hand(place, "rx=3 tx=1")
            assert line == "ethtool -L veth1 rx 3 tx 1"
            sh(line)
            assert actuator.same(actuator.read(place), "rx=3 tx=1")

    def test_more_than_there_are_is_refused_in_the_words_of_the_kernel(self) -> None:
        with nics.veth() as machine:
            refused = nics.refusal(ChannelCount(machine), nics.VETH, "rx=4 tx=9")
            assert refused.why is Why.FAILED
            assert "requested channel count exceeds maximum" in refused.detail
            assert shown() == ("4", "3")

    def test_a_change_that_an_xdp_program_is_in_the_way_of_is_a_fact_and_nothing_is_changed(self) -> None:
        with nics.veth() as machine:
            actuator = ChannelCount(machine)
            nic = machine.lookup.nic(nics.VETH)
            assert nic.ifindex is not None
            sh("ethtool -L veth0 rx 3 tx 2")
            try:
                program = xdp_program.load()
            except OSError as error:
                pytest.skip(f"no XDP program can be loaded here: {error}")
            assert not xdp.loaded(nic.ifindex)
            xdp_program.attach(nic.ifindex, program)
            os.close(program)
            assert xdp.loaded(nic.ifindex)
            refused = nics.refusal(actuator, nics.VETH, "rx=1 tx=3")
            assert refused.why is Why.FACT
            assert refused.detail.startswith("ethtool channels of veth1: rx, tx: Invalid argument; an XDP program")
            assert shown() == ("4", "3")

    def test_an_interface_that_is_gone(self) -> None:
        with nics.veth() as machine:
            actuator = ChannelCount(machine)
            place = actuator.locate(KIND, nics.VETH)
            sh("ip link del veth1")
            with pytest.raises(Refusal) as caught:
                actuator.write(place, "rx=1 tx=1")
            assert caught.value.why is Why.GONE

    def test_another_one_of_its_name_is_not_touched(self) -> None:
        with nics.veth() as machine:
            actuator = ChannelCount(machine)
            place = actuator.locate(KIND, nics.VETH)
            sh("ip link set veth1 name away")
            sh("ip link add veth1 numtxqueues 3 numrxqueues 4 type veth peer name other")
            with pytest.raises(Refusal) as caught:
                actuator.write(place, "rx=1 tx=1")
            assert caught.value.why is Why.GONE
            assert (shown("veth1"), shown("away")) == (("4", "3"), ("4", "3"))

    def test_without_the_right_to_it_nothing_is_changed(self) -> None:
        with nics.veth() as machine:
            code = (
                "from tests.apply import nics; from tuneagent.apply.channels import ChannelCount; "
                "r = nics.refusal(ChannelCount(nics.live()), nics.VETH, 'rx=1 tx=1'); print(r.why.value, r.remedy)"
            )
            words = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", "--"]
            words += [nics.PYTHON, "-c", code]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, cwd=nics.REPOSITORY)
            assert done.stdout.startswith("forbidden run it as root"), done.stderr
            assert shown() == ("4", "3")
            assert machine.live


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("4", None),
        (" 1 ", None),
        ("0", "0 combined channels, where the device has from 1 to 4"),
        ("5", "from 1 to 4"),
        ("rx=2 tx=2", "combined: one number"),
        ("-1", "one of rx, tx"),
        ("4 4", "one of rx, tx"),
        ("٤", "one of rx, tx"),
        ("4\n; reboot", "one of rx, tx"),
        ("9" * 5000, "characters"),
        ("", "one of rx, tx"),
    ],
)
def test_what_may_be_set(tmp_path: Path, value: str, wrong: str | None) -> None:
    actuator = ChannelCount(nics.tree(tmp_path, queues=2, queues_max=4))
    said = actuator.check(actuator.locate(KIND, nics.VIRTIO), value)
    assert (said is None) is (wrong is None)
    assert (wrong or "") in (said or "")


def test_what_is_rewritten_with_the_number_of_queues(tmp_path: Path) -> None:
    actuator = ChannelCount(nics.tree(tmp_path, queues=2, queues_max=4))
    place = actuator.locate(KIND, nics.VIRTIO)
    named = [(kind, target.queue_role, target.queue) for kind, target in actuator.rewrites(place)]
    assert set(named) == {
        *((TunableKind.IRQ_AFFINITY, role, queue) for role in ("input", "output") for queue in (0, 1)),
        *((TunableKind.XPS_CPUS, "tx", queue) for queue in (0, 1)),
        *((TunableKind.RPS_CPUS, "rx", queue) for queue in (0, 1)),
        *((TunableKind.RPS_FLOW_COUNT, "rx", queue) for queue in (0, 1)),
    }
    assert len(named) == len(set(named))
    assert {(target.bus_address, target.mac) for _, target in actuator.rewrites(place)} == {
        (nics.VIRTIO.bus_address, nics.VIRTIO.mac)
    }


def test_a_vector_that_all_queues_share_is_rewritten_too(tmp_path: Path) -> None:
    actuator = ChannelCount(nics.tree(tmp_path, wiring=Wiring.SHARED_VECTOR))
    named = actuator.rewrites(actuator.locate(KIND, nics.VIRTIO))
    shared = [target for kind, target in named if kind is TunableKind.IRQ_AFFINITY]
    assert [target.queue for target in shared] == [None]


def test_the_effect_is_what_sysfs_and_the_interrupts_show(tmp_path: Path) -> None:
    machine = nics.tree(tmp_path, queues=2, queues_max=4)
    actuator = ChannelCount(machine)
    place = actuator.locate(KIND, nics.VIRTIO)
    assert actuator.effect(place, "2", None).effect is Effect.VERIFIED
    seen = actuator.effect(place, "4", None)
    assert (seen.effect, "2 receive and 2 transmit" in seen.detail) == (Effect.CONTRADICTED, True)
    queues = tmp_path / "root/sys/class/net/eth0/queues"
    for name in ("rx-2", "tx-2"):
        (queues / name).mkdir()
    seen = actuator.effect(place, "3", None)
    assert (seen.effect, seen.detail) == (
        Effect.CONTRADICTED,
        "3 receive and 3 transmit queues are in use, and of queue 2 no interrupts have a handler",
    )


def test_in_a_tree_it_is_read_and_not_set(tmp_path: Path) -> None:
    actuator = ChannelCount(nics.tree(tmp_path, queues=2, queues_max=4))
    place = actuator.locate(KIND, nics.VIRTIO)
    assert (actuator.read(place), actuator.by_hand(place, "4")) == ("2", "ethtool -L eth0 combined 4")
    assert nics.refusal(actuator, nics.VIRTIO, "4").why is Why.FACT


def test_a_device_whose_channels_are_not_known(tmp_path: Path) -> None:
    actuator = ChannelCount(nics.tree(tmp_path, captured=False))
    assert nics.refusal(actuator, nics.VIRTIO).why is Why.FACT


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (errno.EOPNOTSUPP, Why.FACT),
        (errno.EBUSY, Why.LATER),
        (errno.EAGAIN, Why.LATER),
        (errno.ENODEV, Why.GONE),
        (errno.EPERM, Why.FORBIDDEN),
        (errno.EINVAL, Why.FAILED),
        (errno.EIO, Why.FAILED),
        (errno.ENOMEM, Why.FAILED),
    ],
)
def test_what_an_errno_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, why: Why) -> None:
    def refuse(*_: object) -> None:
        raise NetlinkError(number, f"{os.strerror(number)}: so says the driver")

    actuator = ChannelCount(nics.tree(tmp_path, queues=2, queues_max=4))
    monkeypatch.setattr("tuneagent.apply.channels.set_", refuse)
    refused = nics.refusal(actuator, nics.VIRTIO, "4")
    assert refused.why is why
    assert refused.detail.startswith(f"ethtool channels of eth0: combined: {os.strerror(number)}: so says the driver")
