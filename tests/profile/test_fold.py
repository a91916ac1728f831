from __future__ import annotations

import pytest

from tests.make_profile import reported, sampled
from tuneagent.model.profile import Basis
from tuneagent.profile.fold import fold

NETWORK = sampled(
    {"dst_release": {0: 30, 1: 10}, "virtio_net:virtnet_poll": {1: 50}, "fib_table_lookup": {0: 7, 1: 3}},
    user=25,
    idle=75,
)


def test_shares_are_of_the_busy_samples_and_of_those_in_the_kernel() -> None:
    folded = fold(NETWORK)
    assert folded.basis is Basis.BUSY
    assert [(one.symbol, one.module, one.samples, one.percent, one.kernel_percent) for one in folded.rows] == [
        ("virtnet_poll", "virtio_net", 50, 40.0, 50.0),
        ("dst_release", None, 40, 32.0, 40.0),
        ("fib_table_lookup", None, 10, 8.0, 10.0),
    ]
    assert folded.rows[1].per_cpu == {0: 30, 1: 10}
    assert (folded.kernel_percent, folded.user_percent, folded.idle_percent) == (80.0, 20.0, 37.5)
    assert folded.samples == 200


def test_more_than_asked_for_is_counted() -> None:
    folded = fold(NETWORK, 1)
    assert [one.symbol for one in folded.rows] == ["virtnet_poll"]
    assert folded.left_out == 2


def test_of_one_size_the_name_decides() -> None:
    assert [one.symbol for one in fold(sampled({"b": {0: 3}, "c": {0: 3}, "a": {1: 3}})).rows] == ["a", "b", "c"]


def test_somebodys_shares_stay_as_they_are() -> None:
    folded = fold(reported(fib_table_lookup=13.54, __dev_queue_xmit=3.23, ip_rcv=16.46))
    assert folded.basis is Basis.ALL
    assert [(one.symbol, one.percent, one.samples) for one in folded.rows] == [
        ("ip_rcv", 16.46, None),
        ("fib_table_lookup", 13.54, None),
        ("__dev_queue_xmit", 3.23, None),
    ]
    assert [one.kernel_percent for one in folded.rows] == pytest.approx([49.53, 40.75, 9.72], abs=0.01)
    assert (folded.samples, folded.kernel_percent, folded.user_percent, folded.idle_percent) == (None,) * 4


@pytest.mark.parametrize("idle", [0, 900])
def test_a_machine_that_did_nothing_has_no_shares(idle: int) -> None:
    folded = fold(sampled({}, idle=idle))
    assert (folded.rows, folded.samples, folded.kernel_percent) == ((), idle, None)
    assert folded.idle_percent == (100.0 if idle else None)
