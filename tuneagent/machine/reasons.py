"""What an errno of the kernel means for somebody who wanted to see something."""

from __future__ import annotations

import errno
import os

from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

DEBUGFS = "/sys/kernel/debug"
RUN_AS_ROOT = "run as root"

_REASONS = {
    errno.ENOENT: Reason.ABSENT,
    errno.ENODEV: Reason.ABSENT,
    errno.ENOTDIR: Reason.ABSENT,
    errno.ENXIO: Reason.ABSENT,
    errno.EACCES: Reason.PERMISSION,
    errno.EPERM: Reason.PERMISSION,
    errno.EOPNOTSUPP: Reason.UNSUPPORTED,
    errno.EINVAL: Reason.UNSUPPORTED,
    errno.EAFNOSUPPORT: Reason.UNSUPPORTED,
    errno.EPROTONOSUPPORT: Reason.UNSUPPORTED,
}


def reason_of(number: int | None) -> Reason:
    """The reason behind an errno; what is not a known answer is a failure."""
    return Reason.FAILED if number is None else _REASONS.get(number, Reason.FAILED)


def source_error(source: str, error: OSError) -> SourceError:
    """An OSError as the one error of the reading side, with a remedy where there is one."""
    reason = reason_of(error.errno)
    detail = error.strerror or str(error) or type(error).__name__
    if reason is not Reason.PERMISSION:
        return SourceError(source, reason, detail)
    if error.errno == errno.EPERM and source.startswith(DEBUGFS):
        # security/lockdown: LOCKDOWN_DEBUGFS answers EPERM where file modes would answer EACCES, to root as well.
        return SourceError(source, reason, f"{detail}: kernel lockdown keeps debugfs closed")
    return SourceError(source, reason, detail, None if os.geteuid() == 0 else RUN_AS_ROOT)


def as_answer_of(source: str, error: SourceError) -> SourceError:
    """An error of something that a source rests on, as the answer of that source."""
    detail = error.detail if error.source == source else f"{error.source}: {error.detail}"
    return SourceError(source, error.reason, detail, error.remedy)
