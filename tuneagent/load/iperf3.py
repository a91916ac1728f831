"""iperf3 for bulk data: bits per second, as its JSON says (https://software.es.net/iperf/)."""

from __future__ import annotations

import json
from typing import Any

from tuneagent.load import adapter, program
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.load.limits import LONGEST_TOLD_S
from tuneagent.model.load import LoadResult, LoadSpec

PORT = 5201
_CONNECT_MS = "5000"
_LONGEST_ERROR = 300
_MOST, _MOST_PERCENT = 1e15, 1e6


def command(spec: LoadSpec, run_s: int) -> tuple[str, ...]:
    """One stream for each connection; extra options choose direction and protocol, as ``-R`` or ``-u -b 1G``."""
    where = ("-c", spec.host, "-p", str(spec.port or PORT), "--connect-timeout", _CONNECT_MS)
    return ("iperf3", *where, "-J", "-t", str(run_s), "-P", str(spec.connections), *spec.command)


def parse(text: str) -> LoadResult:
    """From its JSON; LoadError with its own error, or where it tells no rate.

    The rate is the receiver's: what arrived. CPU times are its per cent of one CPU, of the whole program on each side.
    """
    end = _end(text)
    total: dict[str, Any] = next(
        (end[key] for key in ("sum_received", "sum", "sum_sent") if isinstance(end.get(key), dict)), {}
    )
    rate, seconds = _number(total, "bits_per_second"), _number(total, "seconds")
    if rate is None or not seconds or seconds > LONGEST_TOLD_S:
        raise LoadError("iperf3: its JSON tells no bits per second")
    used = end.get("cpu_utilization_percent")
    used = used if isinstance(used, dict) else {}
    client, server = (_percent(used, name) for name in ("host_total", "remote_total"))
    lost = _number(total, "lost_packets")
    return LoadResult(
        seconds=seconds,
        transactions=None,
        value=rate,
        unit="bit/s",
        lost=round(lost) if lost is not None else 0,
        client_cpu_s=None if client is None else client / 100 * seconds,
        server_cpu_s=None if server is None else server / 100 * seconds,
        notes=_retransmits(end),
    )


def _end(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LoadError(f"iperf3: no JSON: {text.strip()[:_LONGEST_ERROR] or 'it said nothing'}") from error
    if not isinstance(document, dict):
        raise LoadError("iperf3: its JSON is no object")
    if said := document.get("error"):
        raise LoadError(f"iperf3: {str(said)[:_LONGEST_ERROR]}")
    end = document.get("end")
    return end if isinstance(end, dict) else {}


def _number(values: dict[str, Any], key: str) -> float | None:
    """A value that is a number which a machine can count to; None for anything else."""
    value = values.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if 0 <= found <= _MOST else None  # which no nan is


def _percent(used: dict[str, Any], key: str) -> float | None:
    """Of one CPU; None for more than any machine has."""
    found = _number(used, key)
    return found if found is not None and found <= _MOST_PERCENT else None


def _retransmits(end: dict[str, Any]) -> tuple[str, ...]:
    sent = end.get("sum_sent")
    count = _number(sent, "retransmits") if isinstance(sent, dict) else None
    return () if count is None else (f"iperf3 counted {count:.0f} retransmits",)


def run(spec: LoadSpec, seconds: float, warm_up_s: float, hooks: Hooks) -> LoadResult:
    """Runs it. Its server is ``iperf3 -s -B ADDRESS -p PORT``."""
    adapter.check_can(spec, "iperf3")
    run_s = adapter.run_seconds(seconds, warm_up_s)
    outputs = program.run(adapter.plan(spec, [command(spec, run_s)], seconds, warm_up_s, run_s), hooks)
    result = parse(outputs[0].out)
    return LoadResult(
        result.seconds,
        None,
        result.value,
        result.unit,
        lost=result.lost,
        client_cpu_s=result.client_cpu_s,
        server_cpu_s=result.server_cpu_s,
        client_cpus=adapter.cpus(outputs),
        notes=result.notes,
    )
