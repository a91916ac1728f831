"""A trial: interleaved rounds of A and B, and the verdict that they allow, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tuneagent.model.load import LoadResult, LoadSpec
from tuneagent.model.plan import Change
from tuneagent.model.policy import Guard


class Arm(StrEnum):
    """The two states that are compared."""

    A = "a"
    """As it was."""
    B = "b"
    """With the changes."""


class Better(StrEnum):
    """Which way a metric should go."""

    UP = "up"
    DOWN = "down"
    NEITHER = "neither"
    """Told, and not judged: interrupts/s may rise with the work done."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number of each round. Names carry the unit: ``transactions_per_sec``, ``exits_per_transaction``."""

    name: str
    unit: str
    better: Better
    title: str
    meaning: str = ""
    """How it is got, where the title does not say it all."""


@dataclass(frozen=True, slots=True)
class Round:
    """One measured interval of one arm. Rounds that are not used are kept too, with the reason."""

    number: int
    pair: int
    arm: Arm
    began_ns: int
    """CLOCK_REALTIME."""
    seconds: float
    metrics: dict[str, float]
    """By name; what could not be measured is not there, and ``missing`` says why."""
    missing: dict[str, str] = field(default_factory=dict)
    queue_interrupts: dict[str, dict[str, float]] = field(default_factory=dict)
    """Interrupts/s by queue (``input.0``) and CPU."""
    exits_by_kind: dict[str, float] = field(default_factory=dict)
    """Exits/s by KVM's names."""
    load: LoadResult | None = None
    steal_percent: float | None = None
    unused: str = ""
    """Why it does not count: a neighbour took the CPU, the server died. Empty for one that counts."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What B does to one metric: from the paired log ratios of the rounds, or from differences where it may be 0."""

    metric: str
    pairs: int
    a_mean: float
    """Geometric mean of the rounds of A; arithmetic where differences are taken."""
    b_mean: float
    percent: float | None
    """B against A; None where A is 0 and B is not."""
    low_percent: float | None
    """Of the 95 % interval; None with fewer pairs than an interval needs."""
    high_percent: float | None
    sd_log_ratio: float | None
    detectable_percent: float | None
    """The smallest effect that this trial would have found in 80 % of cases."""
    method: str
    """How the interval was made."""
    difference: float | None = None
    """B minus A in the metric's unit, where differences are taken (drops); the percents are then of A's mean."""
    low_difference: float | None = None
    high_difference: float | None = None


class Decision(StrEnum):
    """What a trial comes to."""

    KEEP = "keep"
    REVERT = "revert"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class GuardResult:
    """Whether a metric that must not get worse did: only where its whole interval is beyond its limit."""

    guard: Guard
    effect: Effect | None
    failed: bool
    why: str
    judged: bool = True
    """False where it was not measured, or in too few rounds: then nothing was guarded."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Keep, revert or undecided; why; and everything that it rests on."""

    decision: Decision
    why: str
    primary: Effect | None
    effects: tuple[Effect, ...]
    guards: tuple[GuardResult, ...]
    looks: int
    """How often the rounds were looked at; each look costs a part of the 5 %."""
    notes: tuple[str, ...] = ()
    """That an arm's rounds fall into two groups, that the load moved between CPUs, what was not measured."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is compared, and what counts as an answer."""

    policy: str
    subject: str
    title: str
    primary: str
    """Name of the metric that decides."""
    better: Better
    threshold_percent: float
    """A gain must be above this with its whole interval."""
    guards: tuple[Guard, ...]
    pairs_min: int
    pairs_max: int
    round_s: float
    settle_s: float
    seed: int
    load: LoadSpec
    changes: tuple[Change, ...] = ()
    cold: bool = False
    """Each round has a boot of its own, because B cannot be switched to live; a pair is one boot of each arm."""


class TrialState(StrEnum):
    """How a trial ended."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    """It did not come to a verdict; the machine is as before, and ``why`` says what happened."""
    INTERRUPTED = "interrupted"
    """Nobody ended it: its process died. Never written by a trial; the store says it of one that nobody runs."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A whole trial as it is stored: raw rounds, so that the verdict can be worked out again later."""

    id: int
    began_ns: int
    ended_ns: int | None
    version: str
    question: Question
    facts: dict[str, str]
    """The machine on both sides, for people: kernel, QEMU, CPUs, features, queues."""
    rounds: tuple[Round, ...]
    state: TrialState
    verdict: Verdict | None = None
    kept: bool | None = None
    """Whether the changes stood when it ended; None while it runs. What stands now, the journals know."""
    transaction: int | None = None
    """The transaction that held them then, where they were kept: of the machine that measured."""
    why: str = ""
    origin: str = ""
    """The file that it was imported from, not exported with it; empty for one that was measured here."""
