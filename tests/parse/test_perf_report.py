from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse import perf_table
from tuneagent.parse.perf_report import parse

SELF = """\
# To display the perf.data header info, please use --header/--header-only options.
#
#
# Total Lost Samples: 7
#
# Samples: 12K of event 'cycles:ppp'
# Event count (approx.): 2154308600
#
# Overhead  Command          Shared Object               Symbol                                       
# ........  ...............  ..........................  .............................................
#
     5.58%  qemu-system-x86  qemu-system-x86_64          [.] tcg_flush_jmp_cache
           5.49%
                tcg_flush_jmp_cache
                g_free
                0x5615d72d7950

     3.53%  sched messaging  [kernel.kallsyms]           [k] _copy_to_iter
3.53% _copy_to_iter;__skb_datagram_iter;skb_copy_datagram_iter
     2.79%  sched-messaging  [kernel.kallsyms]           [k] __x64_sys_call.part.0
     2.25%  perf             [virtio_net]                [k] 0xffffffffc0a1b2c3
     1.25%  perf             [virtio_net]                [k] 0xffffffffc0a1b2c4
     1.50%  CPU 0/KVM        [guest.kernel.kallsyms]     [g] start_xmit
     0.75%  swapper          [kernel.kallsyms]           [k] _copy_to_iter


#
# (Tip: Sample related events with: perf record -e '{cycles,instructions}:S')
#
"""  # noqa: W291  # so perf pads its header
CHILDREN = """\
# Samples: 1K of event 'cpu-clock'
# Event count (approx.): 2154308600
#
# Children      Self  Command          Shared Object         Symbol
# ........  ........  ...............  ....................  .................................
#
    43.26%     0.00%  sched-messaging  [kernel.kallsyms]     [k] entry_SYSCALL_64_after_hwframe
            |
            ---entry_SYSCALL_64_after_hwframe
               do_syscall_64
               |          
               |--16.19%--ksys_read
               |          |          
               |           --15.91%--vfs_read

    16.19%     1.25%  sched-messaging  [kernel.kallsyms]     [k] do_syscall_64
            |          
             --14.94%--do_syscall_64
                       x64_sys_call
"""  # noqa: W291  # so perf draws its call graphs
OTHER_ORDER = """\
# Samples: 1K of event 'cpu-clock'
#
# Overhead       Samples  Symbol                   Shared Object        CPU  IPC   [IPC Coverage]
# ........  ............  .......................  ...................  ...  ....................
#
     9.90%           103  [.] syscall              libc.so.6            001  -      -            
     8.85%            92  [k] do_syscall_64        [kernel.kallsyms]    001  -      -            
     2.50%            26  [k] do_syscall_64        [kernel.kallsyms]    000  -      -            
"""  # noqa: W291  # so perf pads its rows
SIXTEEN_CORES = """\
    19.59%  [kernel]  [k] .ip6_pol_route
    18.07%  [kernel]  [k] .dst_release
     5.09%  [kernel]  [k] .__netif_receive_skb_core
     1.02%  netserver [.] .main
"""


def test_the_shares_of_one_symbol_are_summed() -> None:
    profile = parse(SELF)
    assert profile.shares_percent == {"_copy_to_iter": 4.28, "[unknown]": 3.5, "__x64_sys_call.part.0": 2.79}
    assert list(profile.shares_percent) == ["_copy_to_iter", "[unknown]", "__x64_sys_call.part.0"]
    assert (profile.event, profile.lost, profile.origin) == ("cycles", 7, "perf report")
    assert (profile.kernel, profile.cpus, profile.seconds) == ((), (), None)


def test_idle_samples_within_the_shares_are_told() -> None:
    idle = parse(SIXTEEN_CORES + "     7.25%  [kernel]  [k] intel_idle\n")
    assert idle.shares_percent["intel_idle"] == 7.25
    assert any("7.25 % of them idle" in limit for limit in idle.limits)
    assert len(parse(SIXTEEN_CORES).limits) == 1


def test_with_children_its_own_share_counts() -> None:
    assert parse(CHILDREN).shares_percent == {"do_syscall_64": 1.25}


def test_columns_stand_in_any_order() -> None:
    assert parse(OTHER_ORDER).shares_percent == {"do_syscall_64": 11.35}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_columns_may_be_separated(separator: str) -> None:
    text = (
        "# Samples: 1K of event 'cpu-clock'\n#\n# Overhead,Command        ,Shared Object      ,Symbol     \n"
        " 12.21% ,futex-hash     ,libc.so.6          ,[.] syscall\n"
        " 11.35% ,futex-hash     ,[kernel.kallsyms]  ,[k] do_syscall_64\n"
    )
    assert parse(text.replace(",", separator)).shares_percent == {"do_syscall_64": 11.35}


def test_rows_that_were_copied_without_their_header() -> None:
    profile = parse(SIXTEEN_CORES)
    assert profile.shares_percent == {"ip6_pol_route": 19.59, "dst_release": 18.07, "__netif_receive_skb_core": 5.09}
    own = parse("  40.00%   3.25%  ksoftirqd/1  [ixgbe]  [k] ixgbe_poll\n")
    assert own.shares_percent == {"ixgbe_poll": 3.25}


def test_of_several_events_the_cycles_are_meant() -> None:
    misses = SELF.replace("cycles:ppp", "cache-misses").replace("_copy_to_iter", "missed")
    both = parse(f"{misses}\n{SELF}")
    assert (both.event, both.lost, "missed" in both.shares_percent) == ("cycles", 7, False)
    assert parse(misses).event == "cache-misses"


def test_of_a_group_the_leader_is_meant() -> None:
    text = (
        "# Samples: 2K of event 'anon group { cycles, instructions }'\n#\n"
        "#         Overhead  Symbol\n# ................  ............\n#\n    12.50%   3.25%  [k] dst_release\n"
    )
    assert parse(text).shares_percent == {"dst_release": 12.5}


def test_without_a_letter_the_object_decides() -> None:
    text = (
        "# Overhead  Shared Object      Symbol\n# ........  .................  ......\n"
        "     5.25%  [kernel.kallsyms]  f\n     4.25%  libc.so.6          g\n"
    )
    assert parse(text).shares_percent == {"f": 5.25}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("hello\nworld\n", 1, "no table of perf"),
        ("\n# Samples: 12 of event 'cycles'\n#\n", 2, "no table of perf"),
        ("# Overhead  Command\n# ........  .......\n     1.25%  perf\n", 1, "no column Symbol"),
        ("# Baseline  Delta   Symbol\n# ........  ......  ......\n     1.25%  +1.00%  [k] f\n", 1, "perf diff"),
        (SELF[: SELF.index("[virtio_net]")], 21, "cut off at the end"),
        (SELF.replace("_copy_to_iter", "\x1b[2J", 1), 18, "unprintable"),
        (SELF.replace("_copy_to_iter", "f" * 600, 1), 18, "more than 512"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(ParseError, match=message) as caught:
        parse(text)
    assert caught.value.line == line


def test_nothing_is_empty() -> None:
    with pytest.raises(ParseError) as caught:
        parse("\n\n")
    assert caught.value.reason is Reason.EMPTY


def test_rows_and_lines_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perf_table, "MAX_ROWS", 2)
    with pytest.raises(ParseError, match="more than 2 rows"):
        parse(SELF)
    monkeypatch.setattr(perf_table, "MAX_LINES", 5)
    with pytest.raises(ParseError, match="more than 5 lines"):
        parse(SELF)


PIECES = st.sampled_from(
    [*SELF.split("\n"), *CHILDREN.split("\n"), *OTHER_ORDER.split("\n"), "# Overhead", "# ", "....", "12.34%", "[k] f",
     ",", "\x00", "Symbol", "  ", "9" * 400]
)  # fmt: skip


@given(st.lists(PIECES, max_size=25), st.sampled_from(["\n", " ", ""]))
def test_whatever_is_said_is_a_report_or_a_fault(pieces: list[str], between: str) -> None:
    for text in (between.join(pieces), SELF + between.join(pieces)):
        with suppress(ParseError):
            assert all(share > 0 for share in parse(text).shares_percent.values())
