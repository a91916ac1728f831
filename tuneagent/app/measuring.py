"""The measurement of a round: two lean looks tight around the load's measured seconds, and the metrics over them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tuneagent import rates
from tuneagent.app import lean_look
from tuneagent.app.round_guest import RoundGuest
from tuneagent.join import join
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.machine import own_cost
from tuneagent.machine.guest_agent import Transport
from tuneagent.machine.source import Source
from tuneagent.measure.metrics import metrics
from tuneagent.measure.rounds import Measured, RoundError
from tuneagent.measure.scope import Scope
from tuneagent.model.domain_view import DomainView
from tuneagent.model.hypervisor import QemuProcess, ThreadRole
from tuneagent.model.load import LoadResult
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.observe import snapshot as observe
from tuneagent.report.safe import safe

CLOCK_STEP_S = 0.25
"""CLOCK_REALTIME may gain or lose this much on CLOCK_BOOTTIME within a round; NTP slews 0.5 ms a second at most."""
_MORE = 1.5
_MORE_S = 0.05
_RUNNING = "running"


RunLoad = Callable[[float, Hooks, float], LoadResult]
"""(seconds, hooks, cool_down_s) → what the load measured; LoadError where it fails. ``load.loads.run`` does all of it.

The hooks are to be called as the measured seconds begin and end; the load goes on for ``cool_down_s`` after that.
"""


@dataclass(frozen=True, slots=True)
class LooksCost:
    """What both looks of the last round cost this process; on a measured machine it is in its CPU time."""

    cpu_s: float
    wall_s: float


class Measuring:
    """Measures round after round of one trial.

    ``source`` is the machine that this runs on, and ``connect_guest`` the way to the agent of the scope's guest.
    """

    def __init__(self, source: Source, scope: Scope, connect_guest: Callable[[], Transport] | None = None) -> None:
        self._source = source
        self._scope = scope
        self._guest = RoundGuest(connect_guest) if connect_guest is not None and scope.guest else None
        self._whole: Snapshot | None = None
        self._wanted = lean_look.Wanted(frozenset())
        self._looks: list[Snapshot] = []
        self._cost = LooksCost(0.0, 0.0)
        self._longest_s = 0.0

    @property
    def cost(self) -> LooksCost:
        """Of the looks within the last round."""
        return self._cost

    @property
    def cool_down_s(self) -> float:
        """For how long a load must go on so that the second look is taken under it; known after ``prepare``."""
        return self._longest_s * _MORE + _MORE_S

    def measure(self, seconds: float, run_load: RunLoad) -> Measured:
        """One round. RoundError where it cannot be had, or where something happened in it that spoils a trial."""
        self.prepare()
        self._cost = LooksCost(0.0, 0.0)
        try:
            load = run_load(seconds, Hooks(began=self._begin, ended=self._look), self.cool_down_s)
        except LoadError as error:
            raise RoundError(f"the load: {error}") from error
        if len(self._looks) != 2:  # noqa: PLR2004 - both edges
            raise RoundError("the load ended before its measured seconds did")
        return metrics(self._view(load.seconds), load, self._scope)

    def prepare(self) -> None:
        """Looks at the whole machine, and before the first round tries what it will look at: what that takes is known.

        RoundError where the virtual machine that is meant does not run here.
        """
        detail = frozenset({self._scope.domain}) if self._scope.domain is not None else frozenset[str]()
        self._whole = observe(self._source, self._whole, detail)
        self._wanted = self._what(self._whole)
        if not self._longest_s:
            self._look()
        self._looks = []

    def _what(self, whole: Snapshot) -> lean_look.Wanted:
        if self._scope.domain is None:
            return lean_look.Wanted(frozenset(self._scope.nics or (nic.name for nic in whole.virtio_nics)))
        domain = _running(rates.alone(whole), self._scope.domain)
        if self._guest is not None:
            self._guest.prepare(domain)
        uuid = domain.definition.uuid if domain.definition is not None else None
        process = QemuProcess(domain.pid or 0, uuid, domain.name)
        return lean_look.Wanted(frozenset(), process, frozenset(one.tap.name for one in domain.taps))

    def _begin(self) -> None:
        """The first look; what a load that failed and is run again had looked at is forgotten."""
        self._looks = []
        self._cost = LooksCost(0.0, 0.0)
        self._look()

    def _look(self) -> None:
        if self._whole is None:
            raise RoundError("nothing was looked at before")
        began, cpu_s = time.monotonic(), own_cost.cpu_seconds()
        self._looks.append(lean_look.look(self._source, self._whole, self._wanted))
        if self._guest is not None:
            self._guest.look()
        wall_s = time.monotonic() - began
        self._longest_s = max(self._longest_s, wall_s)
        self._cost = LooksCost(self._cost.cpu_s + own_cost.cpu_seconds() - cpu_s, self._cost.wall_s + wall_s)

    def _view(self, seconds: float) -> View:
        before, after = self._looks
        _check_clock(before, after)
        expected_s = seconds + self._cost.wall_s
        view = rates.view(before, after, expected_s=expected_s)
        if view.rates_reason is not None:
            raise RoundError(view.rates_reason)
        key = self._scope.domain
        if key is None:
            return view
        domain = _still_running(view, key, self._wanted.process)
        return view if self._guest is None else self._with_guest(self._guest, view, domain, expected_s)

    @staticmethod
    def _with_guest(guest: RoundGuest, view: View, domain: DomainView, expected_s: float) -> View:
        seen = guest.seen(expected_s)
        if seen.view is not None and seen.view.rates_reason is not None:
            boots = {_boot(seen.view.before), _boot(seen.view.after)}
            if len(boots) > 1:
                raise RoundError(f"the guest of {safe(domain.name)} was rebooted in the middle of the round")
        return join(view, {domain.key: seen})


def _boot(snapshot: Snapshot | None) -> str | None:
    return snapshot.identity.boot_id if snapshot is not None and snapshot.identity is not None else None


def _running(view: View, key: str) -> DomainView:
    host = view.hypervisor
    domain = next((one for one in host.domains if one.key == key), None) if host is not None else None
    if domain is None:
        raise RoundError(f"no virtual machine {safe(key)} here: it has ended, or was moved to another host")
    state = domain.definition.state if domain.definition is not None else _RUNNING
    if domain.pid is None or state != _RUNNING:
        raise RoundError(f"virtual machine {safe(domain.name)} does not run: it is {safe(state)}")
    return domain


def _still_running(view: View, key: str, process: QemuProcess | None) -> DomainView:
    """By its main thread, which was read again: what ends within the round is no longer there."""
    host = view.hypervisor
    domain = next((one for one in host.domains if one.key == key), None) if host is not None else None
    if domain is None or not domain.of_role(ThreadRole.EMULATOR):
        name = process.name if process is not None and process.name is not None else key
        raise RoundError(f"virtual machine {safe(name)} ended, or was moved, in the middle of the round")
    return domain


def _check_clock(before: Snapshot, after: Snapshot) -> None:
    old, new = before.clock, after.clock
    if old is None or new is None:
        return
    step_s = ((new.realtime_ns - old.realtime_ns) - (new.boottime_ns - old.boottime_ns)) / 1e9
    if abs(step_s) > CLOCK_STEP_S:
        raise RoundError(f"the clock was set in the middle of the round, by {step_s:+.3g} s")
