"""A NIC's queue interrupts kept from the running irqbalance over its socket, beside whatever others banned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tuneagent.apply import running_irqbalance
from tuneagent.apply.actuator import Defaults, Place, Refusal, Seen, Why
from tuneagent.apply.machine import Machine
from tuneagent.apply.refused import refusal
from tuneagent.machine.irqbalance_socket import RUN, IrqbalanceSocket
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.irqbalance import order_by_hand
from tuneagent.model.missing import Reason
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts
from tuneagent.parse.lines import U32_MAX, natural, shown

MOST_NUMBERS = 4096


@dataclass(frozen=True, slots=True)
class _Handle:
    socket: IrqbalanceSocket
    irqs: frozenset[int]
    """Of the NIC's queues, in use or not."""


class IrqbalanceRuntimeBan(Defaults):
    """IRQBALANCE_RUNTIME_BAN: a value is those of the NIC's queue interrupts that are banned, ``33,34``; empty: none.

    irqbalance has one list of numbers, which --banirq begins and every order replaces; --banmod and policy scripts are
    lists of their own. So what is written is the list as it stands without this NIC's interrupts, and then the value.
    """

    kinds = (TunableKind.IRQBALANCE_RUNTIME_BAN,)
    lasts = Lasts.PROCESS

    def __init__(self, machine: Machine, run: str = RUN) -> None:
        self._machine = machine
        self._run = run

    def locate(self, kind: TunableKind, target: Target) -> Place:  # noqa: ARG002 - it has one kind
        """The NIC's interrupts and the irqbalance that runs.

        GONE where it does not run, or is another process than the one that was told: a ban ends with its process.
        """
        nic = self._machine.lookup.nic(target)
        irqs = frozenset(line.irq for line in self._machine.lookup.queue_irqs(nic))
        running = running_irqbalance.the_one(self._machine)
        pid = running.process.pid
        if target.start_ticks is not None and target.start_ticks != running.start_ticks:
            raise Refusal(Why.GONE, f"irqbalance was started anew (pid {pid}) since, which ended this ban")
        socket = IrqbalanceSocket(pid, self._run)
        return Place(
            f"irqbalance (pid {pid}), {socket.path}: {nic.name}",
            replace(target, start_ticks=running.start_ticks),
            _Handle(socket, irqs),
        )

    def read(self, place: Place) -> str:
        """Those of the NIC's interrupts that it was told to leave alone by number."""
        handle = _handle(place)
        return _words(irq for irq in self._banned(handle.socket) if irq in handle.irqs)

    def check(self, place: Place, value: str) -> str | None:
        """Numbers, and of this NIC."""
        try:
            strange = _numbers(value) - _handle(place).irqs
        except ParseError as error:
            return f"not a list of interrupts: {error.detail}"
        return f"interrupts {_words(strange)} are none of its queues'" if strange else None

    def same(self, one: str, other: str) -> bool:
        """The same interrupts, in any order."""
        try:
            return _numbers(one) == _numbers(other)
        except ParseError:
            return False

    def write(self, place: Place, value: str) -> None:
        """One order with the whole list. Others' bans come first, so that nothing of them could be cut off."""
        handle = _handle(place)
        others = [irq for irq in self._banned(handle.socket) if irq not in handle.irqs]
        try:
            handle.socket.ban([*others, *sorted(_numbers(value))])
        except SourceError as error:
            raise _refused(error) from None

    def effect(self, place: Place, value: str, mark: Any) -> Seen:  # noqa: ARG002 - the protocol has it
        """Whether it is so, and irqbalance has looked since: then it places none of them any more."""
        handle, wanted = _handle(place), _numbers(value)
        try:
            setup = handle.socket.setup()
            placed = handle.socket.balanced()
        except SourceError as error:
            raise _refused(error) from None
        missing = wanted - set(setup.banned_irqs)
        if missing:
            return Seen(Effect.CONTRADICTED, f"irqbalance does not have {_words(missing)} among its bans")
        moved = wanted & placed
        if moved:
            detail = f"irqbalance has its orders and lets go of {_words(moved)} at its next look, in {setup.sleep_s} s"
            return Seen(Effect.NOT_YET, detail)
        return Seen(Effect.VERIFIED, f"irqbalance places {_words(wanted) or 'none of its banned interrupts'} no more")

    def by_hand(self, place: Place, value: str) -> str:
        """The order with the whole list of now; the kernel adds the credentials itself."""
        handle = _handle(place)
        try:
            others = [irq for irq in self._banned(handle.socket) if irq not in handle.irqs]
        except Refusal:
            return "# irqbalance cannot be asked now which interrupts others banned, and an order replaces them all"
        return order_by_hand(handle.socket.path, [*others, *sorted(_numbers(value))])

    @staticmethod
    def _banned(socket: IrqbalanceSocket) -> tuple[int, ...]:
        try:
            return socket.setup().banned_irqs
        except SourceError as error:
            raise _refused(error) from None


def _handle(place: Place) -> _Handle:
    handle = place.handle
    assert isinstance(handle, _Handle)  # noqa: S101 - made in locate()
    return handle


def _numbers(value: str) -> frozenset[int]:
    words = [word for word in value.split(",") if value.strip()]
    if len(words) > MOST_NUMBERS:
        raise ParseError(f"{shown(value)} holds more than {MOST_NUMBERS} numbers")
    return frozenset(natural(word.strip(), None, U32_MAX) for word in words)


def _words(irqs: Iterable[int]) -> str:
    return ",".join(map(str, sorted(irqs)))


def _refused(error: SourceError) -> Refusal:
    if error.reason is Reason.ABSENT:  # the process is there, or it would not have been found
        return Refusal(Why.FACT, error.detail, "ban in its configuration file instead (irqbalance-ban-queues)")
    return refusal(error)
