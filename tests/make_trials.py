"""Trials as they come out of a machine: the four rows of a published report, and a pin measured under noise."""

from __future__ import annotations

import functools
import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from statistics import NormalDist
from typing import Any

from tuneagent.model.histogram import bucket_of
from tuneagent.model.load import Histogram, LoadKind, LoadResult, LoadSpec
from tuneagent.model.plan import Change, Target, TunableKind
from tuneagent.model.policy import Guard
from tuneagent.model.trial import (
    Arm,
    Better,
    Decision,
    Effect,
    GuardResult,
    Question,
    Round,
    Trial,
    TrialState,
    Verdict,
)

BEGAN_NS = 1_767_225_600 * 10**9
"""2026-01-01 00:00:00 UTC."""
ROUND_S = 6.0
SECOND_NS = 10**9
E1_ROUNDS = 6
_T95 = {5: 2.571, 11: 2.201}
"""Student's t, both sides, by degrees of freedom."""

Measures = dict[str, float]

BASELINE: Measures = {
    "transactions_per_sec": 87_070.34,
    "packets_per_sec": 172_992.0,
    "exits_per_sec": 148_444.58,
    "exits_per_transaction": 1.7049,
    "interrupts_per_packet": 0.0600,
    "tx_cpu_percent": 2.40,
    "rx_cpu_percent": 99.35,
}
EVENT_INDEX: Measures = {
    "transactions_per_sec": 112_180.10,
    "packets_per_sec": 222_878.33,
    "exits_per_sec": 96_280.11,
    "exits_per_transaction": 0.8583,
    "interrupts_per_packet": 0.0305,
    "tx_cpu_percent": 1.14,
    "rx_cpu_percent": 99.33,
}
EVENT_INDEX_AND_IRQBALANCE: Measures = {
    "transactions_per_sec": 110_891.12,
    "packets_per_sec": 220_315.67,
    "exits_per_sec": 97_190.68,
    "exits_per_transaction": 0.8764,
    "interrupts_per_packet": 0.0320,
    "tx_cpu_percent": 1.10,
    "rx_cpu_percent": 99.38,
}
PINNED: Measures = {
    "transactions_per_sec": 107_714.53,
    "packets_per_sec": 214_006.0,
    "exits_per_sec": 121_050.45,
    "exits_per_transaction": 1.1238,
    "interrupts_per_packet": 0.0653,
    "tx_cpu_percent": 9.61,
    "rx_cpu_percent": 99.45,
}
_E1 = {
    "event-index": (EVENT_INDEX, (3_400.0, 3_400.0), "Event index on"),
    "event-index-irqbalance": (EVENT_INDEX_AND_IRQBALANCE, (7_040.0, 0.0), "Event index on, irqbalance running"),
    "irqbalance": (PINNED, (13_975.0, 0.0), "irqbalance running: one CPU serves the queue"),
}


def e1(row: str = "event-index", number: int = 1) -> Trial:
    """A row of the report beside its baseline, six runs each, with half a percent of noise."""
    after, interrupts, title = _E1[row]
    arms = {Arm.A: (BASELINE, (5_154.0, 5_222.0)), Arm.B: (after, interrupts)}

    def measured(arm: Arm, noise: Callable[[], float]) -> Round:
        means, per_cpu = arms[arm]
        factor = noise()
        queues = {
            "input.0": {"0": per_cpu[0] * factor, "1": per_cpu[1] * factor},
            "output.0": {"0": 0.0, "1": 0.0},
        }
        exits = {"io": means["exits_per_sec"] * 0.7, "halt": means["exits_per_sec"] * 0.25}
        return round_of(arm, {name: value * factor for name, value in means.items()}, queues, exits)

    asked = question(policy=row, title=title, pairs=E1_ROUNDS)
    return trial(asked, _rounds(E1_ROUNDS, measured, 0.005), number)


def pin(number: int = 7, pairs: int = 12, **changes: Any) -> Trial:
    """Four interrupts of two queues on one vCPU, then a pair on each: much gained, in a noisy laboratory."""
    began = BEGAN_NS + number * 3_600 * SECOND_NS
    return replace(_pin(pairs), id=number, began_ns=began, ended_ns=began + 190 * SECOND_NS, **changes)


@functools.cache
def _pin(pairs: int) -> Trial:

    def measured(arm: Arm, noise: Callable[[], float]) -> Round:
        pinned = arm is Arm.B
        rate = (2_310.0 if pinned else 1_335.0) * noise()
        exits_each = (7.9 if pinned else 8.6) * noise()
        busy = noise()
        metrics = {
            "transactions_per_sec": rate,
            "packets_per_sec": 2.02 * rate,
            "exits_per_sec": rate * exits_each,
            "exits_per_transaction": exits_each,
            "interrupts_per_sec": rate * (1.31 if pinned else 1.19),
            "interrupts_per_packet": 0.65 if pinned else 0.59,
            "cpu_per_transaction_us": (431.0 if pinned else 498.0) * busy,
            "rx_cpu_percent": (88.0 if pinned else 61.0) * busy,
            "tx_cpu_percent": (12.0 if pinned else 9.0) * busy,
            "latency_p50_us": (5_100.0 if pinned else 9_300.0) * noise(),
            "latency_p99_us": (14_800.0 if pinned else 26_000.0) * noise(),
            "drops": 0.0,
            "retransmits": 3.0 if pinned else 2.0,
            "vhost_cpu_percent": 21.0 * busy,
            "steal_percent": 0.4,
        }
        share = metrics["interrupts_per_sec"]
        queues = {
            "input.0": {"0": share * 0.31, "1": 0.0},
            "output.0": {"0": share * 0.19, "1": 0.0},
            "input.1": {"0": 0.0 if pinned else share * 0.29, "1": share * 0.29 if pinned else 0.0},
            "output.1": {"0": 0.0 if pinned else share * 0.21, "1": share * 0.21 if pinned else 0.0},
        }
        kinds = {"io": 0.44, "halt": 0.31, "msr": 0.14, "ext-interrupt": 0.08, "npf": 0.02, "hypercall": 0.01}
        by_kind = {name: part * metrics["exits_per_sec"] for name, part in kinds.items()}
        missing = {"lock_waits_per_sec": "no tracepoint: not permitted"}
        made = round_of(arm, metrics, queues, by_kind, missing=missing, steal_percent=0.4)
        return replace(made, load=load_result(rate, metrics["latency_p50_us"] * 1000))

    rounds = _rounds(pairs, measured, 0.095)
    odd = replace(
        rounds[5],
        steal_percent=31.0,
        unused="a neighbour took 31 % of the CPU; measured again",
        metrics={**rounds[5].metrics, "transactions_per_sec": 412.0},
    )
    again = [replace(one, number=one.number + 1) for one in rounds[5:]]
    asked = question(
        "pin-queue-interrupts",
        "Each queue's interrupts on one vCPU",
        pairs=pairs,
        changes=(change(), change("output.1", 34)),
        guards=(Guard("latency_p99", 10.0), Guard("cpu_per_transaction", 5.0), Guard("drops", 0.0)),
    )
    return trial(asked, (*rounds[:5], odd, *again), 0, kept=True, transaction=5)


def same(number: int = 9, pairs: int = 12) -> Trial:
    """A and B alike."""

    def measured(arm: Arm, noise: Callable[[], float]) -> Round:
        return round_of(arm, {"transactions_per_sec": 1_300.0 * noise(), "exits_per_transaction": 8.6 * noise()})

    return trial(question("no-change", "Nothing", pairs=pairs), _rounds(pairs, measured, 0.09), number)


def failed(number: int = 8) -> Trial:
    """The server died in the second round."""
    whole = pin()
    rounds = (whole.rounds[0], replace(whole.rounds[1], unused="the server ended within the round"))
    why = "the load's server does not answer (connection refused)"
    return replace(
        whole,
        id=number,
        rounds=rounds,
        state=TrialState.FAILED,
        verdict=None,
        kept=False,
        transaction=None,
        why=why,
    )


def running(whole: Trial | None = None) -> Trial:
    """As a trial is before its first round."""
    begun = whole or pin()
    return replace(
        begun, id=0, ended_ns=None, rounds=(), state=TrialState.RUNNING, verdict=None, kept=None, transaction=None
    )


def question(policy: str = "pin-queue-interrupts", title: str = "Pin", *, pairs: int = 12, **changes: Any) -> Question:
    """Transactions/s must rise."""
    asked = Question(
        policy=policy,
        subject="eth0",
        title=title,
        primary="transactions_per_sec",
        better=Better.UP,
        threshold_percent=2.0,
        guards=(),
        pairs_min=6,
        pairs_max=pairs,
        round_s=ROUND_S,
        settle_s=1.5,
        seed=20_260_101,
        load=LoadSpec(LoadKind.TCP_RR, "192.0.2.7", 7411, connections=16, processes=2, cpus=(2, 3)),
    )
    return replace(asked, **changes)


def change(queue: str = "input.1", irq: int = 33) -> Change:
    """An interrupt moved to CPU 1."""
    where = f"/proc/irq/{irq}/smp_affinity_list"
    target = Target(bus_address="0000:00:03.0", queue=1, queue_role=queue.partition(".")[0], irq=irq, interface="eth0")
    why = f"{queue} shares CPU 0 with every other queue"
    do, undo = f"echo 1 > {where}", f"echo 0 > {where}"
    return Change(TunableKind.IRQ_AFFINITY, target, where, "0", "1", why, do, undo)


def round_of(
    arm: Arm,
    metrics: Measures,
    queues: dict[str, dict[str, float]] | None = None,
    exits: Measures | None = None,
    **fields: Any,
) -> Round:
    """A round whose place in the trial comes later."""
    return Round(0, 0, arm, 0, ROUND_S, metrics, queue_interrupts=queues or {}, exits_by_kind=exits or {}, **fields)


def load_result(rate: float, median_ns: float) -> LoadResult:
    """Latencies as they are: log-normal about their median, with one stall of 40 times that."""
    transactions = round(rate * ROUND_S)
    steps = [round(median_ns * math.exp(0.55 * NormalDist().inv_cdf((one + 0.5) / 200))) for one in range(200)]
    values = [*(steps[one * 200 // transactions] for one in range(transactions - 1)), round(40 * median_ns)]
    counts = Counter(map(bucket_of, values))
    return LoadResult(
        seconds=ROUND_S,
        transactions=transactions,
        latency=Histogram(dict(counts), transactions, sum(values), values[0], values[-1]),
        client_cpu_s=1.9,
        server_cpu_s=2.3,
        client_cpus=(2, 3),
    )


def trial(
    asked: Question, rounds: tuple[Round, ...], number: int, *, kept: bool = False, transaction: int | None = None
) -> Trial:
    """The trial with the verdict that a paired t interval gives."""
    verdict = verdict_of(asked, rounds)
    facts = {
        "guest kernel": "6.1.0-31-amd64",
        "guest CPUs": "2",
        "hypervisor kernel": "6.1.0-31-amd64",
        "QEMU": "10.0.2",
        "queues": "2",
        "features": "MRG_RXBUF, EVENT_IDX, INDIRECT_DESC",
    }
    return Trial(
        id=number,
        began_ns=BEGAN_NS + number * 3_600 * SECOND_NS,
        ended_ns=BEGAN_NS + number * 3_600 * SECOND_NS + 190 * SECOND_NS,
        version="0.1.0",
        question=asked,
        facts=facts,
        rounds=rounds,
        state=TrialState.DONE,
        verdict=verdict,
        kept=kept,
        transaction=transaction,
    )


def verdict_of(asked: Question, rounds: tuple[Round, ...]) -> Verdict:
    """Keep where the whole interval is above the threshold."""
    effects = tuple(effect(name, rounds) for name in rounds[0].metrics if name not in {"drops", "steal_percent"})
    primary = next(one for one in effects if one.metric == asked.primary)
    low = primary.low_percent
    keep = low is not None and low > asked.threshold_percent
    by_name = {one.metric.removesuffix("_us"): one for one in effects}
    guards = tuple(
        GuardResult(guard, by_name.get(guard.metric), failed=False, why="its interval is not beyond the limit")
        for guard in asked.guards
    )
    why = (
        "the whole interval is above the threshold of 2 %"
        if keep
        else "the interval holds the threshold of 2 %: more pairs than were allowed would be needed"
    )
    decision = Decision.KEEP if keep else Decision.UNDECIDED
    notes = ("lock waits were not measured: no tracepoint",) if "pin" in asked.policy else ()
    return Verdict(decision, why, primary, effects, guards, looks=3, notes=notes)


def effect(metric: str, rounds: tuple[Round, ...]) -> Effect:
    """By Student's t over the log ratios of the pairs."""
    by_pair: dict[int, dict[Arm, float]] = {}
    for one in rounds:
        if not one.unused:
            by_pair.setdefault(one.pair, {})[one.arm] = one.metrics[metric]
    ratios = [math.log(pair[Arm.B] / pair[Arm.A]) for pair in by_pair.values()]
    mean = sum(ratios) / len(ratios)
    sd = math.sqrt(sum((one - mean) ** 2 for one in ratios) / (len(ratios) - 1))
    half = _T95[len(ratios) - 1] * sd / math.sqrt(len(ratios))
    return Effect(
        metric=metric,
        pairs=len(ratios),
        a_mean=_mean([pair[Arm.A] for pair in by_pair.values()]),
        b_mean=_mean([pair[Arm.B] for pair in by_pair.values()]),
        percent=_percent(mean),
        low_percent=_percent(mean - half),
        high_percent=_percent(mean + half),
        sd_log_ratio=sd,
        detectable_percent=_percent(3.1 * sd / math.sqrt(len(ratios))),
        method="Student's t over paired log ratios",
    )


def _mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _percent(log_ratio: float) -> float:
    return 100 * math.expm1(log_ratio)


def _rounds(pairs: int, measured: Callable[[Arm, Callable[[], float]], Round], sd: float) -> tuple[Round, ...]:
    """ABBA, and reproducible."""
    chance = random.Random(4711)  # noqa: S311 - noise, and no secret

    def noise() -> float:
        return math.exp(chance.gauss(0, sd))

    made: list[Round] = []
    for pair in range(pairs):
        for arm in (Arm.A, Arm.B) if pair % 2 == 0 else (Arm.B, Arm.A):
            number = len(made)
            began = BEGAN_NS + round(number * (ROUND_S + 1.5) * SECOND_NS)
            made.append(replace(measured(arm, noise), number=number, pair=pair, began_ns=began))
    return tuple(made)
