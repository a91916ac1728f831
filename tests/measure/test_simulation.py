"""Whether verdicts are as often right as they say: simulated trials, seeded, with looks and guards as in a real one.

Two thousand trials tell a rate of 5 % to within half a percent and one of 72 % to within one: the expected rates are
printed in the assertions' messages, and the seeds are fixed.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

import pytest

from tests.measure import lab_noise
from tests.measure.make import GUARDS, one, question
from tuneagent.measure.rounds import Hands, Measured, conduct
from tuneagent.measure.student import upper
from tuneagent.measure.verdict import ended, judge, looks_of
from tuneagent.model.trial import Arm, Decision, Question, Round, Verdict

TRIALS = 2000
KEPT = 200
"""Verdicts, to look at."""
FIVE = math.log(1.05)

LAB = (
    lab_noise.RESIDUALS_TRANSACTIONS,
    lab_noise.RESIDUALS_TRANSACTIONS_BUSY,
    lab_noise.RESIDUALS_EXITS_PER_TRANSACTION,
)
LAB_NAMES = ("transactions", "transactions-busy", "exits-per-transaction")

Noise = Callable[[random.Random], float]
"""Of the logarithm of one round."""


def normal(sd_pair: float) -> Noise:
    return lambda rng: rng.gauss(0, sd_pair / math.sqrt(2))


def heavy_tailed(sd_pair: float) -> Noise:
    """Student's t with 3 degrees of freedom, of the same standard deviation."""
    scale = sd_pair / math.sqrt(2) / math.sqrt(3)
    return lambda rng: scale * rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.5, 1 / 1.5))


def resampled(residuals: Sequence[float]) -> Noise:
    """Rounds that were measured, each drawn for itself."""
    return lambda rng: rng.choice(residuals)


def in_runs(residuals: Sequence[float]) -> Noise:
    """Rounds that were measured, in runs of six on average, so that what follows on each other stays together.

    A stationary bootstrap (Politis and Romano, 1994): slow stretches of the machine, which ABBA is there for.
    """
    place = 0

    def noise(rng: random.Random) -> float:
        nonlocal place
        place = rng.randrange(len(residuals)) if rng.random() < 1 / 6 else (place + 1) % len(residuals)
        return residuals[place]

    return noise


def bistable(rng: random.Random) -> float:
    """One of the rounds that were measured with a load that was not pinned."""
    return math.log(rng.choice(lab_noise.BISTABLE)) + rng.gauss(0, 0.02)


@dataclass
class Rates:
    """What came of many trials."""

    decisions: Counter[Decision] = field(default_factory=Counter)
    covered: int = 0
    pairs: int = 0
    fixed: int = 0
    """Found by a t test of all pairs, looked at once."""
    verdicts: list[Verdict] = field(default_factory=list)

    def share(self, *decisions: Decision) -> float:
        return sum(self.decisions[one] for one in decisions) / self.decisions.total()

    def coverage(self) -> float:
        return self.covered / self.decisions.total()

    def add(self, verdict: Verdict, truth: float) -> None:
        self.decisions[verdict.decision] += 1
        effect = verdict.primary
        assert effect is not None
        assert effect.low_percent is not None
        assert effect.high_percent is not None
        self.covered += effect.low_percent <= 100 * math.expm1(truth) <= effect.high_percent
        self.pairs += effect.pairs
        if len(self.verdicts) < KEPT:
            self.verdicts.append(verdict)


def simulate(asked: Question, truth: float, noise: Noise, trials: int = TRIALS, seed: int = 1) -> Rates:
    """Trials of one metric, ended as a trial ends; beside them a t test of all pairs that there might have been."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    rates = Rates()
    for _ in range(trials):
        pairs = [_pair(noise, rng, truth, turned=place % 2 == 1) for place in range(asked.pairs_max)]
        rates.add(_verdict(asked, pairs), truth)
        differences = [b - a for a, b in pairs]
        error = stdev(differences) / math.sqrt(len(pairs))
        rates.fixed += fmean(differences) > upper(0.025, len(pairs) - 1) * error
    return rates


def _pair(noise: Noise, rng: random.Random, truth: float, *, turned: bool) -> tuple[float, float]:
    """A and B; the later of both is A where the pair is ``turned``."""
    earlier, later = noise(rng), noise(rng)
    return (later, truth + earlier) if turned else (earlier, truth + later)


def _verdict(asked: Question, pairs: list[tuple[float, float]]) -> Verdict:
    rounds: list[Round] = []
    for pair, levels in enumerate(pairs, 1):
        for arm, level in zip(Arm, levels, strict=True):
            rounds.append(one(len(rounds) + 1, pair, arm, {asked.primary: 1000 * math.exp(level)}))
        if pair in looks_of(asked).looks and ended(asked, rounds):
            break
    return judge(asked, rounds)


class Guarded:
    """A machine on which A and B are the same; it drifts, and all that policies guard is measured too."""

    def __init__(self, rng: random.Random, noise: Noise) -> None:
        self._rng, self._noise, self._drift = rng, noise, 0.0

    def measure(self, seconds: float) -> Measured:
        rng = self._rng
        self._drift += rng.gauss(0.01, 0.01)
        return Measured(
            seconds,
            {
                "transactions_per_sec": 1000 * math.exp(self._noise(rng) + self._drift),
                "cpu_per_transaction_us": 20 * math.exp(rng.gauss(0, 0.05)),
                "latency_p99_us": 300 * math.exp(rng.gauss(0, 0.1)),
                "drops": float(rng.random() < 0.2),
                "retransmits": float(int(rng.expovariate(0.3))),
            },
            steal_percent=abs(rng.gauss(0, 1)),
        )

    def hands(self) -> Hands:
        return Hands(lambda _: None, self.measure, lambda _: None, lambda: 0, lambda: None)


@pytest.mark.timeout(600)  # 10 s of CPU, which a machine that boots guests meanwhile gives slowly
def test_whole_trials_without_an_effect_are_seldom_decided() -> None:
    rng = random.Random(3)  # noqa: S311 - no secret
    rates = Rates()
    for seed in range(TRIALS):
        machine = Guarded(rng, normal(lab_noise.SD_TRANSACTIONS))
        verdict = conduct(question(guards=GUARDS, seed=seed), machine.hands()).verdict
        assert verdict is not None
        rates.add(verdict, 0)
    assert rates.share(Decision.KEEP, Decision.REVERT) <= 0.05, rates.decisions
    assert 0.93 <= rates.coverage() <= 0.97


@pytest.mark.parametrize(
    "noise",
    [heavy_tailed(lab_noise.SD_TRANSACTIONS_PINNED), bistable, *map(resampled, LAB), *map(in_runs, LAB)],
    ids=["heavy-tailed", "bistable", *LAB_NAMES, *(f"{name}-in-runs" for name in LAB_NAMES)],
)
def test_no_effect_is_seldom_decided_whatever_the_noise(noise: Noise) -> None:
    rates = simulate(question(), 0, noise)
    assert rates.share(Decision.KEEP, Decision.REVERT) <= 0.05, rates.decisions


@pytest.mark.parametrize("residuals", LAB, ids=LAB_NAMES)
@pytest.mark.parametrize("truth", [0.0, 0.2])
def test_intervals_cover_the_truth_in_the_noise_of_the_lab(residuals: Sequence[float], truth: float) -> None:
    each = simulate(question(), truth, resampled(residuals)).coverage()
    assert 0.93 <= each <= 0.97, each
    # Runs make pairs more alike than their rounds are: the interval is then wider than it would need to be.
    assert simulate(question(), truth, in_runs(residuals)).coverage() >= 0.93


@pytest.mark.parametrize(("sd_pair", "least"), [(0.04, 0.90), (0.06, 0.70)])
def test_five_percent_are_found_within_twelve_pairs(sd_pair: float, least: float) -> None:
    rates = simulate(question(), FIVE, normal(sd_pair))
    kept = rates.share(Decision.KEEP)
    assert kept >= least, kept
    assert kept >= 0.95 * rates.fixed / TRIALS, (kept, rates.fixed / TRIALS)
    assert rates.decisions[Decision.REVERT] == 0


@pytest.mark.parametrize(("effect", "pairs_max"), [(-0.5, 12), (0.3, 12), (0.8, 12), (1.5, 12), (5.0, 12), (0.8, 24)])
def test_intervals_cover_the_truth_wherever_it_is(effect: float, pairs_max: int) -> None:
    # In standard deviations of a pair: from seldom decided to always at the first look.
    sd = 0.06
    rates = simulate(question(pairs_max=pairs_max), effect * sd, normal(sd), trials=1000, seed=5)
    assert 0.93 <= rates.coverage() <= 0.97, rates.coverage()


def test_intervals_of_boots_cover_the_truth() -> None:
    asked = question(cold=True, pairs_min=4, pairs_max=8)
    for truth in (0.0, 0.05, 0.3):
        rates = simulate(asked, truth, normal(0.06), trials=600)
        assert 0.93 <= rates.coverage() <= 0.97, rates.coverage()


def test_in_the_noise_of_the_lab_five_percent_are_undecided_and_what_was_not_seen_is_told() -> None:
    rates = simulate(question(), FIVE, normal(0.14), trials=200)
    undecided = [one for one in rates.verdicts if one.decision is Decision.UNDECIDED]
    assert len(undecided) >= 140
    told = [one.primary.detectable_percent for one in undecided if one.primary]
    assert all("would have been found in 80 % of such trials" in one.why for one in undecided)
    assert 10 < fmean(value for value in told if value is not None) < 18


def test_a_large_effect_does_not_wait_for_the_last_pair() -> None:
    rates = simulate(question(pairs_max=24), math.log(1.73), normal(lab_noise.SD_TRANSACTIONS), trials=300)
    assert rates.share(Decision.KEEP) == 1
    assert rates.pairs / 300 < 7


def test_no_effect_does_not_wait_for_it_either() -> None:
    rates = simulate(question(pairs_max=24), 0, normal(0.06), trials=300)
    assert rates.pairs / 300 < 19
