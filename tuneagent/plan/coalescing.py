"""coalescing: the device holds an interrupt back for some microseconds, in which more packets arrive."""

from __future__ import annotations

from tuneagent.model.nic import Coalesce, Nic
from tuneagent.model.plan import Declined, TunableKind
from tuneagent.model.virtio import Feature
from tuneagent.plan.situation import Situation, Solution, ethtool_change

RX_USECS, TX_USECS, ADAPTIVE = "rx_usecs", "tx_usecs", "adaptive"
_KEYS = {RX_USECS: "rx-usecs", TX_USECS: "tx-usecs"}


def solve(situation: Situation) -> Solution | Declined:
    """``ethtool -C``, for a device with VIRTIO_NET_F_NOTF_COAL, where nobody chose times already."""
    nic = situation.nic
    if nic is None:
        return situation.declined("which interface it is about is not known")
    if nic.coalesce is None:
        return situation.declined("whether the device holds interrupts back could not be read (ethtool's coalescing)")
    adaptive = bool(situation.policy.parameters.get(ADAPTIVE))
    reason = _not_offered(situation, nic, adaptive=adaptive) or _chosen(nic.coalesce)
    if reason:
        return situation.declined(reason)
    return _adaptive(situation, nic, nic.coalesce) if adaptive else _times(situation, nic, nic.coalesce)


def _not_offered(situation: Situation, nic: Nic, *, adaptive: bool) -> str | None:
    device = situation.view.after.virtio_device(nic.virtio)
    wanted = {"VIRTIO_NET_F_NOTF_COAL": Feature.NET_NOTF_COAL}
    if adaptive:
        wanted["VIRTIO_NET_F_VQ_NOTF_COAL"] = Feature.NET_VQ_NOTF_COAL
    for name, feature in wanted.items():
        offered = device.has(feature) if device is not None else None
        if offered is None:
            return f"whether the device holds interrupts back is not known ({name}, feature bit {feature.value})"
        if not offered:
            return f"the device does not hold interrupts back (no {name}, feature bit {feature.value})"
    return None


def _chosen(now: Coalesce) -> str | None:
    if now.adaptive_rx:
        return "already so: adaptive-rx is on, and the kernel chooses the times"
    if now.rx_usecs and now.tx_usecs:
        return f"already so: somebody chose rx-usecs {now.rx_usecs} and tx-usecs {now.tx_usecs}"
    return None


def _adaptive(situation: Situation, nic: Nic, now: Coalesce) -> Solution | Declined:
    if now.adaptive_rx is None:
        return situation.declined("the driver does not adapt the times by itself (no adaptive-rx)")
    why = "the kernel chooses how long a queue waits, from what arrives on it (net_dim)"
    return _solution(nic, {"adaptive-rx": "off"}, {"adaptive-rx": "on"}, why)


def _times(situation: Situation, nic: Nic, now: Coalesce) -> Solution | Declined:
    asked = {key: value for key, value in situation.policy.parameters.items() if key in _KEYS}
    present = {RX_USECS: now.rx_usecs, TX_USECS: now.tx_usecs}
    unknown = [_KEYS[key] for key in asked if present[key] is None]
    if unknown:
        return situation.declined(f"the driver has no {' and no '.join(unknown)}")
    new = {_KEYS[key]: str(value) for key, value in asked.items() if not present[key]}
    if not new:
        return situation.declined("already so: somebody chose these times")
    why = f"packets of {' and '.join(f'{value} µs' for value in dict.fromkeys(new.values()))} share an interrupt"
    return _solution(nic, dict.fromkeys(new, "0"), new, why)


def _solution(nic: Nic, old: dict[str, str], new: dict[str, str], why: str) -> Solution:
    return Solution((ethtool_change(nic, (TunableKind.COALESCING, "coalescing", "-C"), old, new, why),))
