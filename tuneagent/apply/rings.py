"""Rings: how many descriptors each queue of an interface has (ETHTOOL_MSG_RINGS_SET)."""

from __future__ import annotations

import errno

from tuneagent.apply.actuator import Place, Refusal, Why
from tuneagent.apply.ethtool_settings import Asked, EthtoolSettings, refusal
from tuneagent.apply.settings import Values
from tuneagent.machine import ethtool_set
from tuneagent.model.nic import Nic, Rings
from tuneagent.model.plan import TunableKind

_NO_RESET = "the device cannot reset one queue (VIRTIO_F_RING_RESET, feature bit 40): its rings are what the host gave"


class RingSizes(EthtoolSettings):
    """``rx=1024 tx=1024``, of which the target's ``parameter`` names one or both."""

    kinds = (TunableKind.RINGS,)
    setting = ethtool_set.RINGS
    fields = {"rx": "rx", "tx": "tx"}  # noqa: RUF012 - a table, declared in the base class as one
    types = {"rx": int, "tx": int}  # noqa: RUF012 - as above
    word = "rings"
    option = "-G"

    def captured(self, nic: Nic) -> Rings | None:
        """Rings where the machine is a tree."""
        return nic.rings

    def wrong(self, asked: Asked, values: Values) -> str | None:
        """From one descriptor to the most that the device offers."""
        for key, value in values.items():
            most = asked.reported[f"{key}_max"] or 0
            if not 1 <= value <= most:
                return f"{key}={value}, where the device has from 1 to {most}"
        return None

    def refused(self, place: Place, values: Values, error: OSError) -> Refusal:  # noqa: ARG002 - of none in particular
        """Rings that cannot be set are a fact; virtio_net says so by ENOENT (virtqueue_resize())."""
        if error.errno == errno.ENOENT and place.handle.nic.virtio is not None:
            return refusal(place.where, error, Why.FACT, _NO_RESET)
        return refusal(place.where, error)
