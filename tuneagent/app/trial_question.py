"""What a trial asks: which metric decides, which way it should go, and what must not get worse."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import click

from tuneagent.app.trial_options import Wishes
from tuneagent.measure.askable import VALUE, never
from tuneagent.measure.scope import Scope
from tuneagent.model import metrics
from tuneagent.model.apply_report import PlannedChange
from tuneagent.model.load import LoadKind, LoadSpec
from tuneagent.model.policy import Action, Guard, Policy
from tuneagent.model.trial import Better, Question

OF_EXITS = frozenset({Action.EVENT_INDEX_ON, Action.VHOST_ON, Action.VHOST_AFFINITY})
"""What these are for is fewer exits; transactions/s follow from it, with more noise."""
PER_PACKET = "interrupts_per_packet"
_DOWN = frozenset({PER_PACKET, "interrupts_per_sec", "exits_per_sec", "vhost_cpu_percent", "run_queue_wait_percent"})
"""Told and not judged beside another metric; asked for as the one that decides, fewer is better."""


def question(
    policies: Sequence[Policy],
    tried: Iterable[PlannedChange],
    about: tuple[str, str],
    measured: tuple[Scope, LoadSpec],
    wishes: Wishes,
) -> Question:
    """The question of a trial; ``about`` is its subject and how it is called where no policy is tried."""
    subject, otherwise = about
    scope, spec = measured
    primary = usual_primary(policies, scope, spec) if wishes.primary is None else wishes.primary
    objection = never(primary, spec.kind, scope)
    if objection:
        raise click.UsageError(f"--primary {primary}: {objection}")
    return Question(
        policy="+".join(policy.name for policy in policies) or otherwise,
        subject=subject,
        title="; ".join(policy.title for policy in policies) or otherwise,
        primary=primary,
        better=better(primary, wishes.better),
        threshold_percent=wishes.threshold_percent,
        guards=guards(policies),
        pairs_min=wishes.pairs_min,
        pairs_max=wishes.pairs_max,
        round_s=wishes.round_s,
        settle_s=wishes.settle_s,
        seed=wishes.seed,
        load=spec,
        changes=tuple(one.change for one in tried),
    )


def usual_primary(policies: Sequence[Policy], scope: Scope, spec: LoadSpec) -> str:
    """The metric that decides where nobody named one."""
    exits = scope.domain is not None and any(OF_EXITS.intersection(policy.actions) for policy in policies)
    if spec.kind is LoadKind.PASSIVE:
        return metrics.EXITS_PER_PACKET if exits else PER_PACKET
    if spec.kind in {LoadKind.COMMAND, LoadKind.IPERF3}:
        return VALUE if spec.kind is LoadKind.COMMAND else metrics.BITS
    return metrics.EXITS_PER_TRANSACTION if exits else metrics.TRANSACTIONS


def better(primary: str, asked: str | None) -> Better:
    """Which way the metric that decides should go. UsageError where nobody can know."""
    if asked is not None:
        return Better(asked)
    if primary == VALUE:
        return Better.UP
    told = metrics.metric(primary).better
    if told is not Better.NEITHER:
        return told
    if primary in _DOWN:
        return Better.DOWN
    names = ", ".join(one.name for one in metrics.METRICS if one.better is not Better.NEITHER)
    raise click.UsageError(f"--primary {primary}: say by --better which way it should go; it is known of: {names}")


def guards(policies: Iterable[Policy]) -> tuple[Guard, ...]:
    """Those of all policies; of several on one metric the strictest."""
    strictest: dict[str, Guard] = {}
    for policy in policies:
        for guard in policy.guards:
            known = strictest.get(guard.metric)
            if known is None or guard.worse_percent_max < known.worse_percent_max:
                strictest[guard.metric] = guard
    return tuple(strictest.values())


def seed(asked: int | None) -> int:
    """The seed of the rounds' order; a drawn one is in the record, so that the order can be repeated."""
    return random.SystemRandom().randrange(2**32) if asked is None else asked
