"""What the options of ``tuneagent advise`` ask for, checked against each other before anything is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

MOST_GUEST_FILES = 2


@dataclass(frozen=True, slots=True)
class Asked:
    """One command line. Its names are those of the options' parameters."""

    interval_s: float
    """How long to look at the live machine, and the time between two trees that carry no clock."""
    stated: bool
    """Whether the user gave the interval: a clock that tells of three times as much then means a standstill."""
    once: bool
    trees: tuple[Path, ...]
    files: tuple[Path, ...]
    nics: tuple[str, ...]
    domains: tuple[str, ...]
    guest_agent: bool
    guest_files: tuple[Path, ...]
    connect: tuple[str, ...]
    allow_monitor: bool
    contention: str
    """When each wait for a lock is recorded: ``auto``, ``always``; ``never``: nor are they counted."""
    directories: tuple[Path, ...]
    policies: tuple[str, ...]
    as_json: bool
    color: str
    verbose: bool
    strict: bool
    fail_on: str | None

    @property
    def detail(self) -> frozenset[str]:
        """Names and UUIDs of the virtual machines of which all is read."""
        return frozenset(self.domains)

    @property
    def live(self) -> bool:
        """Whether this machine is looked at, and not a tree or file of one."""
        return not self.trees and not self.files

    def check(self) -> None:
        """UsageError where options contradict each other."""
        if self.trees and self.files:
            raise click.UsageError("--sysroot and --snapshot exclude each other")
        if self.stated and (self.once or len(self.trees) == 1):
            raise click.UsageError("--interval needs two samples: leave out --once, or give --sysroot twice")
        if not self.live and (self.connect or self.allow_monitor):
            raise click.UsageError("--connect and --allow-monitor are for this machine, not for a captured one")
        self._check_guests()

    def files_of(self, place: int) -> tuple[Path, ...]:
        """The snapshot files of the guest of the domain in this place of ``domains``."""
        return self.guest_files if len(self.domains) == 1 else self.guest_files[place : place + 1]

    def _check_guests(self) -> None:
        if not self.guest_files:
            return
        if not self.domains:
            raise click.UsageError("--guest-snapshot needs --domain: of which virtual machine is it?")
        most = MOST_GUEST_FILES if len(self.domains) == 1 else len(self.domains)
        fits = 1 <= len(self.guest_files) <= most if len(self.domains) == 1 else len(self.guest_files) == most
        if not fits:
            raise click.UsageError("give one --guest-snapshot for each --domain, in their order; two for a single one")
