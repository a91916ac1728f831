from __future__ import annotations

import pytest

from tests import make
from tuneagent.model.plan import TunableKind
from tuneagent.plan.sweepable import SweepError, change, values


def test_values_keep_their_order_and_are_told_once() -> None:
    assert values("channels=4,1,2,1") == ("channels", ("4", "1", "2"))
    assert values("halt_poll_ns=0,200000") == ("halt_poll_ns", ("0", "200000"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("channels", "is no TUNABLE=VALUE"),
        ("mtu=1,2", "is no TUNABLE=VALUE"),
        ("channels=", "'' is no number"),
        ("channels=1", "two to 12 different values"),
        ("channels=1,1", "two to 12 different values"),
        ("channels=1,-2", "'-2' is no number"),
        ("channels=1,2\n", "'2\\n' is no number"),
        ("rx-usecs=1,99999999999", "is no number of up to ten digits"),
        ("channels=" + ",".join(map(str, range(1, 14))), "two to 12 different values"),
    ],
)
def test_what_cannot_be_swept_is_one_line(text: str, said: str) -> None:
    with pytest.raises(SweepError) as error:
        values(text)
    assert said in str(error.value)


def test_a_value_is_a_change_of_the_interface_or_of_the_host() -> None:
    nic = make.nic()
    queues = change("channels", "2", nic)
    rings = change("rings", "512", nic)
    waits = change("rx-usecs", "50", nic)
    host = change("halt_poll_ns", "0", None)

    assert (queues.kind, queues.new, queues.target.mac) == (TunableKind.CHANNELS, "2", nic.mac)
    assert (rings.kind, rings.new, rings.target.parameter) == (TunableKind.RINGS, "rx=512 tx=512", "rx tx")
    assert (waits.kind, waits.new, waits.target.parameter) == (TunableKind.COALESCING, "rx-usecs=50", "rx-usecs")
    assert (host.kind, host.new, host.target.parameter) == (TunableKind.KVM_PARAMETER, "0", "kvm.halt_poll_ns")
