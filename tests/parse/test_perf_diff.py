from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.model.profile import ProfileDelta
from tuneagent.parse.perf_diff import parse

VLAN = """\
# Event 'cycles'
#
# Baseline  Delta Abs  Shared Object      Symbol
# ........  .........  .................  ................................
#
     3.23%     +4.32%  [kernel.kallsyms]  [k] __dev_queue_xmit
               +3.43%  [kernel.kallsyms]  [k] dst_release
    13.54%     -3.17%  [kernel.kallsyms]  [k] fib_table_lookup
     9.33%     -2.73%  [kernel.kallsyms]  [k] _raw_spin_lock
     7.91%     -1.75%  [ixgbe]            [k] ixgbe_poll
               +1.64%  [8021q]            [k] vlan_dev_hard_start_xmit
     7.23%     -1.26%  [ixgbe]            [k] ixgbe_xmit_frame_ring
     3.34%     -1.10%  [kernel.kallsyms]  [k] eth_type_trans
     2.25%     +0.50%  libc.so.6          [.] syscall
     0.75%             [kernel.kallsyms]  [k] gone
"""
CORES = """\
# Event 'cycles'
#
# Baseline/0  Delta/1  Delta/2  Symbol                         Shared Object
# ..........  .......  .......  .............................  .............
#
      19.59%  +15.39%   +0.25%  [k] .ip6_pol_route             [kernel]
      18.07%  +13.79%           [k] .dst_release               [kernel]
       5.09%   -2.37%           [k] .__netif_receive_skb_core  [kernel]
               +3.76%           [k] .ip6_finish_output2        [kernel]
                        +9.00%  [k] .only_in_the_third         [kernel]
"""


def test_old_and_new_shares_in_the_order_of_the_text() -> None:
    assert parse(VLAN) == (
        ProfileDelta("__dev_queue_xmit", 3.23, 7.55),
        ProfileDelta("dst_release", None, 3.43),
        ProfileDelta("fib_table_lookup", 13.54, 10.37),
        ProfileDelta("_raw_spin_lock", 9.33, 6.6),
        ProfileDelta("ixgbe_poll", 7.91, 6.16),
        ProfileDelta("vlan_dev_hard_start_xmit", None, 1.64),
        ProfileDelta("ixgbe_xmit_frame_ring", 7.23, 5.97),
        ProfileDelta("eth_type_trans", 3.34, 2.24),
        ProfileDelta("gone", 0.75, None),
    )


def test_of_several_files_the_first_is_held_against_the_baseline() -> None:
    assert parse(CORES) == (
        ProfileDelta("ip6_pol_route", 19.59, 34.98),
        ProfileDelta("dst_release", 18.07, 31.86),
        ProfileDelta("__netif_receive_skb_core", 5.09, 2.72),
        ProfileDelta("ip6_finish_output2", None, 3.76),
    )


def test_columns_may_be_separated_and_the_baseline_is_a_bare_number_then() -> None:
    text = (
        "# Event 'cpu-clock'\n#\n# Baseline;Delta Abs;Shared Object      ;Symbol       \n"
        "        ;+12.21%  ;[kernel.kallsyms]  ;[k] futex_hash\n"
        "1.67    ;+9.67%   ;[kernel.kallsyms]  ;[k] do_syscall_64\n"
    )
    assert parse(text) == (ProfileDelta("futex_hash", None, 12.21), ProfileDelta("do_syscall_64", 1.67, 11.34))


def test_rows_that_were_copied_without_their_header() -> None:
    text = "  3.23%  +4.32%  [kernel]  [k] __dev_queue_xmit\n  +3.43%  [kernel]  [k] dst_release\n"
    assert parse(text) == (ProfileDelta("__dev_queue_xmit", 3.23, 7.55), ProfileDelta("dst_release", None, 3.43))


def test_rows_of_one_symbol_are_summed() -> None:
    text = "  1.25%  +0.50%  [a]  [k] 0xffffffffc0a1b2c3\n  2.25%  [b]  [k] 0xffffffffc0a1b2c4\n"
    assert parse(text) == (ProfileDelta("[unknown]", 3.5, 1.75),)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("hello\n", 1, "no table of perf"),
        (VLAN.replace("Delta Abs", "Ratio    "), 3, "without deltas"),
        (VLAN.replace("Baseline", "Overhead"), 3, "Baseline and Symbol"),
        (VLAN.replace("+3.43%", "+3.4.%"), 7, "no percentage"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        parse(text)
    assert caught.value.line == line


def test_nothing_is_empty() -> None:
    with pytest.raises(ParseError) as caught:
        parse(" ")
    assert caught.value.reason is Reason.EMPTY


PIECES = st.sampled_from(
    [
        *VLAN.split("\n"),
        *CORES.split("\n"),
        "# Baseline",
        "# ",
        "....",
        "12.34%",
        "+1.00%",
        "[k] f",
        ";",
        "\x00",
        "9" * 400,
    ]
)


@given(st.lists(PIECES, max_size=25), st.sampled_from(["\n", " ", ""]))
def test_whatever_is_said_is_a_difference_or_a_fault(pieces: list[str], between: str) -> None:
    for text in (between.join(pieces), VLAN + between.join(pieces)):
        with suppress(ParseError):
            assert parse(text) is not None
