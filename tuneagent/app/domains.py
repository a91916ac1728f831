"""The virtual machines that the user named, and the inside of each over the same interval as its host."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from tuneagent.model.domain_view import DomainView, HypervisorView
from tuneagent.model.view import View
from tuneagent.report.safe import safe

if TYPE_CHECKING:
    from tuneagent.app.asked import Asked
    from tuneagent.app.guest import GuestSampler
    from tuneagent.join import GuestSeen

MOST_AT_ONCE = 16
"""Guests looked at together; the answers of each may be 8 MiB."""
MOST_NAMES = 20
"""Of those that there are, told to who named another."""


def named(view: View, names: Sequence[str]) -> tuple[tuple[DomainView, ...], ...]:
    """For each name or UUID the virtual machines that it means: several where connections share a name.

    UsageError, with the names that there are, where one means none.
    """
    return tuple(_meant(view, name) for name in names)


def keys(view: View, names: Sequence[str]) -> tuple[str, ...]:
    """The keys of the virtual machines that the names mean, each once."""
    return tuple(dict.fromkeys(one.key for found in named(view, names) for one in found))


def _meant(view: View, name: str) -> tuple[DomainView, ...]:
    host = view.hypervisor
    if host is None:
        raise click.UsageError(f"no domain {name!r}: this is no hypervisor, no QEMU and no KVM were found")
    found = tuple(one for one in host.domains if one.key == name.lower()) or host.named(name)
    if not found:
        raise click.UsageError(_unknown(view, host, name))
    return found


def _unknown(view: View, host: HypervisorView, name: str) -> str:
    names = [safe(one.name) for one in host.domains[:MOST_NAMES]]
    if len(host.domains) > MOST_NAMES:
        names.append(f"… {len(host.domains)} in all")
    seen = view.after.hypervisor
    why = "" if seen is None or seen.domains is not None else " (libvirt did not answer: `tuneagent doctor` says why)"
    return f"no domain {name!r}; there are: {', '.join(names) or 'none'}{why}"


class Guests:
    """The guests of the virtual machines that were named: those of files, and those that are asked now."""

    def __init__(self, view: View, asked: Asked) -> None:
        self._files: dict[str, GuestSeen] = {}
        self._samplers: dict[str, GuestSampler] = {}
        for place, found in enumerate(named(view, asked.domains)):
            for domain in found:
                self._add(domain, asked, place)

    def prepare(self) -> None:
        """Connects, before the first sample of the host."""
        _at_once([sampler.prepare for sampler in self._samplers.values()])

    def sample(self) -> None:
        """Looks once at each, right after a sample of the host, and at all at once: none makes the others late."""
        _at_once([sampler.sample for sampler in self._samplers.values()])

    def seen(self, expected_s: float | None = None) -> Mapping[str, GuestSeen]:
        """What each showed, by the key of its virtual machine."""
        return self._files | {key: sampler.seen(expected_s) for key, sampler in self._samplers.items()}

    def _add(self, domain: DomainView, asked: Asked, place: int) -> None:
        from tuneagent.app import guest

        if files := asked.files_of(place):
            self._files[domain.key] = guest.from_snapshot(files, asked.interval_s if asked.stated else None)
        elif asked.live and asked.guest_agent and domain.definition is not None:
            self._samplers[domain.key] = guest.through_agent(domain.definition.uri, domain.definition.uuid)


def _at_once(steps: Sequence[Callable[[], None]]) -> None:
    """Takes steps of several guests together: one that hangs costs its own time, and not that of the next as well."""
    if len(steps) == 1:
        steps[0]()
        return
    for first in range(0, len(steps), MOST_AT_ONCE):
        threads = [threading.Thread(target=step, daemon=True) for step in steps[first : first + MOST_AT_ONCE]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
