from __future__ import annotations

from collections import Counter
from math import sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.make_profile import reported, sampled
from tuneagent.model.profile import Basis, ProfileDelta
from tuneagent.profile.diff import ONE_OF_ALL, by_baseline, compared, diff

PERCENT = st.floats(0, 100)


def rows(*deltas: ProfileDelta) -> list[tuple[str, float | None, float]]:
    return [(one.symbol, one.old_percent, round(one.delta_percent, 2)) for one in deltas]


def test_a_reference_count_behind_a_vlan_device_is_ranked_as_perf_diff_ranks_it() -> None:
    # Measured in 2017: forwarding without and with a VLAN device.
    plain = reported(
        ixgbe_xmit_frame_ring=7.23,
        ixgbe_poll=7.91,
        eth_type_trans=3.34,
        fib_table_lookup=13.54,
        _raw_spin_lock=9.33,
        __dev_queue_xmit=3.23,
    )
    vlan = reported(
        fib_table_lookup=10.37,
        __dev_queue_xmit=7.55,
        _raw_spin_lock=6.60,
        ixgbe_poll=6.16,
        ixgbe_xmit_frame_ring=5.97,
        dst_release=3.43,
        eth_type_trans=2.24,
        vlan_dev_hard_start_xmit=1.64,
    )
    assert rows(*diff(plain, vlan)) == [
        ("__dev_queue_xmit", 3.23, 4.32),
        ("dst_release", None, 3.43),
        ("fib_table_lookup", 13.54, -3.17),
        ("_raw_spin_lock", 9.33, -2.73),
        ("ixgbe_poll", 7.91, -1.75),
        ("vlan_dev_hard_start_xmit", None, 1.64),
        ("ixgbe_xmit_frame_ring", 7.23, -1.26),
        ("eth_type_trans", 3.34, -1.10),
    ]


SIXTEEN = reported(**{".ip6_pol_route": 19.59, ".dst_release": 18.07, ".__netif_receive_skb_core": 5.09})
TWENTY_FOUR = reported(
    **{".ip6_pol_route": 34.98, ".dst_release": 31.86, ".ip6_finish_output2": 3.76, ".__netif_receive_skb_core": 2.72}
)
"""IPv6 forwarding on 16 and 24 cores of a Power machine, measured in 2014."""


def test_what_grows_with_the_cores_comes_first() -> None:
    assert rows(*diff(SIXTEEN, TWENTY_FOUR)) == [
        ("ip6_pol_route", 19.59, 15.39),
        ("dst_release", 18.07, 13.79),
        ("ip6_finish_output2", None, 3.76),
        ("__netif_receive_skb_core", 5.09, -2.37),
    ]


def test_by_its_baseline_the_table_is_the_published_one() -> None:
    assert [(one.symbol, one.old_percent, one.new_percent) for one in by_baseline(diff(SIXTEEN, TWENTY_FOUR))] == [
        ("ip6_pol_route", 19.59, 34.98),
        ("dst_release", 18.07, 31.86),
        ("__netif_receive_skb_core", 5.09, 2.72),
        ("ip6_finish_output2", None, 3.76),
    ]


def test_atomics_grow_with_the_cores() -> None:
    old, new = reported(atomic_inc=13.45, atomic_dec_return=17.26), reported(atomic_inc=30.56, atomic_dec_return=32.45)
    assert rows(*diff(old, new)) == [("atomic_inc", 13.45, 17.11), ("atomic_dec_return", 17.26, 15.19)]


def test_without_samples_nothing_is_said_of_noise() -> None:
    assert {(one.error_percent, one.within_noise) for one in diff(SIXTEEN, TWENTY_FOUR)} == {(None, None)}


def test_a_difference_that_chance_makes_is_marked() -> None:
    old = sampled({"hot": {0: 100}, "warm": {0: 50}}, user=850)
    new = sampled({"hot": {0: 200}, "warm": {0: 55}}, user=745)
    hot, warm = diff(old, new)
    assert (hot.symbol, hot.within_noise) == ("hot", False)
    assert (warm.symbol, warm.within_noise) == ("warm", True)
    # The usual interval, which is nearly the same at a thousand samples, at 97.5 % for each of the two.
    assert hot.error_percent == pytest.approx(224.1 * sqrt(0.1 * 0.9 / 1000 + 0.2 * 0.8 / 1000), rel=0.05)


def test_few_samples_of_a_new_symbol_prove_nothing() -> None:
    old, new = sampled({"other": {0: 20}}), sampled({"other": {0: 18}, "new": {0: 2}})
    assert {one.symbol: one.within_noise for one in diff(old, new)} == {"new": True, "other": True}


def test_two_profiles_of_the_same_hundreds_of_symbols_rarely_differ() -> None:
    chance = Random(20260101)  # noqa: S311 - drawn samples, no secrets
    symbols = [f"symbol_{number}" for number in range(300)]
    weights = [1 / (1 + number) for number in range(300)]
    drawn = [Counter(chance.choices(symbols, weights, k=4000)) for _ in range(60)]
    profiles = [sampled({symbol: {0: count} for symbol, count in one.items()}) for one in drawn]
    wrong = sum(
        any(not one.within_noise for one in diff(old, new))
        for old, new in zip(profiles[::2], profiles[1::2], strict=True)
    )
    assert wrong <= 4


def test_the_verdict_is_what_the_figures_say() -> None:
    old, new = sampled({"a": {0: 2}, "b": {0: 1998}}), sampled({"a": {0: 4}, "b": {0: 996}})
    for one in diff(old, new):
        assert one.error_percent is not None
        assert one.within_noise is (abs(one.delta_percent) <= one.error_percent)


def test_idle_time_changes_no_share() -> None:
    samples = {"hot": {0: 60}, "cold": {1: 40}}
    assert [one.delta_percent for one in diff(sampled(samples, idle=5), sampled(samples, idle=5000))] == [0, 0]


def test_beside_a_report_shares_are_of_all_samples() -> None:
    old, new = reported(hot=30.0), sampled({"hot": {0: 30}}, user=30, idle=40)
    made = compared(old, new)
    assert made.basis is Basis.ALL
    assert (made.deltas[0].delta_percent, made.deltas[0].within_noise) == (0.0, None)
    assert made.remarks == (ONE_OF_ALL,)


def test_what_makes_two_profiles_hard_to_compare_is_said() -> None:
    old = sampled({"a": {0: 1}}, event="cycles", kernel_release="6.1.0")
    new = sampled({"a": {0: 1}}, event="cpu-clock", kernel_release="6.12.1")
    event, kernel = compared(old, new).remarks
    assert "cycles, cpu-clock" in event
    assert "6.1.0, 6.12.1" in kernel


def test_a_function_in_two_modules_is_one() -> None:
    old, new = sampled({"a:poll": {0: 1}, "b:poll": {0: 2}}, user=1), sampled({"poll.isra.0": {0: 3}}, user=1)
    (only,) = diff(old, new)
    assert (only.symbol, only.old_percent, only.new_percent) == ("poll", 75.0, 75.0)


@given(st.dictionaries(st.sampled_from("abcdef"), PERCENT), st.dictionaries(st.sampled_from("defghi"), PERCENT))
def test_every_symbol_is_there_once_and_sizes_fall(old: dict[str, float], new: dict[str, float]) -> None:
    found = diff(reported(**old), reported(**new))
    assert sorted(one.symbol for one in found) == sorted(old.keys() | new.keys())
    sizes = [round(abs(one.delta_percent), 6) for one in found]
    assert sizes == sorted(sizes, reverse=True)
