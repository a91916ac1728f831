from __future__ import annotations

from typing import Any

import pytest

from tuneagent.diagnose import diagnose_deltas, diagnose_profile
from tuneagent.diagnose.hot_reference_count import judge_delta, judge_profile
from tuneagent.model.finding import Clear, Finding, Judgement, Unjudged
from tuneagent.model.profile import Profile, ProfileDelta, SymbolSamples

PLAIN = {"fib_table_lookup": 13.54, "_raw_spin_lock": 9.33, "ixgbe_poll": 7.91, "ixgbe_xmit_frame_ring": 7.23,
         "eth_type_trans": 3.34, "__dev_queue_xmit": 3.23}  # fmt: skip
VLAN = (("__dev_queue_xmit", 3.23, 7.55), ("dst_release", None, 3.43), ("fib_table_lookup", 13.54, 10.37),
        ("_raw_spin_lock", 9.33, 6.60), ("vlan_dev_hard_start_xmit", None, 1.64))  # fmt: skip
CORES = (("ip6_pol_route", 19.59, 34.98), ("dst_release", 18.07, 31.86), ("__netif_receive_skb_core", 5.09, 2.72),
         ("ip6_finish_output2", None, 3.76))  # fmt: skip


def profile(shares: dict[str, float] | None = None, counts: dict[str, int] | None = None, **changes: Any) -> Profile:
    kernel = tuple(SymbolSamples(symbol, None, {0: count}) for symbol, count in (counts or {}).items())
    base: dict[str, Any] = {"origin": "this machine", "event": "cpu-clock", "seconds": 2.0, "cpus": (0,),
                            "user_samples": 0, "idle_samples": 0, "lost": 0, "throttled": 0, "limits": ()}  # fmt: skip
    return Profile(kernel=kernel, shares_percent=shares or {}, **(base | changes))


def deltas(*rows: tuple[str, float | None, float | None]) -> tuple[ProfileDelta, ...]:
    return tuple(ProfileDelta(*row) for row in rows)


def only(said: tuple[Judgement, ...]) -> Judgement:
    (one,) = said
    return one


def evidence(said: Judgement) -> dict[str, object]:
    assert isinstance(said, Finding | Clear), said
    return {one.metric: one.value for one in said.evidence}


def test_forwarding_without_a_vlan_is_clear() -> None:
    assert evidence(only(judge_profile(profile(PLAIN)))) == {"reference_counts_percent": 0}


def test_sixteen_cores_of_ipv6_forwarding_are_hot() -> None:
    found = only(judge_profile(profile({symbol: old for symbol, old, _ in CORES if old})))
    assert isinstance(found, Finding)
    assert evidence(found) == {"reference_counts_percent": 18.07, "dst_release_percent": 18.07}
    assert "ip6_pol_route 19.59 %" in found.explanation


def test_atomics_that_are_not_inlined_count_too_under_ppc64_s_names() -> None:
    found = evidence(only(judge_profile(profile({".atomic_dec_return": 17.26, ".atomic_inc": 13.45}))))
    assert found["reference_counts_percent"] == pytest.approx(30.71)
    assert found["atomic_dec_return_percent"] == 17.26


def test_the_vlan_s_difference_is_its_reference() -> None:
    found = only(judge_delta(deltas(*VLAN)))
    assert isinstance(found, Finding)
    assert evidence(found)["reference_counts_growth_points"] == pytest.approx(3.43)
    assert "dst_release 3.43 points" in found.explanation
    assert "__dev_queue_xmit 4.32 points" in found.explanation
    assert "fib_table_lookup -3.17 points" in found.explanation


def test_more_cores_grow_the_count() -> None:
    found = only(judge_delta(deltas(*CORES)))
    assert evidence(found)["dst_release_growth_points"] == pytest.approx(13.79)
    assert isinstance(only(judge_delta(deltas(("atomic_inc", 13.45, 30.56)))), Finding)


def test_a_lookup_that_grew_is_no_count() -> None:
    clear = only(judge_delta(deltas(("fib_table_lookup", 3.0, 30.0), ("dst_release", 20.0, 19.0))))
    assert evidence(clear) == {"reference_counts_growth_points": -1.0}


def test_samples_count_by_what_is_not_idle() -> None:
    counts = {"dst_release.part.0": 20, "refcount_warn_saturate": 12, "ip_rcv": 568}
    found = evidence(only(judge_profile(profile(counts=counts, user_samples=400, idle_samples=90_000))))
    assert found["reference_counts_percent"] == pytest.approx(3.2)
    assert isinstance(only(judge_profile(profile(counts=counts, user_samples=500))), Clear)


def test_few_samples_are_not_judged() -> None:
    said = only(judge_profile(profile(counts={"dst_release": 499}, idle_samples=5_000)))
    assert isinstance(said, Unjudged)
    assert said.idle
    assert isinstance(only(judge_profile(profile())), Unjudged)


@pytest.mark.parametrize(("unnamed", "judged"), [(2.4, True), (2.6, False), (100.0, False)])
def test_functions_without_a_name_may_count_references(unnamed: float, judged: bool) -> None:  # noqa: FBT001 - pytest
    said = only(judge_profile(profile({"dst_release": 0.5, "[unknown]": unnamed})))
    assert isinstance(said, Clear if judged else Unjudged)
    if isinstance(said, Unjudged):
        assert "without a name" in said.reason
    assert isinstance(only(judge_profile(profile({"dst_release": 3.1, "[unknown]": unnamed}))), Finding)


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ((("dst_release", 1.0, 1.5), ("[unknown]", 40.0, 40.0)), Unjudged),
        ((("dst_release", 1.0, 1.5), ("[unknown]", 40.0, 1.4)), Clear),
        ((("dst_release", None, 3.4), ("[unknown]", 90.0, None)), Unjudged),
        ((("dst_release", None, 3.4), ("[unknown]", 1.5, 0.2)), Finding),
        ((("dst_release", None, 3.4), ("[unknown]", 0.2, 90.0)), Finding),
    ],
)
def test_names_that_one_profile_lacks_are_no_growth(
    rows: tuple[tuple[str, float | None, float | None], ...], kind: type[Judgement]
) -> None:
    assert isinstance(only(judge_delta(deltas(*rows))), kind)


def test_nothing_compared_is_nothing_said() -> None:
    assert diagnose_deltas(()) == ()
    assert only(diagnose_profile(profile(PLAIN))).rule == "hot-reference-count"


def test_names_of_a_strange_profile_do_no_harm() -> None:
    found = only(judge_profile(profile({"refcount_\x1b[2J": 1.0, "dst_release": 9.0, "": 5.0, "...": 3.0})))
    assert isinstance(found, Finding)
    assert found.title.isprintable()
    assert found.explanation.isprintable()
