from __future__ import annotations

import pytest

from tests.make_profile import profile, reported, sampled
from tuneagent.model.finding import Clear, Evidence, Finding, Severity, Unjudged
from tuneagent.model.profile import Basis, Profile, ProfileDelta, ProfileDiff
from tuneagent.profile.diff import compared
from tuneagent.profile.fold import fold
from tuneagent.report import plain, terminal
from tuneagent.report.profile_text import busiest, diff_document, document

NETWORK = sampled(
    {"dst_release": {0: 30, 1: 10}, "virtio_net:virtnet_poll": {1: 50}, "fib_table_lookup": {0: 7, 1: 3}},
    user=25,
    idle=75,
    kernel_release="6.12.1",
    lost=2,
    throttled=1,
    cpu_s=0.0125,
    limits=("a limit",),
)


def text(given: Profile, most: int | None = None) -> str:
    return plain.write(document(fold(given, most)), 80)


def test_the_whole_of_a_profile() -> None:
    assert text(NETWORK, 2) == (
        "Profile of this machine\n"
        "cycles, Linux 6.12.1, CPUs 0-1, 2 s\n"
        "Kernel 80.00 % and user space 20.00 % of the busy time; idle 37.50 % of all. 200\n"
        "samples.\n"
        "\n"
        "  busy %  kernel %  samples  on CPUs           symbol\n"
        "   40.00     50.00       50  1: 100 %          virtnet_poll [virtio_net]\n"
        "   32.00     40.00       40  0: 75 %, 1: 25 %  dst_release\n"
        "  … 1 more symbol with --top, or --json\n"
        "\n"
        "Not seen, or not sure\n"
        "  a limit\n"
        "  2 samples lost: the kernel's buffer was full\n"
        "  the kernel held sampling back 1 time (throttled)\n"
        "\n"
        "Sampling cost 12.5 ms of CPU.\n"
    )


def test_shares_alone_claim_no_samples() -> None:
    shown = text(reported(dst_release=3.43, ip_rcv=2.5))
    assert "  share %  kernel %  samples  on CPUs  symbol\n" in shown
    assert "     3.43     57.84        ?  ?        dst_release\n" in shown
    assert "busy" not in shown


def test_an_idle_machine_is_said_to_be_one() -> None:
    assert "75 samples, none of them busy: nothing ran." in text(sampled({}, idle=75))


@pytest.mark.parametrize("cpus", [2, 200])
def test_eighty_columns_hold_the_longest_names(cpus: int) -> None:
    rows = {f"{'m' * 40}:{'s' * 500}{number}": dict.fromkeys(range(cpus - 2, cpus), 9) | {1: 1} for number in range(3)}
    wide = sampled(rows, user=1)
    drawn = [text(wide), terminal.write(document(fold(wide)), 80)]
    drawn.append(plain.write(diff_document(compared(wide, sampled({"t" * 500: {0: 100_000}})), 9), 80))
    assert max(len(line) for one in drawn for line in one.splitlines() if "\x1b" not in line) <= 80


def test_nothing_in_a_name_reaches_the_terminal() -> None:
    odd = profile(origin="\x1b]0;x\x07", event="\x1b[1m", limits=("\x9b2J",), shares_percent={"\x1b[31mred\u202e": 5.0})
    made = ProfileDiff(odd, odd, Basis.ALL, (ProfileDelta("\x1b[31m", 1.0, 2.0),), ("\x1b[5m",))
    shown = text(odd) + plain.write(diff_document(made, 5))
    assert all(character.isprintable() or character == "\n" for character in shown)


def test_what_is_within_noise_is_counted_and_shown_when_asked_for() -> None:
    old = sampled({"hot": {0: 100}, "warm": {0: 50}}, user=850)
    new = sampled({"hot": {0: 200}, "warm": {0: 55}}, user=745)
    short = plain.write(diff_document(compared(old, new), 9), 80)
    assert "  10.00  +10.00  20.00  3.57  beyond  hot\n" in short
    assert "warm" not in short
    assert "… 1 symbol within noise left out; --all shows them" in short
    whole = plain.write(diff_document(compared(old, new), 9, every=True), 80)
    assert "   5.00   +0.50   5.50  2.25  within  warm\n" in whole
    assert "in 95 of 100 pairs" in " ".join(whole.split())


def test_where_all_is_noise_that_is_the_answer() -> None:
    same = sampled({"hot": {0: 100}}, user=850)
    shown = plain.write(diff_document(compared(same, same), 9), 80)
    assert "No symbol differs by more than sampling alone would make it." in shown
    assert "within  hot" in shown


def test_without_samples_no_verdict_is_given() -> None:
    shown = plain.write(diff_document(compared(reported(a=1.0), reported(a=4.0, b=2.0)), 1), 80)
    assert "   1.00  +3.00   4.00  ?  ?      a\n" in shown
    assert "… 1 more symbol with --top" in shown
    assert "cannot be told" in " ".join(shown.split())


def test_cpus_by_their_part() -> None:
    assert busiest({0: 0}) == "?"
    assert busiest({7: 25, 3: 75, 1: 0}) == "3: 75 %, 7: 25 %"
    assert busiest({0: 1, 1: 2, 2: 3, 3: 4}) == "3: 40 %, 2: 30 % +2"


def test_what_the_rules_say_is_told_in_words() -> None:
    evidence = (Evidence("reference_counts_percent", 0.25, "%", "profile"),)
    judged = (
        Finding("hot", "machine", Severity.WARNING, "12 % count\x1b", "dst_release 12 %.", evidence),
        Unjudged("cold", "machine", "too few samples"),
        Clear("well", "machine", evidence),
    )
    shown = plain.write(document(fold(NETWORK), judged), 80)
    assert "WARNING: 12 % count\\x1b [hot]\n  dst_release 12 %.\n  More: tuneagent explain hot\n" in shown
    assert "Not judged: too few samples [cold]\n" in shown
    assert "Looked for and not found: well (reference_counts_percent 0.25 %)\n" in shown
