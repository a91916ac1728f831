"""irqbalance's unit, active or inactive, by systemd; never one whose start would stop another that runs."""

from __future__ import annotations

from typing import Any

from tuneagent.apply import running_irqbalance
from tuneagent.apply.actuator import Defaults, Place, Refusal, Seen, Why
from tuneagent.apply.machine import Machine
from tuneagent.apply.refused import refusal
from tuneagent.machine import service
from tuneagent.machine.service import Unit
from tuneagent.model.errors import SourceError
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts

ACTIVE, INACTIVE = "active", "inactive"
_STANDS = {"active": ACTIVE, "reloading": ACTIVE, "inactive": INACTIVE, "failed": INACTIVE}
_BLIND = "a tree of files runs no units"


class IrqbalanceUnit(Defaults):
    """IRQBALANCE_UNIT: ``active`` or ``inactive``. A failed unit counts as inactive: nothing of it runs."""

    kinds = (TunableKind.IRQBALANCE_UNIT,)
    lasts = Lasts.BOOT

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def locate(self, kind: TunableKind, target: Target) -> Place:  # noqa: ARG002 - it has one kind
        """The unit. FACT where systemd does not have it or may not start it."""
        name = target.unit or ""
        if not self._machine.live:
            raise Refusal(Why.FACT, _BLIND)
        unit = _looked(name)
        if unit.load == "not-found":
            raise Refusal(Why.FACT, f"{name} is not installed")
        if unit.load == "masked":
            raise Refusal(Why.FACT, f"{name} is masked: somebody decided that it shall not start")
        return Place(f"systemd unit {name}", target, name)

    def read(self, place: Place) -> str:
        """``active`` or ``inactive``; LATER while it is on its way from one to the other."""
        state = _looked(place.handle).active
        if state not in _STANDS:
            raise Refusal(Why.LATER, f"{place.handle} is {state or 'in no state that systemd tells'}")
        return _STANDS[state]

    def check(self, place: Place, value: str) -> str | None:  # noqa: ARG002 - the protocol has it
        """Nothing but the two."""
        return None if value in {ACTIVE, INACTIVE} else f"{value!r} is neither {ACTIVE} nor {INACTIVE}"

    def same(self, one: str, other: str) -> bool:
        """A failed unit is an inactive one."""
        return _STANDS.get(one.strip(), one) == _STANDS.get(other.strip(), other)

    def write(self, place: Place, value: str) -> None:
        """Starts or stops it, and waits for systemd's word. FACT where a start would stop a unit that runs."""
        name = place.handle
        try:
            if _STANDS.get(value.strip()) != ACTIVE:
                service.stop(name)
                return
            rival = service.conflicting(service.look(name))
            if rival is not None:
                raise Refusal(
                    Why.FACT,
                    f"{rival} runs and conflicts with {name}: systemd would stop it",
                    f"decide between the two: `systemctl stop {rival}` first",
                )
            service.start(name)
        except SourceError as error:
            raise refusal(error) from None

    def effect(self, place: Place, value: str, mark: Any) -> Seen:  # noqa: ARG002 - the protocol has it
        """Whether the process is there, or gone."""
        pids = [process.pid for process in running_irqbalance.processes(self._machine)]
        wanted = _STANDS.get(value.strip()) == ACTIVE
        if wanted and pids:
            return Seen(Effect.VERIFIED, f"irqbalance runs as process {pids[0]}")
        if not wanted and not pids:
            return Seen(Effect.VERIFIED, "no irqbalance runs")
        if wanted:
            return Seen(
                Effect.NOT_YET, f"{place.handle} is active and no irqbalance is seen: it ends by itself on one CPU"
            )
        return Seen(
            Effect.CONTRADICTED, f"irqbalance still runs as process {pids[0]}, outside {place.handle}; stop it there"
        )

    def by_hand(self, place: Place, value: str) -> str:
        """The command."""
        return f"systemctl {'start' if _STANDS.get(value.strip()) == ACTIVE else 'stop'} {place.handle}"

    def meddler(self, place: Place, value: str, now: str) -> str:  # noqa: ARG002 - the protocol has it
        """The unit that ended it by a conflict, or somebody."""
        if now == ACTIVE:
            return "somebody started it"
        try:
            rival = service.conflicting(service.look(place.handle))
        except SourceError:
            rival = None
        return f"{rival} was started, which conflicts with it" if rival is not None else "somebody stopped it"


def _looked(name: str) -> Unit:
    try:
        return service.look(name)
    except SourceError as error:
        raise refusal(error) from None
