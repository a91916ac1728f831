from __future__ import annotations

import pytest

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.model.irqbalance import IrqbalanceConfig
from tuneagent.parse.irqbalance_env import parse

PATH = "/etc/default/irqbalance"


def read(text: str) -> IrqbalanceConfig:
    return parse(text, PATH)


def test_reads_a_whole_file() -> None:
    text = (
        "# Configuration for the irqbalance daemon\n"
        'ENABLED="1"\n'
        'export IRQBALANCE_ARGS="--policyscript=/etc/ib.sh --banirq=31 -m ahci"  # pinned by hand\n'
        "IRQBALANCE_BANNED_CPULIST=2-3,8\n"
    )
    assert read(text) == IrqbalanceConfig(
        path=PATH,
        key="IRQBALANCE_ARGS",
        options=("--policyscript=/etc/ib.sh", "--banirq=31", "-m", "ahci"),
        banned_irqs=frozenset({31}),
        banned_modules=("ahci",),
        policy_script="/etc/ib.sh",
        banned_cpus=CpuSet.of([2, 3, 8]),
        banned_cpus_key="IRQBALANCE_BANNED_CPULIST",
        errors=(),
        hand_only="line 3: something stands before IRQBALANCE_ARGS",
    )


@pytest.mark.parametrize("key", ["IRQBALANCE_ARGS", "IRQBALANCE_OPTS", "OPTIONS"])
def test_the_key_is_that_of_the_distribution(key: str) -> None:
    config = read(f'#IRQBALANCE_ARGS="-i 1"\n{key}="-i 7"\n')
    assert (config.key, config.banned_irqs) == (key, frozenset({7}))


def test_a_key_that_is_set_to_nothing_is_still_the_key() -> None:
    config = read('ENABLED="1"\nONESHOT="0"\nOPTIONS=""\n')
    assert (config.key, config.options, config.errors) == ("OPTIONS", (), ())


@pytest.mark.parametrize("text", ["", "\n", "#IRQBALANCE_ARGS=-i1\n; OPTIONS=-i2\n"])
def test_nothing_set_is_no_key(text: str) -> None:
    config = read(text)
    assert (config.key, config.banned_cpus, config.banned_cpus_key, config.errors) == (None, None, None, ())


@pytest.mark.parametrize(
    ("line", "irqs"),
    [
        ("OPTIONS=--banirq=3 --banirq=4", {3, 4}),
        ("OPTIONS='-i 5 -i 6'", {5, 6}),
        ('OPTIONS="-i 7 \\\n  -i 8"', {7, 8}),
        ("  OPTIONS=-i9#10", set()),
        ("OPTIONS=-i1\nOPTIONS=-i2", {2}),
    ],
)
def test_quotes_blanks_and_continued_lines(line: str, irqs: set[int]) -> None:
    assert read(line).banned_irqs == irqs


@pytest.mark.parametrize(
    ("text", "cpus", "key"),
    [
        ("IRQBALANCE_BANNED_CPUS=f8", [3, 4, 5, 6, 7], "IRQBALANCE_BANNED_CPUS"),
        ('IRQBALANCE_BANNED_CPUS="3,00000000"', [32, 33], "IRQBALANCE_BANNED_CPUS"),
        ("IRQBALANCE_BANNED_CPULIST=2-3\nIRQBALANCE_BANNED_CPUS=f0", [2, 3], "IRQBALANCE_BANNED_CPULIST"),
        ("IRQBALANCE_BANNED_CPULIST=\nIRQBALANCE_BANNED_CPUS=f0", [4, 5, 6, 7], "IRQBALANCE_BANNED_CPUS"),
        ("IRQBALANCE_BANNED_CPULIST=1\nIRQBALANCE_BANNED_CPUS=", [1], "IRQBALANCE_BANNED_CPULIST"),
        ("IRQBALANCE_BANNED_CPULIST=\nIRQBALANCE_BANNED_CPUS=' '", [], "IRQBALANCE_BANNED_CPULIST"),
        ("IRQBALANCE_BANNED_CPULIST=", [], "IRQBALANCE_BANNED_CPULIST"),
        ('IRQBALANCE_BANNED_CPUS=""', [], "IRQBALANCE_BANNED_CPUS"),
    ],
)
def test_banned_cpus_tell_empty_from_unset(text: str, cpus: list[int], key: str) -> None:
    config = read(text)
    assert config.banned_cpus == CpuSet.of(cpus)
    assert config.banned_cpus_key == key
    assert config.deprecated_keys == (("IRQBALANCE_BANNED_CPUS",) if "BANNED_CPUS=" in text else ())


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('ENABLED=1\nOPTIONS="--banirq= -i 44"', "line 2: --banirq without a number, which irqbalance takes as IRQ 0"),
        ('OPTIONS="-i 44"\nX="never closed', "line 2: no closing quotation"),
        ('OPTIONS="-i 44"\nwhat is this', "line 2: neither a comment nor KEY=VALUE"),
        (
            'OPTIONS="-i 44"\nIRQBALANCE_BANNED_CPULIST=5-3',
            "line 2: IRQBALANCE_BANNED_CPULIST: '5-3' runs backwards",
        ),
    ],
)
def test_a_fault_is_an_entry_with_its_line_and_the_rest_is_read(text: str, error: str) -> None:
    config = read(text)
    assert config.errors == (error,)
    assert config.banned_irqs == {44}
    assert config.banned_cpus is None


def test_a_quote_left_open_within_the_options_is_an_entry() -> None:
    config = read('OPTIONS="-i 3 -m \'x"')
    assert config.errors == ("line 1: no closing quotation",)
    assert config.banned_irqs == {3}


@pytest.mark.parametrize("text", ["OPTIONS=\x00", "A=1\n" * 100_000])
def test_refuses_what_is_no_environment_file(text: str) -> None:
    with pytest.raises(ParseError):
        read(text)
