"""neper's tcp_rr or udp_rr (https://github.com/google/neper): one program with flows and threads of its own.

Its server ends with each run: it has to be started anew for each round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tuneagent.load import adapter, program
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.load.limits import LONGEST_TOLD_S
from tuneagent.model.histogram import of_steps
from tuneagent.model.load import LoadResult, LoadSpec

PORT = 12867
PERCENTILES = "50,90,99"
_STEP = re.compile(r"latency_p(\d{1,3}(?:\.\d{1,6})?)")
_ENDS = (("latency_min", 0.0), ("latency_max", 100.0))


def command(spec: LoadSpec, run_s: int) -> tuple[str, ...]:
    """tcp_rr, unless the extra options begin with the name of another of its programs, as ``udp_rr``."""
    name, extra = "tcp_rr", spec.command
    if extra and not extra[0].startswith("-"):
        name, extra = extra[0], extra[1:]
    where = ("-c", "-H", spec.host, "-P", str(spec.port or PORT))
    flows = ("-F", str(spec.connections), "-T", str(spec.processes))
    sizes = ("-Q", str(spec.request_bytes), "-R", str(spec.response_bytes))
    return (name, *where, *flows, *sizes, "-l", str(run_s), "-p", PERCENTILES, *extra)


def parse(text: str) -> LoadResult:
    """From its ``key=value`` lines, latencies in seconds; LoadError where there is no throughput among them."""
    values = adapter.keyed(text)
    rate, count = adapter.positive(values, "throughput"), adapter.positive(values, "num_transactions")
    if not rate or not count or count / rate > LONGEST_TOLD_S:
        raise LoadError("neper: no throughput in its output")
    mean_s = adapter.positive(values, "latency_mean")
    latency = of_steps(_steps(values), round(count), mean_s * 1e9) if mean_s is not None else None
    notes = ("neper tells a few percentiles: values between two of them are counted as the higher",)
    return LoadResult(count / rate, round(count), latency=latency, notes=notes if latency else ())


def _steps(values: dict[str, str]) -> Iterator[tuple[float, int]]:
    steps = [(float(match[1]), key) for key in values if (match := _STEP.fullmatch(key))]
    for percent, key in [*steps, *((percent, key) for key, percent in _ENDS)]:
        seconds = adapter.positive(values, key)
        if seconds is not None and percent <= 100:  # noqa: PLR2004 - per cent
            yield percent, round(seconds * 1e9)


def run(spec: LoadSpec, seconds: float, warm_up_s: float, hooks: Hooks) -> LoadResult:
    """Runs it. Its server is ``tcp_rr -F FLOWS -T THREADS``, once for each run."""
    adapter.check_can(spec, "neper")
    run_s = adapter.run_seconds(seconds, warm_up_s)
    outputs = program.run(adapter.plan(spec, [command(spec, run_s)], seconds, warm_up_s, run_s), hooks)
    if outputs[0].code:
        raise LoadError(f"neper: {outputs[0].said()}")
    return adapter.together([parse(outputs[0].out)], outputs)
