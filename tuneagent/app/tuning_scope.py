"""Whom a tuning is about: what each piece of advice would be applied to, and that it is one virtual machine at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import click

from tuneagent.app.applying import Ask
from tuneagent.model.plan import Advice
from tuneagent.model.view import View
from tuneagent.report.domain_ranking import by_subject

_NAMED = 6
"""Virtual machines, where a line names them."""


def asked(advice: Advice, view: View, ask: Ask) -> Ask | None:
    """What the command line of its apply would ask for; None where the user named something else."""
    nics, domains = _names(advice.subject, view)
    if ask.nics and nics and not set(nics) & set(ask.nics):
        return None
    if ask.domains and domains and not set(domains) & set(_keys(view, ask.domains)):
        return None
    return replace(ask, policies=(advice.policy,), nics=nics[:1], domains=domains)


def check_is_about_one(advice: Sequence[Advice], view: View, ask: Ask) -> None:
    """UsageError where there is advice for several virtual machines: winners of two could not be confirmed together.

    That ``--domain`` names one at most is ``trial_scope``'s business.
    """
    each = (asked(one, view, ask) for one in advice)
    keys = dict[str, None]()
    for key in chain.from_iterable(one.domains for one in each if one is not None):
        keys[key] = None
        if len(keys) > _NAMED:
            break
    if len(keys) < 2:  # noqa: PLR2004 - two are too many
        return
    host = view.hypervisor
    names = [one.name for one in host.domains if one.key in keys] if host is not None else []
    more = ", …" if len(names) > _NAMED else ""
    raise click.UsageError(
        "tuning is about one virtual machine, the one that the load is for, and this would be about several: name it "
        f"by --domain ({', '.join(names[:_NAMED])}{more}); nothing was changed"
    )


def _keys(view: View, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        found = view.hypervisor.find(name) if view.hypervisor is not None else None
        if found is not None:
            yield found.key


def _names(subject: str, view: View) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The interface, by all names that it goes by, and the virtual machine that a subject is."""
    domain = by_subject(view.hypervisor).get(subject)
    if domain is None:
        return ((subject,) if view.after.nic(subject) is not None else ()), ()
    interfaces = domain.definition.interfaces if domain.definition is not None else ()
    found = next((one for one in interfaces if domain.subject_of(one) == subject), None)
    if found is None:
        return (), (domain.key,)
    return tuple(filter(None, (found.target, found.mac, str(found.position)))), (domain.key,)
