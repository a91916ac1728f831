"""``tuneagent load run`` for people: the rate first, then how long requests took, and what the load itself cost."""

from __future__ import annotations

from collections.abc import Iterator

from tuneagent.model.histogram import PERCENTILES, mean_ns, percentile_ns
from tuneagent.model.load import Histogram, LoadKind, LoadResult, LoadSpec
from tuneagent.report.document import Block, Document, Gap, Heading, Paragraph, Table, Tone
from tuneagent.report.safe import safe
from tuneagent.report.values import UNKNOWN, duration, number, plural, with_unit

_LONGEST_COMMAND = 200


def document(spec: LoadSpec, result: LoadResult) -> Document:
    """The report's blocks."""
    return tuple(_blocks(spec, result))


def _blocks(spec: LoadSpec, result: LoadResult) -> Iterator[Block]:
    yield Heading(f"{_rate(result)} over {number(result.seconds)} s", Tone.GOOD)
    yield Paragraph(_what(spec), 2, Tone.FAINT)
    if result.latency is not None and result.latency.total:
        yield Gap()
        yield _latency(result.latency)
    yield Gap()
    for line in _costs(spec, result):
        yield Paragraph(line, 2)
    if wrong := _wrong(result):
        yield Paragraph(wrong, 2, Tone.WARNING)
    for note in result.notes:
        yield Paragraph(safe(note), 2, Tone.PLAIN, "Note:")


def _rate(result: LoadResult) -> str:
    if result.transactions is not None:
        return f"{number(result.per_sec)} transactions/s"
    return with_unit(result.value, safe(result.unit))


def _what(spec: LoadSpec) -> str:
    if spec.kind is LoadKind.COMMAND:
        return safe(" ".join(spec.command), _LONGEST_COMMAND)
    host = f"[{spec.host}]" if ":" in spec.host else spec.host
    parts = [
        f"{spec.kind} to {safe(host)}{f':{spec.port}' if spec.port else ''}",
        plural(spec.connections, "connection"),
    ]
    if spec.kind is not LoadKind.IPERF3:
        parts += [f"{spec.request_bytes:,} B there and {spec.response_bytes:,} B back"]
    if spec.burst > 1:
        parts.append(f"{spec.burst} in flight on each")
    if spec.think_us:
        parts.append(f"{spec.think_us:,} µs of thinking")
    if spec.rate_per_sec is not None:
        parts.append(f"{number(spec.rate_per_sec)}/s due, whatever comes back")
    if spec.processes > 1:
        parts.append(f"{spec.processes:,} processes")
    return ", ".join(parts)


def _latency(latency: Histogram) -> Table:
    columns = ("least", *(f"p{percent:g}" for percent in PERCENTILES), "most", "mean")
    values = (
        latency.min_ns,
        *(percentile_ns(latency, percent) for percent in PERCENTILES),
        latency.max_ns,
        mean_ns(latency),
    )
    row = ("latency", *(duration(value) for value in values))
    return Table(("", *columns), (row,), frozenset(columns))


def _costs(spec: LoadSpec, result: LoadResult) -> Iterator[str]:
    where = f", on CPU {','.join(map(str, result.client_cpus))}" if result.client_cpus else ""
    pinned = "" if spec.cpus else ", not pinned"
    yield f"CPU time of the load here: {_cpu(result.client_cpu_s, result)}{where}{pinned}"
    yield f"CPU time of its server: {_cpu(result.server_cpu_s, result)}"


def _cpu(seconds: float | None, result: LoadResult) -> str:
    if seconds is None:
        return UNKNOWN
    text = f"{number(seconds)} s, {number(100 * seconds / result.seconds)} % of one CPU"
    if result.transactions:
        text += f", {duration(1e9 * seconds / result.transactions)} a transaction"
    return text


def _wrong(result: LoadResult) -> str:
    counts = ((result.errors, "error"), (result.reconnects, "reconnect"), (result.lost, "lost request"))
    return ", ".join(plural(count, name) for count, name in counts if count)
