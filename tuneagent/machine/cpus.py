"""Which CPUs are online, for those who open something on each."""

from __future__ import annotations

from tuneagent.machine.reasons import source_error
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.missing import Reason
from tuneagent.parse import cpulist

ONLINE = "/sys/devices/system/cpu/online"


def online() -> CpuSet:
    """The CPUs that are online now. Raises SourceError."""
    try:
        with open(ONLINE, encoding="ascii", errors="backslashreplace") as file:
            return cpulist.parse(file.read().strip())
    except OSError as error:
        raise source_error(ONLINE, error) from None
    except ParseError as error:
        raise SourceError(ONLINE, Reason.MALFORMED, str(error)) from None
