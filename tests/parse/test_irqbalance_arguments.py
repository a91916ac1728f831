from __future__ import annotations

import pytest

from tuneagent.parse.irqbalance_arguments import IrqbalanceArguments, irqbalance_command, parse_arguments


@pytest.mark.parametrize(
    ("line", "irqs"),
    [
        ("--banirq=31", {31}),
        ("--banirq 31 --banirq=32 -i 33 -i34", {31, 32, 33, 34}),
        ("-fi31 -di 32", {31, 32}),
        ("--bani=7", {7}),
        ("-t 10 -i 5 --interval=3 --foreground", {5}),
        ("-t -i5", set()),
        ("-- -i 5", set()),
        ("word -i 5", {5}),
        ("--ban=7 --nonsense=8 -- 9", set()),
    ],
)
def test_reads_bans_in_every_spelling(line: str, irqs: set[int]) -> None:
    assert parse_arguments(line.split()) == IrqbalanceArguments(frozenset(irqs), (), None, ())


def test_reads_modules_and_the_script() -> None:
    arguments = parse_arguments(["--banmod=virtio2-", "-m", "ahci", "-l", "/etc/a", "--policyscript", "/etc/b c"])
    assert arguments == IrqbalanceArguments(frozenset(), ("virtio2-", "ahci"), "/etc/b c", ())


@pytest.mark.parametrize(
    ("tokens", "error"),
    [
        (["--banirq="], "--banirq without a number, which irqbalance takes as IRQ 0"),
        (["-i", " "], "--banirq without a number, which irqbalance takes as IRQ 0"),
        (["--banirq"], "--banirq without a number, which irqbalance takes as IRQ 0"),
        (["--banirq=31,32"], "--banirq '31,32' is not one interrupt number"),
        (["-i", "-1"], "--banirq '-1' is not one interrupt number"),
        (["-i", "9" * 5000], f"--banirq '{'9' * 40}\\u2026' is not one interrupt number"),
        (["--banmod="], "--banmod without a value"),
        (["-l"], "--policyscript without a value"),
    ],
)
def test_a_fault_is_an_entry_and_the_rest_is_read(tokens: list[str], error: str) -> None:
    arguments = parse_arguments(["-i", "44", *tokens])
    assert (arguments.banned_irqs, arguments.errors) == (frozenset({44}), (error,))


def test_a_command_line_begins_with_a_name() -> None:
    assert irqbalance_command(["-i5", "-i6"]).banned_irqs == {6}
    assert irqbalance_command([]).banned_irqs == frozenset()
