from __future__ import annotations

from tuneagent.diagnose.wording import clean, counted, cpu_list, listed, named


def test_long_lists_are_cut_and_counted() -> None:
    assert listed(str(one) for one in range(6)) == "0, 1, 2, 3, 4, 5"
    assert listed(str(one) for one in range(1006)) == "0, 1, 2, 3, 4, 5 and 1,000 more"


def test_hostile_names_become_one_short_line() -> None:
    assert clean("eth0\x1b[2J\n\u202e") == "eth0?[2J??"
    assert clean("x" * 65) == "x" * 64 + "…"


def test_one_is_singular() -> None:
    assert (counted(1, "queue"), counted(2, "queue")) == ("1 queue", "2 queues")
    assert (named([31], "IRQ"), named([31, 33], "IRQ")) == ("IRQ 31", "IRQs 31, 33")
    assert (cpu_list([3]), cpu_list([0, 1, 2, 8]), cpu_list([]), cpu_list([10**9])) == (
        "CPU 3",
        "CPUs 0-2,8",
        "no CPU",
        "no CPU",
    )
