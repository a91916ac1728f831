"""Parameters of the kvm modules while they run: /sys/module/MODULE/parameters/NAME (kernel/params.c)."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping

from tuneagent.apply.actuator import Place, Refusal, Why
from tuneagent.apply.kernel_file import Answer, KernelFile
from tuneagent.model.plan import Target, TunableKind
from tuneagent.parse.lines import shown

_NAME = re.compile(r"(?P<module>kvm(?:_[a-z0-9_]{1,32})?)\.(?P<parameter>[a-z0-9_]{1,64})")
_VALUE = re.compile(r"-?[0-9]{1,20}|[YN]")
_FLAGS = {"Y": "1", "N": "0"}


class ModuleParameter(KernelFile):
    """A number, or Y and N of a switch."""

    kinds = (TunableKind.KVM_PARAMETER,)
    answers: Mapping[int, Answer] = {
        errno.EINVAL: (Why.FAILED, "the module does not take this value", None),
        errno.ERANGE: (Why.FAILED, "the value is beyond what the module's parameter can hold", None),
    }

    def locate(self, kind: TunableKind, target: Target) -> Place:  # noqa: ARG002 - one kind
        """The parameter's file, ``kvm.halt_poll_ns``; FAILED for any other module's."""
        match = _NAME.fullmatch(target.parameter or "")
        if match is None:
            raise Refusal(Why.FAILED, f"{shown(target.parameter or '')} is no parameter of a kvm module")
        path = f"/sys/module/{match['module']}/parameters/{match['parameter']}"
        return Place(path, target)

    def fault(self, value: str) -> str | None:
        """Whatever is neither a number nor Y or N."""
        return None if _VALUE.fullmatch(value) else f"{shown(value)} is neither a number nor Y or N"

    def same(self, one: str, other: str) -> bool:
        """The same number, and 1 and Y are one."""
        return _plain(one) == _plain(other)


def _plain(value: str) -> str:
    text = value.strip()
    text = _FLAGS.get(text, text)
    return str(int(text)) if _VALUE.fullmatch(text) else text
