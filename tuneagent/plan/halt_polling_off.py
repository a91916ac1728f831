"""halt-polling-off: a vCPU that halts gives its CPU away at once."""

from __future__ import annotations

from tuneagent.model.plan import Declined
from tuneagent.plan.kvm_parameter import halt_polling
from tuneagent.plan.situation import Situation, Solution


def solve(situation: Situation) -> Solution | Declined:
    """kvm.halt_poll_ns, some → 0."""
    return halt_polling(
        situation, 0, "a CPU that polls for a halted vCPU runs nothing else, and here it mostly polls in vain"
    )
