"""What a source's refusal means for a transaction."""

from __future__ import annotations

from tuneagent.apply.actuator import Refusal, Why
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

_WHY = {Reason.ABSENT: Why.GONE, Reason.PERMISSION: Why.FORBIDDEN, Reason.UNSUPPORTED: Why.FACT}


def refusal(error: SourceError, *, otherwise: Why = Why.FAILED) -> Refusal:
    """The same with what it means: gone, forbidden, a fact; ``otherwise`` for all else."""
    return Refusal(_WHY.get(error.reason, otherwise), error.detail, error.remedy)
