"""netperf TCP_RR or another of its request/response tests, one program for each connection, by its omni output.

The keys are those of netperf's src/nettest_omni.c; latencies there are microseconds. They need no option of configure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuneagent.load import adapter, program
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.load.limits import LONGEST_TOLD_S
from tuneagent.model.histogram import of_steps
from tuneagent.model.load import LoadResult, LoadSpec

PORT = 12865
KEYS = (
    "THROUGHPUT",
    "THROUGHPUT_UNITS",
    "ELAPSED_TIME",
    "MIN_LATENCY",
    "MEAN_LATENCY",
    "P50_LATENCY",
    "P90_LATENCY",
    "P99_LATENCY",
    "MAX_LATENCY",
)
_STEPS = (
    ("MIN_LATENCY", 0.0),
    ("P50_LATENCY", 50.0),
    ("P90_LATENCY", 90.0),
    ("P99_LATENCY", 99.0),
    ("MAX_LATENCY", 100.0),
)
_TRANSACTIONS = "Trans/s"


def command(spec: LoadSpec, run_s: int) -> tuple[str, ...]:
    """Extra options before ``--`` are netperf's, those behind it the test's; ``-t UDP_RR`` chooses another test."""
    general, special = _split(spec.command)
    where = ("-H", spec.host, "-p", str(spec.port or PORT))
    burst = ("-b", str(spec.burst - 1)) if spec.burst > 1 else ()
    sizes = ("-r", f"{spec.request_bytes},{spec.response_bytes}")
    asked = ("-P", "0", "-j")  # no banner; keep the latencies
    first = ("netperf", *where, "-t", "TCP_RR", "-l", str(run_s), *asked, *general)
    return (*first, "--", *sizes, *burst, "-k", ",".join(KEYS), *special)


def _split(extra: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    if "--" not in extra:
        return extra, ()
    at = extra.index("--")
    return extra[:at], extra[at + 1 :]


def parse(text: str) -> LoadResult:
    """From its ``KEY=value`` lines; LoadError where there is no rate among them."""
    values = adapter.keyed(text)
    rate, seconds = adapter.positive(values, "THROUGHPUT"), adapter.positive(values, "ELAPSED_TIME")
    if rate is None or not seconds or seconds > LONGEST_TOLD_S:
        raise LoadError(f"netperf: no THROUGHPUT in its output: {_last_line(text)}")
    unit = values.get("THROUGHPUT_UNITS", _TRANSACTIONS)
    if unit != _TRANSACTIONS:
        raise LoadError(f"netperf: it measured {unit!r} and not transactions: -t TCP_RR or -t UDP_RR")
    transactions = round(rate * seconds)
    mean_us = adapter.positive(values, "MEAN_LATENCY")
    latency = of_steps(_steps(values), transactions, mean_us * 1000) if mean_us is not None and transactions else None
    notes = ("netperf tells a few percentiles: values between two of them are counted as the higher",)
    return LoadResult(seconds=seconds, transactions=transactions, latency=latency, notes=notes if latency else ())


def _steps(values: dict[str, str]) -> Iterator[tuple[float, int]]:
    for key, percent in _STEPS:
        if (microseconds := adapter.positive(values, key)) is not None:
            yield percent, round(microseconds * 1000)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"


def run(spec: LoadSpec, seconds: float, warm_up_s: float, hooks: Hooks) -> LoadResult:
    """Runs it. Its server is ``netserver -L ADDRESS -p PORT``."""
    adapter.check_can(spec, "netperf", burst=True)
    run_s = adapter.run_seconds(seconds, warm_up_s)
    commands = adapter.one_each(spec, "netperf", command(spec, run_s))
    outputs = program.run(adapter.plan(spec, commands, seconds, warm_up_s, run_s), hooks)
    return adapter.together([parse(output.out + "\n" + output.err) for output in outputs], outputs)
