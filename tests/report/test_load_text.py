"""What a load is told as."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tuneagent.load.tally import Tally
from tuneagent.model.load import LoadKind, LoadResult, LoadSpec
from tuneagent.report import load_text, plain

SPEC = LoadSpec(LoadKind.TCP_RR, "192.0.2.1", 4711, 16, 100, 2000, 3, 40, 2, 5000.0, (1, 3))


def latency(*microseconds: int) -> Tally:
    tally = Tally()
    for value in microseconds:
        tally.add(value * 1000)
    return tally


RESULT = LoadResult(
    5.0, 123_456, latency=latency(100, 200, 300).histogram(), errors=1, reconnects=2, lost=3,
    client_cpu_s=2.5, server_cpu_s=0.75, client_cpus=(1, 3), notes=("something to know",),
)  # fmt: skip


def told(spec: LoadSpec, result: LoadResult) -> str:
    return plain.write(load_text.document(spec, result), 200)


def test_everything_that_was_asked_and_measured_is_told() -> None:
    text = told(SPEC, RESULT)

    assert text.splitlines()[0] == "24,691 transactions/s over 5 s"
    for part in (
        "tcp-rr to 192.0.2.1:4711, 16 connections, 100 B there and 2,000 B back, 3 in flight on each,",
        "40 µs of thinking, 5,000/s due, whatever comes back, 2 processes",
        "CPU time of the load here: 2.5 s, 50 % of one CPU, 20.25 µs a transaction, on CPU 1,3\n",
        "CPU time of its server: 0.75 s, 15 % of one CPU, 6.08 µs a transaction",
        "1 error, 2 reconnects, 3 lost requests",
        "Note: something to know",
    ):
        assert part in text
    assert "not pinned" not in text
    row = next(line for line in text.splitlines() if line.strip().startswith("latency"))
    assert row.replace(" µs", "").split()[1:] == ["100", "200", "300", "300", "300", "300", "300", "200"]


def test_what_is_not_known_is_a_word_and_what_did_not_happen_is_not_told() -> None:
    text = told(LoadSpec(LoadKind.TCP_RR, "2001:db8::1", 7), LoadResult(2.0, 10))

    assert "tcp-rr to [2001:db8::1]:7, 1 connection, 1 B there and 1 B back\n" in text
    assert text.count("unknown") == 2
    assert "not pinned" in text
    assert not any(word in text for word in ("error", "lost", "latency", "process"))


@pytest.mark.parametrize(
    ("kind", "value", "unit", "first"),
    [(LoadKind.IPERF3, 1.25e9, "bit/s", "1,250,000,000 bit/s over 2 s"), (LoadKind.COMMAND, 17.5, "", "17.5 over 2 s")],
)
def test_a_load_without_transactions_tells_its_value(kind: LoadKind, value: float, unit: str, first: str) -> None:
    result = LoadResult(2.0, None, value, unit)

    assert told(LoadSpec(kind, "192.0.2.1", command=("a", "b\x1b[2J")), result).splitlines()[0] == first


def test_a_command_cannot_steer_the_terminal() -> None:
    spec = LoadSpec(LoadKind.COMMAND, command=("sh", "\x1b[2J\n"))
    text = told(spec, replace(RESULT, notes=("\x1b[2J",)))

    assert "\x1b" not in text
