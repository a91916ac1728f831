"""Which interrupts the running irqbalance was told to leave alone by number, as it says itself over its socket."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tuneagent.machine.irqbalance_socket import RUN, IrqbalanceSocket
from tuneagent.machine.reasons import RUN_AS_ROOT
from tuneagent.machine.source import Process
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

NAME = "irqbalance-bans"


def read(found: Sequence[Process], run: str = RUN) -> dict[str, Any]:
    """``{"pid": 612, "banned": [33, 34]}`` of the first of these processes. Raises SourceError.

    irqbalance notes each user but root who asks in the system's log, so it is not asked without root.
    """
    if not found:
        raise SourceError(NAME, Reason.ABSENT, "irqbalance does not run")
    if os.geteuid() != 0:
        raise SourceError(NAME, Reason.PERMISSION, "irqbalance answers root only", RUN_AS_ROOT)
    pid = found[0].pid
    try:
        banned = IrqbalanceSocket(pid, run).setup().banned_irqs
    except SourceError as error:
        raise SourceError(NAME, error.reason, error.detail, error.remedy) from None
    return {"pid": pid, "banned": list(banned)}
