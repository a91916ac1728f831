"""Coalescing: how long a device holds an interrupt back (ETHTOOL_MSG_COALESCE_SET)."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import suppress

from tuneagent.apply.actuator import Place, Refusal, Why
from tuneagent.apply.ethtool_settings import Asked, EthtoolSettings, refusal
from tuneagent.apply.settings import Values
from tuneagent.machine import ethtool_set
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.nic import Coalesce, Nic
from tuneagent.model.plan import TunableKind
from tuneagent.model.virtio import Feature
from tuneagent.parse import features

MOST_USECS = 100_000
"""A tenth of a second: beyond it a NIC seems dead, and whoever came in by it has lost it."""
MOST_FRAMES = 0xFFFF
_NONE = (
    "the device does not hold interrupts back (no VIRTIO_NET_F_NOTF_COAL, feature bit 53); "
    "napi_defer_hard_irqs does without the device"
)
_NOT_ADAPTIVE = "the device does not do so queue by queue (no VIRTIO_NET_F_VQ_NOTF_COAL, feature bit 52)"
_WHILE_UP = "tx-frames switches how sent packets are taken back, which virtio_net does not do while the interface is up"


class Coalescing(EthtoolSettings):
    """``adaptive-rx=off rx-usecs=50``, with the keys that the target's ``parameter`` names."""

    kinds = (TunableKind.COALESCING,)
    setting = ethtool_set.COALESCE
    fields = {  # noqa: RUF012 - a table, declared in the base class as one
        "adaptive-rx": "adaptive_rx",
        "adaptive-tx": "adaptive_tx",
        "rx-usecs": "rx_usecs",
        "rx-frames": "rx_max_frames",
        "tx-usecs": "tx_usecs",
        "tx-frames": "tx_max_frames",
    }
    types = {key: bool if key.startswith("adaptive") else int for key in fields}  # noqa: RUF012 - as above
    word = "coalescing"
    option = "-C"

    def captured(self, nic: Nic) -> Coalesce | None:
        """Coalescing where the machine is a tree."""
        return nic.coalesce

    def wrong(self, asked: Asked, values: Values) -> str | None:
        """No time that looks like an outage, and no number that the kernel chooses by itself."""
        for key, value in values.items():
            most = MOST_USECS if key.endswith("usecs") else MOST_FRAMES
            if value > most:
                return f"{key}={value}, where {most} is the most"
        for way in ("rx", "tx"):
            adaptive = values.get(f"adaptive-{way}", asked.reported[f"adaptive_{way}"])
            if adaptive and f"adaptive-{way}" not in values and _numbers(values, way):
                return f"adaptive-{way} is on, and so the kernel chooses; set adaptive-{way}=off with it"
        return None

    def write(self, place: Place, value: str) -> None:
        """One request; two where a switch goes on and numbers beside it are set, which virtio_net takes no other way.

        Should the second be refused, the first is taken back. Where the device has no adaptive mode virtio_net says
        yes and does nothing (virtnet_coal_params_supported()): there it is not asked.
        """
        before, values = self._now(place), self._values(place, value)
        because = self._lacking(place.handle.nic)
        if because and any(on is True for on in values.values()):
            raise Refusal(Why.FACT, f"{place.where}: {because}")
        for number, step in enumerate(self.steps(values)):
            try:
                self._set(place, step)
            except OSError as error:
                if number:
                    self._take_back(place, before)
                raise self.refused(place, values, error) from error

    def steps(self, values: Values) -> Iterator[Values]:
        """The numbers with their switch off, then the switch: while it is on they are the kernel's own."""
        late: Values = {
            key: on for key, on in values.items() if on is True and _numbers(values, key.removeprefix("adaptive-"))
        }
        yield values | dict.fromkeys(late, False)
        if late:
            yield late

    def refused(self, place: Place, values: Values, error: OSError) -> Refusal:
        """What a virtio device was not made for is a fact (virtnet_set_coalesce())."""
        if error.errno == errno.EBUSY and "tx-frames" in values:
            return refusal(place.where, error, Why.FACT, _WHILE_UP)
        because = self._lacking(place.handle.nic)
        meant = {_NONE: {errno.EOPNOTSUPP, errno.EINVAL}, _NOT_ADAPTIVE: {errno.EOPNOTSUPP}}
        if because is not None and error.errno in meant[because]:
            return refusal(place.where, error, Why.FACT, because)
        return refusal(place.where, error)

    def _lacking(self, nic: Nic) -> str | None:
        """What a virtio device was not made for; None where nothing is known to lack."""
        offered = self._features(nic) if nic.virtio is not None else None
        if offered is None:
            return None
        if Feature.NET_NOTF_COAL not in offered:
            return _NONE
        return _NOT_ADAPTIVE if Feature.NET_VQ_NOTF_COAL not in offered else None

    def _take_back(self, place: Place, before: Values) -> None:
        with suppress(OSError):
            for step in self.steps(before):
                self._set(place, step)

    def _features(self, nic: Nic) -> frozenset[int] | None:
        try:
            return features.parse(self._machine.source.read(f"/sys/bus/virtio/devices/{nic.virtio}/features").text)
        except (SourceError, ParseError):
            return None


def _numbers(values: Values, way: str) -> Values:
    return {key: value for key, value in values.items() if key.startswith(f"{way}-")}
