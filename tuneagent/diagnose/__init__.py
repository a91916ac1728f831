"""One rule a module, from a View to what can be said of it; pure. Each rule has its page in ``pages/``, by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tuneagent.diagnose import (
    domain_event_index_off,
    domain_queues_above_vcpus,
    domain_queues_below_vcpus,
    domain_queues_unused,
    emulator_unpinned,
    event_index_off,
    exits_per_packet,
    exits_rate,
    halt_polling_absent,
    halt_polling_costs,
    hot_reference_count,
    interrupt_list_readers,
    interrupt_spread,
    interrupt_storm,
    interrupts_on_isolated_cpus,
    interrupts_per_packet,
    irq_descriptor_contention,
    irqbalance_absent,
    irqbalance_config,
    irqbalance_fights_pins,
    irqbalance_in_floating_guest,
    irqbalance_in_guest,
    kicks_per_packet,
    queue_pair_split,
    queues_above_cpus,
    queues_below_cpus,
    queues_share_cpu,
    receive_drops,
    rps_useless,
    shared_vector,
    softirq_saturation,
    stacked_device_queues,
    tap_drops,
    transmit_lock_contention,
    transmit_timeouts,
    vcpus_overcommitted,
    vhost_absent,
    vhost_worker_placement,
    vhost_worker_starved,
    xps_mismatch,
)
from tuneagent.model.finding import Judgement
from tuneagent.model.profile import Profile, ProfileDelta
from tuneagent.model.view import View

Rule = Callable[[View], tuple[Judgement, ...]]
ProfileRule = Callable[[Profile], tuple[Judgement, ...]]
DeltaRule = Callable[[Iterable[ProfileDelta]], tuple[Judgement, ...]]

RULES: tuple[tuple[str, Rule], ...] = (
    (softirq_saturation.NAME, softirq_saturation.judge),
    (receive_drops.NAME, receive_drops.judge),
    (tap_drops.NAME, tap_drops.judge),
    (transmit_timeouts.NAME, transmit_timeouts.judge),
    (interrupt_storm.NAME, interrupt_storm.judge),
    (interrupt_spread.NAME, interrupt_spread.judge),
    (irq_descriptor_contention.NAME, irq_descriptor_contention.judge),
    (transmit_lock_contention.NAME, transmit_lock_contention.judge),
    (interrupt_list_readers.NAME, interrupt_list_readers.judge),
    (queues_share_cpu.NAME, queues_share_cpu.judge),
    (queue_pair_split.NAME, queue_pair_split.judge),
    (event_index_off.NAME, event_index_off.judge),
    (interrupts_per_packet.NAME, interrupts_per_packet.judge),
    (kicks_per_packet.NAME, kicks_per_packet.judge),
    (queues_below_cpus.NAME, queues_below_cpus.judge),
    (queues_above_cpus.NAME, queues_above_cpus.judge),
    (shared_vector.NAME, shared_vector.judge),
    (interrupts_on_isolated_cpus.NAME, interrupts_on_isolated_cpus.judge),
    (xps_mismatch.NAME, xps_mismatch.judge),
    (rps_useless.NAME, rps_useless.judge),
    (irqbalance_absent.NAME, irqbalance_absent.judge),
    (irqbalance_fights_pins.NAME, irqbalance_fights_pins.judge),
    (irqbalance_in_guest.NAME, irqbalance_in_guest.judge),
    (irqbalance_config.NAME, irqbalance_config.judge),
    (stacked_device_queues.NAME, stacked_device_queues.judge),
    (vhost_worker_starved.NAME, vhost_worker_starved.judge),
    (vcpus_overcommitted.NAME, vcpus_overcommitted.judge),
    (vhost_worker_placement.NAME, vhost_worker_placement.judge),
    (exits_rate.NAME, exits_rate.judge),
    (exits_per_packet.NAME, exits_per_packet.judge),
    (domain_event_index_off.NAME, domain_event_index_off.judge),
    (vhost_absent.NAME, vhost_absent.judge),
    (domain_queues_unused.NAME, domain_queues_unused.judge),
    (domain_queues_below_vcpus.NAME, domain_queues_below_vcpus.judge),
    (domain_queues_above_vcpus.NAME, domain_queues_above_vcpus.judge),
    (emulator_unpinned.NAME, emulator_unpinned.judge),
    (halt_polling_costs.NAME, halt_polling_costs.judge),
    (halt_polling_absent.NAME, halt_polling_absent.judge),
    (irqbalance_in_floating_guest.NAME, irqbalance_in_floating_guest.judge),
)
"""Every rule by its name, those that tell of loss first."""
PROFILE_RULES: tuple[tuple[str, ProfileRule, DeltaRule], ...] = (
    (hot_reference_count.NAME, hot_reference_count.judge_profile, hot_reference_count.judge_delta),
)
"""Rules that look at a profile, or at the difference of two, which no view has."""
NAMES = (*(name for name, _ in RULES), *(name for name, _, _ in PROFILE_RULES))
"""Of all rules: each has its page."""


def diagnose(view: View) -> tuple[Judgement, ...]:
    """What every rule says of the view, in the order of :data:`RULES`. Rules are total: an exception is a bug."""
    return tuple(judgement for _, judge in RULES for judgement in judge(view))


def diagnose_profile(profile: Profile) -> tuple[Judgement, ...]:
    """What every rule for profiles says of one, in the order of :data:`PROFILE_RULES`."""
    return tuple(judgement for _, judge, _ in PROFILE_RULES for judgement in judge(profile))


def diagnose_deltas(deltas: Sequence[ProfileDelta]) -> tuple[Judgement, ...]:
    """The same of the difference of two profiles."""
    return tuple(judgement for _, _, judge in PROFILE_RULES for judgement in judge(deltas))
