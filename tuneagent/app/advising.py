"""From a view to everything that there is to say of it: the rules, the plan, and the same for the guests seen in it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tuneagent import __version__
from tuneagent.app import domains, policy_files
from tuneagent.diagnose import diagnose
from tuneagent.machine import own_cost
from tuneagent.model.advise import AdviseReport, GuestReport
from tuneagent.model.cost import AgentCost
from tuneagent.model.identity import Role
from tuneagent.model.policy import Policy
from tuneagent.model.view import View
from tuneagent.plan.solve import plan
from tuneagent.report.domain_ranking import by_subject

if TYPE_CHECKING:
    from tuneagent.app.asked import Asked
    from tuneagent.app.sampling import Sampled


def report(sampled: Sampled, asked: Asked, began: float) -> AdviseReport:
    """The report on what was sampled, with its cost from ``began`` (time.monotonic) on."""
    policies = policy_files.policies(asked.directories)
    _check_policies(asked.policies, [policy.name for policy in policies])
    whole = _judged(sampled.view, sampled.origin, policies, asked.policies)
    made = replace(
        _only(whole, asked),
        asked_domains=domains.keys(sampled.view, asked.domains),
        guests=tuple(_guests(sampled.view, policies)),
    )
    return replace(made, cost=_cost(sampled, began))


def _judged(view: View, origin: str, policies: Sequence[Policy], asked: tuple[str, ...] = ()) -> AdviseReport:
    judgements = diagnose(view)
    return AdviseReport(
        version=__version__,
        origin=origin,
        view=view,
        judgements=judgements,
        plan=plan(view, judgements, policies, asked),
        cost=None,
        applies=True,
    )


def _guests(view: View, policies: Sequence[Policy]) -> Iterator[GuestReport]:
    """By the same rules, and with what can be done inside: the host's part of a remedy is worked out on its side."""
    inside = [policy for policy in policies if policy.role is Role.GUEST]
    for domain in view.hypervisor.domains if view.hypervisor else ():
        guest = domain.guest
        if guest is not None and guest.view is not None:
            yield GuestReport(domain.key, domain.name, _judged(guest.view, guest.origin, inside))


def _only(whole: AdviseReport, asked: Asked) -> AdviseReport:
    """What is about the interfaces and virtual machines that were named; everything where none was."""
    nics = _known(whole.view, asked.nics)
    keys = frozenset(domains.keys(whole.view, asked.domains))
    if not nics and not keys:
        return whole
    about = by_subject(whole.view.hypervisor)
    every = {one.subject for one in (*whole.judgements, *whole.plan.advice, *whole.plan.declined)}
    subjects = frozenset(one for one in every if (about[one].key in keys if one in about else one in nics or not nics))
    judgements = tuple(one for one in whole.judgements if one.subject in subjects)
    return replace(whole, judgements=judgements, plan=whole.plan.only(subjects))


def _known(view: View, names: tuple[str, ...]) -> frozenset[str]:
    here = {nic.name for nic in view.after.nics or ()}
    for name in names:
        if name not in here:
            raise click.UsageError(f"no interface {name!r} here; there are: {', '.join(sorted(here)) or 'none'}")
    return frozenset(names)


def _check_policies(asked: tuple[str, ...], names: list[str]) -> None:
    for name in asked:
        if name not in names:
            raise click.UsageError(f"no policy {name!r}; there are: {', '.join(sorted(names))}")


def _cost(sampled: Sampled, began: float) -> AgentCost:
    waits = sampled.view.contention
    return AgentCost(
        cpu_s=own_cost.cpu_seconds(),
        sampling_cpu_s=sampled.sampling_cpu_s,
        wall_beyond_interval_s=time.monotonic() - began - sampled.waited_s,
        peak_rss_bytes=own_cost.peak_rss_bytes(),
        locks_cpu_s=waits.cpu_s if waits is not None and waits.seconds and sampled.sampling_cpu_s is not None else None,
    )
