"""Channels: how many queues of an interface are in use (ETHTOOL_MSG_CHANNELS_SET)."""

from __future__ import annotations

import errno
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tuneagent.apply import settings
from tuneagent.apply.actuator import Defaults, Place, Refusal, Seen, Why
from tuneagent.apply.ethtool_settings import Reported, refusal, reported, set_
from tuneagent.apply.machine import Machine
from tuneagent.apply.settings import SettingsError, Values
from tuneagent.machine import ethtool_set, xdp
from tuneagent.model.nic import Nic
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts

_COMBINED = re.compile(r"[0-9]{1,5}")
_APART: dict[str, type[int]] = {"rx": int, "tx": int}
_XDP = "an XDP program is loaded, and its queues are as many as there are; nothing was changed"


@dataclass(frozen=True, slots=True)
class _Device:
    """An interface with what its driver reported when it was looked up."""

    nic: Nic
    reported: Reported

    @property
    def combined(self) -> bool:
        """Whether receive and transmit queues go in pairs, as virtio_net's do."""
        return bool(self.reported["combined_max"])


class ChannelCount(Defaults):
    """A value is the number of combined channels, ``4``; of a device that has none, ``rx=2 tx=3``.

    virtio_net spreads its interrupts and transmit queues over the CPUs anew when the number changes
    (virtnet_set_affinity()), and the maps of queues that go away are lost with them: ``rewrites`` names them all.
    """

    kinds = (TunableKind.CHANNELS,)
    lasts = Lasts.BOOT

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def locate(self, kind: TunableKind, target: Target) -> Place:  # noqa: ARG002 - one kind only
        """The interface, with the most that its device offers; FACT where the driver reports no channels."""
        nic = self._machine.lookup.nic(target)
        device = _Device(nic, self._reported(nic))
        if not device.combined and not (device.reported["rx_max"] and device.reported["tx_max"]):
            raise Refusal(Why.FACT, f"{nic.name}: the driver reports no channels that could be set")
        return Place(
            f"ethtool channels of {nic.name}: {'combined' if device.combined else 'rx, tx'}",
            self._machine.lookup.known(target),
            device,
        )

    def read(self, place: Place) -> str:
        """The channels in use."""
        device: _Device = place.handle
        now = self._reported(device.nic)
        counts = {key: now[key] for key in (("combined",) if device.combined else _APART)}
        known = {key: count for key, count in counts.items() if count is not None}
        if len(known) < len(counts):
            raise Refusal(Why.FACT, f"{place.where}: the driver does not say how many are in use")
        return str(known["combined"]) if device.combined else settings.spell(known)

    def check(self, place: Place, value: str) -> str | None:
        """From one channel to the most that the device offers, in the form that the device has."""
        device: _Device = place.handle
        try:
            counts = _counts(value)
        except SettingsError as error:
            return str(error)
        if ("combined" in counts) is not device.combined:
            return "the device's queues are combined: one number" if device.combined else "set rx=N tx=N: none combined"
        for key, count in counts.items():
            most = device.reported[f"{key}_max"] or 0
            if not 1 <= count <= most:
                return f"{count} {key} channels, where the device has from 1 to {most}"
        return None

    def write(self, place: Place, value: str) -> None:
        """One request. An XDP program that is loaded is a fact; then nothing is half done."""
        nic, counts = place.handle.nic, _asked(place, value)
        try:
            set_(self._machine, ethtool_set.CHANNELS, nic, counts)
        except OSError as error:
            # virtio_net answers EINVAL without a word (virtnet_set_channels()).
            if error.errno == errno.EINVAL and _has_xdp(nic):
                raise refusal(place.where, error, Why.FACT, _XDP) from error
            raise refusal(place.where, error) from error

    def same(self, one: str, other: str) -> bool:
        """Whether the numbers are the same."""
        try:
            return _counts(one) == _counts(other)
        except SettingsError:
            return one == other

    def rewrites(self, place: Place) -> tuple[tuple[TunableKind, Target], ...]:
        """The affinity of every queue's interrupt, and XPS, RPS and flow tables of every queue that there is now."""
        return tuple(_rewritten(place.handle.nic, place.target))

    def effect(self, place: Place, value: str, mark: Any) -> Seen:  # noqa: ARG002 - nothing to remember
        """The queues that sysfs shows, and the interrupts with handlers of those that are to be in use."""
        self._machine.lookup.forget()
        nic = self._machine.lookup.nic(place.target)
        counts = _asked(place, value)
        rx, tx = (counts.get("combined", counts.get(key, 0)) for key in ("rx", "tx"))
        without = _without_interrupts(nic, rx) if "combined" in counts else ()
        seen = f"{len(nic.rx_queues)} receive and {len(nic.tx_queues)} transmit queues are in use"
        if (len(nic.rx_queues), len(nic.tx_queues)) != (rx, tx):
            return Seen(Effect.CONTRADICTED, f"{seen}, where {value} was set")
        if without:
            return Seen(Effect.CONTRADICTED, f"{seen}, and of queue {without[0]} no interrupts have a handler")
        return Seen(Effect.VERIFIED, seen)

    def by_hand(self, place: Place, value: str) -> str:
        """``ethtool -L``."""
        try:
            words = [word for key, count in _counts(value).items() for word in (key, str(count))]
        except SettingsError as error:
            return f"# {error}"
        return shlex.join(["ethtool", "-L", place.handle.nic.name, *words])

    def _reported(self, nic: Nic) -> Reported:
        return reported(self._machine, ethtool_set.CHANNELS, nic, nic.channels)


def _asked(place: Place, value: str) -> Values:
    try:
        return _counts(value)
    except SettingsError as error:
        raise Refusal(Why.FAILED, f"{place.where}: {error}") from error


def _counts(value: str) -> Values:
    """By the field's name. SettingsError."""
    if _COMBINED.fullmatch(value.strip()):
        return {"combined": int(value)}
    counts = settings.parse(value, _APART)
    if len(counts) < len(_APART):
        raise SettingsError("a number, or both rx=N and tx=N")
    return counts


def _has_xdp(nic: Nic) -> bool:
    try:
        return nic.ifindex is not None and xdp.loaded(nic.ifindex)
    except OSError:
        return False


def _without_interrupts(nic: Nic, queues: int) -> tuple[int, ...]:
    """Of a device with interrupts of its own for each queue, the queues that lack them: vectors may be shared."""
    pairs = nic.pairs()
    return tuple(queue for queue in range(queues) if queue not in pairs) if pairs else ()


def _rewritten(nic: Nic, target: Target) -> Iterator[tuple[TunableKind, Target]]:
    for irq in nic.data_irqs:
        yield TunableKind.IRQ_AFFINITY, replace(target, queue=irq.queue, queue_role=str(irq.role), irq=irq.irq)
    for tx in nic.tx_queues:
        yield TunableKind.XPS_CPUS, replace(target, queue=tx.index, queue_role="tx")
    for rx in nic.rx_queues:
        yield TunableKind.RPS_CPUS, replace(target, queue=rx.index, queue_role="rx")
        yield TunableKind.RPS_FLOW_COUNT, replace(target, queue=rx.index, queue_role="rx")
