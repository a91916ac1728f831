"""Which changes a command line asks for: one look at the machine, the plan for the policies that were named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuneagent.app.inputs import InputError, bounded_text, json_value
from tuneagent.app.site_source import source_of
from tuneagent.model.apply_report import PlannedChange
from tuneagent.model.plan import ORDER, Advice, Change, Declined, TunableKind
from tuneagent.model.policy import Disruption
from tuneagent.parse import plan_file

if TYPE_CHECKING:
    from tuneagent.machine.source import Source
    from tuneagent.model.domain_view import DomainView
    from tuneagent.model.policy import Policy
    from tuneagent.model.snapshot import Snapshot
    from tuneagent.model.view import View

LARGEST_FILE_BYTES = 32 * 1024 * 1024
"""The advice on a thousand virtual machines takes 20 MB."""
DISRUPTIVE = frozenset({TunableKind.CHANNELS, TunableKind.RINGS, TunableKind.DOMAIN_INTERFACE_LIVE})
"""The link goes down for it, or traffic stops for a moment."""
_INSIDE = "it is made inside the virtual machine: run tuneagent apply there"
_ELSEWHERE = "it changes nothing of what --on and --domain name; leave them out to see what it does"
_LIVE_WHY = "now, and not only from the next cold start on: the device is detached and attached, and its link drops"


@dataclass(frozen=True, slots=True)
class Ask:
    """What a command line asks to be applied, and where."""

    policies: tuple[str, ...]
    nics: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    plan: Path | None = None
    live: bool = False
    """Whether changes of a stored definition are also made on the running device."""
    tree: Path | None = None
    directories: tuple[Path, ...] = ()
    connect: tuple[str, ...] = ()
    in_container: bool = False
    """Whether the settings of the machine around a container are meant."""

    def check(self) -> None:
        """UsageError where options contradict each other."""
        if bool(self.policies) == (self.plan is not None):
            raise click.UsageError("name policies to apply, or give --plan FILE, and not both")
        if self.plan is not None and (self.nics or self.domains or self.directories):
            raise click.UsageError("--plan says itself what is changed: leave out --on, --domain and --policies")
        if self.tree is not None and self.connect:
            raise click.UsageError("--connect is for this machine, not for a tree")
        if self.tree is not None and self.live:
            raise click.UsageError("--live is for this machine: there is no running device in a tree")


class Planner:
    """Plans anew whenever it is asked, and keeps what there is to say beside the changes.

    ``source`` is the machine's reading side; without one this machine or the tree is opened.
    """

    def __init__(self, ask: Ask, source: Source | None = None) -> None:
        self._ask = ask
        self._source = source
        self._file = None if ask.plan is None else read_plan(ask.plan)
        self._declined: dict[tuple[str, str, str], Declined] = {}
        self._notes: dict[str, None] = {}
        self._passes = 0
        self.disrupts = False
        """Whether a change of the last plan may interrupt traffic."""

    @property
    def declined(self) -> tuple[Declined, ...]:
        """What could not be done, by the first plan: what is done by then is no news in a later one."""
        return tuple(self._declined.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """What the plans leave alone and why, each once."""
        return tuple(self._notes)

    def plan(self) -> tuple[PlannedChange, ...]:
        """The changes, in the order in which they are to be made. UsageError for a name that means nothing here."""
        planned = self._of_file() if self._file is not None else self._of_policies()
        self._passes += 1
        ordered = sorted(planned, key=lambda one: ORDER.index(one.change.kind))
        self.disrupts |= any(one.change.kind in DISRUPTIVE for one in ordered)
        return tuple(ordered)

    def _of_file(self) -> list[PlannedChange]:
        if self._file is None:
            return []
        for one in self._file.inside:
            self._decline(Declined(one.policy, one.subject, _INSIDE))
        return list(_with_live(self._file.changes) if self._ask.live else self._file.changes)

    def _of_policies(self) -> list[PlannedChange]:
        from tuneagent.app import policy_files
        from tuneagent.plan.solve import plan

        policies = policy_files.named(self._ask.policies, self._ask.directories)
        view = self._look()
        made = plan(view, (), policies, self._ask.policies)
        chosen = _Chosen(view, self._ask)
        for one in made.declined:
            if chosen.has(one.subject):
                self._decline(one)
        told: list[Advice | Declined] = [*made.advice, *made.declined]
        about = {one.policy for one in told if chosen.has(one.subject)}
        for policy in policies:
            if policy.name not in about:
                self._decline(Declined(policy.name, "what was named", _ELSEWHERE))
        return [change for advice in made.advice for change in self._taken(advice, chosen, policies)]

    def _taken(self, advice: Advice, chosen: _Chosen, policies: Iterable[Policy]) -> Iterator[PlannedChange]:
        if not chosen.has(advice.subject):
            return
        if chosen.is_inside(advice):
            self._decline(Declined(advice.policy, advice.subject, _INSIDE))
            return
        live = self._ask.live and chosen.runs(advice.subject)
        stored = any(change.kind is TunableKind.DOMAIN_INTERFACE_DRIVER for change in advice.changes)
        if not (live and stored):  # its notes tell how to do by hand what is done here
            self._notes |= dict.fromkeys(advice.notes)
        self.disrupts |= any(one.name == advice.policy and one.disruption is Disruption.LINK_FLAP for one in policies)
        changes = [PlannedChange(advice.policy, advice.subject, change) for change in advice.changes]
        yield from _with_live(changes) if live else changes

    def _decline(self, declined: Declined) -> None:
        if self._passes == 0:
            self._declined.setdefault((declined.policy, declined.subject, declined.reason), declined)

    def _look(self) -> View:
        from tuneagent import rates
        from tuneagent.observe import snapshot

        if self._source is None:
            self._source = source_of(self._ask.tree, self._ask.connect)
        seen = snapshot(self._source, None, frozenset(self._ask.domains))
        return rates.alone(as_meant(seen, self._ask))


def as_meant(seen: Snapshot, ask: Ask) -> Snapshot:
    """What was seen, of the machine around a container where that is what is meant."""
    if not ask.in_container or seen.identity is None:
        return seen
    return replace(seen, identity=replace(seen.identity, container=None))


class _Chosen:
    """The subjects that --on and --domain mean; all where neither was given."""

    def __init__(self, view: View, ask: Ask) -> None:
        from tuneagent.app import domains
        from tuneagent.report.domain_ranking import by_subject

        self._ask = ask
        self._about = by_subject(view.hypervisor)
        self._keys = frozenset(domains.keys(view, ask.domains))
        self._interfaces = dict(_interfaces(self._about.values()))
        self._check({nic.name for nic in view.after.nics or ()})

    def has(self, subject: str) -> bool:
        """Whether it is about what was named."""
        domain = self._about.get(subject)
        if self._keys and (domain is None or domain.key not in self._keys):
            return False
        names = self._interfaces.get(subject, frozenset({subject}))
        return not self._ask.nics or bool(names & frozenset(self._ask.nics))

    def is_inside(self, advice: Advice) -> bool:
        """Whether it is done in a guest: its host cannot."""
        from tuneagent.model.identity import Role

        return advice.role is Role.GUEST and advice.subject in self._about

    def runs(self, subject: str) -> bool:
        """Whether the virtual machine is running now."""
        domain = self._about.get(subject)
        if domain is None:
            return False
        return domain.pid is not None or (domain.definition is not None and domain.definition.running)

    def _check(self, nics: set[str]) -> None:
        known = nics.union(*self._interfaces.values())
        for name in self._ask.nics:
            if name not in known:
                there = ", ".join(sorted(nics)) or "none"
                raise click.UsageError(f"no interface {name!r} here; there are: {there}")


def _interfaces(found: Iterable[DomainView]) -> Iterator[tuple[str, frozenset[str]]]:
    """By the subject of each interface of a virtual machine, the names that --on may have for it."""
    for domain in found:
        for one in domain.definition.interfaces if domain.definition is not None else ():
            yield domain.subject_of(one), frozenset(filter(None, (one.target, one.mac, str(one.position))))


def _with_live(changes: Iterable[PlannedChange]) -> Iterator[PlannedChange]:
    """Each change of a stored interface, and the same on the running device."""
    for one in changes:
        yield one
        if one.change.kind is TunableKind.DOMAIN_INTERFACE_DRIVER:
            yield replace(one, change=_on_the_device(one.change))


def _on_the_device(change: Change) -> Change:
    return replace(
        change,
        kind=TunableKind.DOMAIN_INTERFACE_LIVE,
        where=f"{change.where}, on the running device",
        old=None,
        why=_LIVE_WHY,
        do="",
        undo=None,
        diff=(),
    )


def read_plan(file: Path) -> plan_file.PlanFile:
    """The changes in a file. InputError with every fault, each with the file and its place."""
    try:
        return plan_file.parse(json_value(file, bounded_text(file, LARGEST_FILE_BYTES, "a plan"), "a plan"))
    except plan_file.PlanFileError as error:
        raise InputError("\n".join(f"{file}: {fault}" for fault in error.faults)) from error
