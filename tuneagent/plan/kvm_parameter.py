"""A parameter of the kvm module, old → new, for the whole machine."""

from __future__ import annotations

from tuneagent.model.plan import Change, Declined, Target, TunableKind
from tuneagent.plan.situation import Situation, Solution, echo

HALT_POLL_NS = "kvm.halt_poll_ns"
_PATH = "/sys/module/kvm/parameters/halt_poll_ns"
_WHOLE_HOST = (
    "for all virtual machines of this host: a vCPU takes the new value the next time it halts, from Linux 5.8 to 6.0 "
    "perhaps only at its machine's next start, and not where QEMU set its own (KVM_CAP_HALT_POLL)"
)


def halt_polling(situation: Situation, wanted: int, why: str) -> Solution | Declined:
    """halt_poll_ns set to ``wanted`` (Documentation/virt/kvm/halt-polling.rst)."""
    host = situation.view.after.hypervisor
    if host is None:
        return situation.declined("this machine runs no virtual machines of KVM, as far as can be seen")
    old = host.parameter(HALT_POLL_NS)
    if old is None:
        return situation.declined(f"{_PATH} is not known here")
    if (old == 0) == (wanted == 0):
        return situation.declined(f"already so: halt_poll_ns is {old}")
    change = Change(
        kind=TunableKind.KVM_PARAMETER,
        target=Target(parameter=HALT_POLL_NS),
        where=_PATH,
        old=str(old),
        new=str(wanted),
        why=why,
        do=echo(str(wanted), _PATH),
        undo=echo(str(old), _PATH),
    )
    lasting = (
        f"holds until the module is loaded again; `options kvm halt_poll_ns={wanted}` in /etc/modprobe.d makes it last"
    )
    return Solution((change,), (_WHOLE_HOST, lasting))
