"""rings-max: as many descriptors a queue as the device offers, so that a burst finds room."""

from __future__ import annotations

from tuneagent.model.finding import Severity
from tuneagent.model.nic import Nic, Rings
from tuneagent.model.plan import Change, Declined, TunableKind
from tuneagent.model.virtio import Feature
from tuneagent.plan.situation import Situation, Solution, ethtool_change

_LOST = "what waits in a ring is lost when the ring changes, and packets stand still for a moment"
_OF_THE_HOST = "rx_queue_size and tx_queue_size in the definition on the host decide instead"


def solve(situation: Situation) -> Solution | Declined:
    """``ethtool -G NIC rx N tx M``, with what is below the device's maximum now."""
    nic = situation.nic
    if nic is None:
        return situation.declined("which interface it is about is not known")
    if situation.findings and not _lost_by_it(situation, nic):
        return situation.declined(f"the packets were not lost at the rings of {nic.name}, as far as the counters tell")
    if nic.rings is None:
        return situation.declined("the device's rings could not be read (ethtool's rings)")
    sizes = _sizes(nic.rings)
    wanted = {way: most for way, (now, most) in sizes.items() if now < most}
    reason = _nothing_to_do(situation, nic, sizes, wanted)
    if reason:
        return situation.declined(reason)
    return Solution((_change(nic, {way: now for way, (now, _) in sizes.items()}, wanted),), (_LOST,))


def _nothing_to_do(
    situation: Situation, nic: Nic, sizes: dict[str, tuple[int, int]], wanted: dict[str, int]
) -> str | None:
    if not sizes:
        return "the driver reports no rings that could be set"
    if not wanted:
        shown = " and ".join(f"{way} {now}" for way, (now, _) in sizes.items())
        return f"already so: {shown} is all that the device offers; {_OF_THE_HOST}"
    device = situation.view.after.virtio_device(nic.virtio)
    if device is not None and device.has(Feature.RING_RESET) is False:
        return f"the device cannot reset one queue (VIRTIO_F_RING_RESET, feature bit 40); {_OF_THE_HOST}"
    return None


def _lost_by_it(situation: Situation, nic: Nic) -> bool:
    """Whether a finding is about this interface itself, and not about a CPU's backlog or packets nobody wanted."""
    return any(one.subject == nic.name and one.severity > Severity.INFO for one in situation.findings)


def _sizes(rings: Rings) -> dict[str, tuple[int, int]]:
    """Descriptors now and at most, of the ways for which both are known."""
    reported = {"rx": (rings.rx, rings.rx_max), "tx": (rings.tx, rings.tx_max)}
    return {way: (now, most) for way, (now, most) in reported.items() if now is not None and most}


def _change(nic: Nic, old: dict[str, int], new: dict[str, int]) -> Change:
    return ethtool_change(
        nic,
        (TunableKind.RINGS, "rings", "-G"),
        {way: str(old[way]) for way in new},
        {way: str(size) for way, size in new.items()},
        f"room for a burst while nobody takes packets out; the device offers {' and '.join(map(str, new.values()))}",
    )
