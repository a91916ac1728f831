"""halt-polling-on: KVM polls a while for what wakes a halted vCPU before it gives the CPU away."""

from __future__ import annotations

from tuneagent.model.plan import Declined
from tuneagent.plan.kvm_parameter import halt_polling
from tuneagent.plan.situation import Situation, Solution

HALT_POLL_NS = "halt_poll_ns"


def solve(situation: Situation) -> Solution | Declined:
    """kvm.halt_poll_ns, 0 → the policy's value."""
    wanted = situation.policy.parameters[HALT_POLL_NS]
    return halt_polling(
        situation, wanted, f"a vCPU woken within {wanted} ns of its halt needs no way through the scheduler"
    )
