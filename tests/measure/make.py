"""Questions and rounds, for tests of verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from tuneagent.model.load import LoadKind, LoadSpec
from tuneagent.model.policy import Guard
from tuneagent.model.trial import Arm, Better, Question, Round

GUARDS = (
    Guard("cpu_per_transaction", 10),
    Guard("latency_p99", 10),
    Guard("drops", 5),
    Guard("retransmits", 10),
)


def question(**changes: Any) -> Question:
    """Transactions/s, threshold 0, no guard, 6 to 12 pairs."""
    base = Question(
        policy="pin",
        subject="eth0",
        title="Pin the queue interrupts",
        primary="transactions_per_sec",
        better=Better.UP,
        threshold_percent=0,
        guards=(),
        pairs_min=6,
        pairs_max=12,
        round_s=5,
        settle_s=1,
        seed=7,
        load=LoadSpec(LoadKind.TCP_RR, cpus=(1,)),
    )
    return replace(base, **changes)


def one(number: int, pair: int, arm: Arm, metrics: dict[str, float], **changes: Any) -> Round:
    """A round that counts."""
    return replace(Round(number, pair, arm, 10**18 + number * 6 * 10**9, 5.0, metrics), **changes)


def rounds(pairs: Iterable[tuple[dict[str, float], dict[str, float]]]) -> tuple[Round, ...]:
    """Pairs of A's and B's metrics in ABBA order."""
    found: list[Round] = []
    for index, (a, b) in enumerate(pairs):
        both = [(Arm.A, a), (Arm.B, b)]
        for arm, metrics in both if index % 2 == 0 else reversed(both):
            found.append(one(len(found) + 1, index + 1, arm, metrics))
    return tuple(found)


def of(metric: str, a: Sequence[float], b: Sequence[float]) -> tuple[Round, ...]:
    """Rounds in which one metric was measured."""
    return rounds(({metric: x}, {metric: y}) for x, y in zip(a, b, strict=True))
