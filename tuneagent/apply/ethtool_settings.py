"""What the actuators of ethtool's settings have in common: looking, asking, and what an errno means."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tuneagent.apply import settings
from tuneagent.apply.actuator import Defaults, Place, Refusal, Seen, Why
from tuneagent.apply.machine import Machine
from tuneagent.apply.settings import SettingsError, Values
from tuneagent.machine import ethtool_set
from tuneagent.machine.ethtool_set import Interface, Setting
from tuneagent.model.nic import Channels, Coalesce, Nic, Rings
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts

Reported = dict[str, int | None]

WHY = {
    errno.EOPNOTSUPP: Why.FACT,
    errno.EBUSY: Why.LATER,
    errno.EAGAIN: Why.LATER,
    errno.EINTR: Why.LATER,
    errno.ENODEV: Why.GONE,
    errno.EPERM: Why.FORBIDDEN,
    errno.EACCES: Why.FORBIDDEN,
}
"""What a refusal means unless an actuator knows better; all others are failures."""
_REMEDY = {Why.FORBIDDEN: "run it as root, with CAP_NET_ADMIN in the network namespace of the interface"}
_IN_A_TREE = "a tree of files has no driver that could be asked for it"


def interface_of(nic: Nic) -> Interface:
    """The interface, unmistakably."""
    return Interface(nic.name, nic.ifindex)


def reported(machine: Machine, setting: Setting, nic: Nic, captured: Channels | Rings | Coalesce | None) -> Reported:
    """What the driver reports now, or in a tree what was captured. Refusal where it reports nothing."""
    if machine.live:
        try:
            return ethtool_set.read(setting, interface_of(nic))
        except OSError as error:
            raise refusal(nic.name, error) from error
    if captured is None:
        raise Refusal(Why.FACT, f"{nic.name}: {_IN_A_TREE}")
    return asdict(captured)


def set_(machine: Machine, setting: Setting, nic: Nic, values: Mapping[str, int]) -> None:
    """One request; OSError as the kernel gives it, and Refusal in a tree."""
    if not machine.live:
        raise Refusal(Why.FACT, f"{nic.name}: {_IN_A_TREE}")
    ethtool_set.write(setting, interface_of(nic), values)


def refusal(what: str, error: OSError, why: Why | None = None, because: str = "") -> Refusal:
    """The kernel's words, with ours behind them where we know the cause."""
    meant = why or WHY.get(error.errno or 0, Why.FAILED)
    words = "; ".join(part for part in (f"{what}: {error.strerror or error}", because) if part)
    return Refusal(meant, words, _REMEDY.get(meant))


@dataclass(frozen=True, slots=True)
class Asked:
    """An interface, the keys of it that a target names, and what its driver reported when it was looked up."""

    nic: Nic
    keys: tuple[str, ...]
    reported: Reported


class EthtoolSettings(Defaults):
    """Some of the numbers and switches of one setting, as one text: ``rx=256 tx=256``.

    Which ones is up to the target's ``parameter``, their keys with blanks between: a value has these and no others,
    so what somebody else sets beside them is neither a drift nor given back by us.
    """

    lasts = Lasts.BOOT
    setting: Setting
    fields: Mapping[str, str]
    """By key of the text the field's name in tuneagent.model.nic."""
    types: Mapping[str, type[int]]
    word: str
    """What it is for people: ``rings``."""
    option: str
    """ethtool's: ``-G``."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def captured(self, nic: Nic) -> Rings | Coalesce | None:
        """The setting where the machine is a tree."""
        raise NotImplementedError

    def wrong(self, asked: Asked, values: Values) -> str | None:
        """Why these values must not be written."""
        raise NotImplementedError

    def refused(self, place: Place, values: Values, error: OSError) -> Refusal:
        """What the kernel's no means."""
        raise NotImplementedError

    def locate(self, kind: TunableKind, target: Target) -> Place:  # noqa: ARG002 - one kind only
        """The interface; FACT where its driver does not report every one of the keys."""
        keys = self._keys(target)
        nic = self._machine.lookup.nic(target)
        now = self._reported(nic)
        unknown = [key for key in keys if now[self.fields[key]] is None]
        if unknown:
            raise Refusal(Why.FACT, f"{nic.name}: the driver has no {' and no '.join(unknown)}")
        return Place(
            f"ethtool {self.word} of {nic.name}: {', '.join(keys)}",
            self._machine.lookup.known(target),
            Asked(nic, keys, now),
        )

    def read(self, place: Place) -> str:
        """The present values of the keys."""
        return settings.spell(self._now(place))

    def check(self, place: Place, value: str) -> str | None:
        """Exactly the keys of the target, each within its bounds."""
        asked: Asked = place.handle
        try:
            values = settings.parse(value, self.types)
        except SettingsError as error:
            return str(error)
        if set(values) != set(asked.keys):
            return f"sets {', '.join(values)}, where the target names {', '.join(asked.keys)}"
        return self.wrong(asked, values)

    def write(self, place: Place, value: str) -> None:
        """One request for all the keys."""
        values = self._values(place, value)
        try:
            self._set(place, values)
        except OSError as error:
            raise self.refused(place, values, error) from error

    def same(self, one: str, other: str) -> bool:
        """Whether the same keys have the same values."""
        try:
            return settings.parse(one, self.types) == settings.parse(other, self.types)
        except SettingsError:
            return one == other

    def effect(self, place: Place, value: str, mark: Any) -> Seen:  # noqa: ARG002 - nothing to remember
        """What the driver reports by now."""
        now = self.read(place)
        effect = Effect.VERIFIED if self.same(now, value) else Effect.CONTRADICTED
        return Seen(effect, f"the driver reports {now}")

    def by_hand(self, place: Place, value: str) -> str:
        """The line for ethtool; a comment where the value is none."""
        try:
            values = settings.parse(value, self.types)
        except SettingsError as error:
            return f"# {error}"
        return " && ".join(self._line(place, step) for step in self.steps(values))

    def steps(self, values: Values) -> Iterator[Values]:
        """What is set by one request each, in this order."""
        yield values

    def _line(self, place: Place, values: Values) -> str:
        words = [word for key, number in values.items() for word in (key, settings.word(number))]
        return shlex.join(["ethtool", self.option, place.handle.nic.name, *words])

    def _set(self, place: Place, values: Values) -> None:
        by_field = {self.fields[key]: value for key, value in values.items()}
        set_(self._machine, self.setting, place.handle.nic, by_field)

    def _now(self, place: Place) -> Values:
        now = self._reported(place.handle.nic)
        values = {key: now[self.fields[key]] for key in place.handle.keys}
        known = {key: value for key, value in values.items() if value is not None}
        if len(known) < len(values):
            raise Refusal(Why.FACT, f"{place.where}: the driver reports them no more")
        return known

    def _values(self, place: Place, value: str) -> Values:
        try:
            return settings.parse(value, self.types)
        except SettingsError as error:
            raise Refusal(Why.FAILED, f"{place.where}: {error}") from error

    def _keys(self, target: Target) -> tuple[str, ...]:
        named = (target.parameter or "")[: settings.LONGEST].split(" ")
        keys = tuple(key for key in self.fields if key in named)
        if not keys or len(named) != len(keys):
            known = ", ".join(self.fields)
            raise Refusal(
                Why.FAILED, f"{self.word} of {target.interface}: the target names none or not only of {known}"
            )
        return keys

    def _reported(self, nic: Nic) -> Reported:
        return reported(self._machine, self.setting, nic, self.captured(nic))
