from __future__ import annotations

import pytest

from tuneagent.profile.symbols import common_names


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        (".dst_release", "dst_release"),
        ("ip_rcv_core.isra.0", "ip_rcv_core"),
        ("ip_rcv_core.isra.0.constprop.12", "ip_rcv_core"),
        ("__netif_receive_skb_core.constprop.0", "__netif_receive_skb_core"),
        ("do_one.part.3", "do_one"),
        ("fib_lookup.llvm.1234567890", "fib_lookup"),
        ("schedule.cold", "schedule.cold"),
        ("net.isralite", "net.isralite"),
        (".", "."),
        (".isra.0", "isra.0"),
        ("[unknown]", "[unknown]"),
    ],
)
def test_what_the_compiler_adds_is_no_part_of_the_name(printed: str, name: str) -> None:
    assert common_names([printed]) == {printed: name}


def test_another_number_in_the_other_profile_is_the_same_function() -> None:
    assert common_names(["f.isra.0"], ["f.isra.1"]) == {"f.isra.0": "f", "f.isra.1": "f"}


def test_two_functions_in_one_profile_are_told_apart_in_both() -> None:
    names = common_names(["f", "g.isra.0"], ["f", "f.isra.0", "g"])
    assert names == {"f": "f", "f.isra.0": "f.isra.0", "g.isra.0": "g", "g": "g"}


def test_a_dot_makes_no_second_function() -> None:
    assert common_names([".f", "f"]) == {".f": "f", "f": "f"}
