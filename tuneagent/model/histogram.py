"""Latencies in buckets of at most 1 % width from 1 µs to 100 s, as HdrHistogram has them: 128 buckets an octave.

Below 256 ns a bucket is one nanosecond; above, a value's bucket is its exponent and its seven bits after the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tuneagent.model.load import Histogram

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)
MOST_NS = 100 * 10**9
"""What takes longer is counted in the last bucket; ``max_ns`` and ``sum_ns`` tell it as it was."""
_BITS = 7
_HALF = 1 << _BITS


def bucket_of(ns: int) -> int:
    """The index of a latency's bucket; below 0 counts as 0, above MOST_NS as MOST_NS."""
    ns = min(max(ns, 0), MOST_NS)
    shift = max(ns.bit_length() - _BITS - 1, 0)
    return (shift << _BITS) + (ns >> shift)


BUCKETS = bucket_of(MOST_NS) + 1


def bounds_ns(index: int) -> tuple[int, int]:
    """The lowest latency of a bucket, and the lowest of the next; ValueError for an index that no latency has."""
    if not 0 <= index < BUCKETS:
        raise ValueError(f"no bucket {index}: there are 0 to {BUCKETS - 1}")
    if index < 2 * _HALF:
        return index, index + 1
    shift = (index >> _BITS) - 1
    low = (index & _HALF - 1) + _HALF
    return low << shift, low + 1 << shift


def percentile_ns(histogram: Histogram, percent: float) -> float | None:
    """The latency that so many per cent of the values do not exceed, by nearest rank; None of an empty histogram.

    It is the middle of its bucket, so within 0.5 %, and never outside of the least and the largest value that came.
    """
    if not 0 <= percent <= 100:  # noqa: PLR2004 - per cent
        raise ValueError(f"{percent} is no percentage")
    if histogram.total <= 0 or histogram.min_ns is None or histogram.max_ns is None:
        return None
    rank = max(1, math.ceil(percent / 100 * histogram.total))
    if rank >= histogram.total:
        return float(histogram.max_ns)
    passed = 0
    for index in sorted(histogram.counts):
        passed += histogram.counts[index]
        if passed >= rank:
            low, end = bounds_ns(index)
            return min(max((low + end - 1) / 2, histogram.min_ns), histogram.max_ns)
    return float(histogram.max_ns)


def mean_ns(histogram: Histogram) -> float | None:
    """The arithmetic mean; None of an empty histogram."""
    return histogram.sum_ns / histogram.total if histogram.total > 0 else None


def of_counts(counts: Sequence[int], sum_ns: int, min_ns: int | None, max_ns: int | None) -> Histogram:
    """From a count for every bucket, in the order of their indexes."""
    came = {index: count for index, count in enumerate(counts) if count}
    return Histogram(came, sum(came.values()), sum_ns, min_ns, max_ns)


def of_steps(steps: Iterable[tuple[float, int]], total: int, mean_of_all_ns: float) -> Histogram | None:
    """From the percentiles (per cent, ns) that a program tells: exact at each of them, the next higher in between.

    None without a value. The steps must rise; the last one is taken for the largest value and the first for the least.
    """
    counts: dict[int, int] = {}
    passed, least, most = 0, None, None
    for percent, ns in sorted(steps):
        most = ns
        least = ns if least is None else least
        rank = min(total, math.ceil(percent / 100 * total))
        if rank > passed:
            index = bucket_of(ns)
            counts[index] = counts.get(index, 0) + rank - passed
            passed = rank
    if not counts or least is None or most is None:
        return None
    last = bucket_of(most)
    counts[last] = counts.get(last, 0) + total - passed
    return Histogram(
        {index: count for index, count in counts.items() if count}, total, round(mean_of_all_ns * total), least, most
    )


def merged(histograms: Iterable[Histogram]) -> Histogram | None:
    """All values of several histograms in one; None of none."""
    counts: dict[int, int] = {}
    parts = list(histograms)
    for part in parts:
        for index, count in part.counts.items():
            counts[index] = counts.get(index, 0) + count
    if not parts:
        return None
    least = [part.min_ns for part in parts if part.min_ns is not None]
    most = [part.max_ns for part in parts if part.max_ns is not None]
    return Histogram(
        counts,
        sum(part.total for part in parts),
        sum(part.sum_ns for part in parts),
        min(least, default=None),
        max(most, default=None),
    )
