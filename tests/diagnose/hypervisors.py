"""Views of a hypervisor for rules: web1 of :mod:`tests.make_hypervisor` with something changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests import make_hypervisor as make
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.domain_view import DomainView, KvmRate, TapRate, ThreadRate
from tuneagent.model.hypervisor import KvmSource, ThreadRole
from tuneagent.model.view import View


def defined(domain: DomainView | None = None, **changes: Any) -> DomainView:
    """web1 with its definition changed."""
    return replace(domain or make.domain_view(), definition=make.domain(**changes))


def with_interface(definition: Domain | None = None, **changes: Any) -> DomainView:
    """web1 with its one interface changed, in the definition and behind its tap."""
    interface = make.domain_interface(**changes)
    return behind(interface, replace(definition or make.domain(), interfaces=(interface,)))


def behind(interface: DomainInterface, definition: Domain) -> DomainView:
    """A machine whose tap carries this interface."""
    return make.domain_view(definition=definition, taps=(make.tap_rate(interface=interface),))


def tapped(**changes: Any) -> DomainView:
    """web1 with its tap's rates changed."""
    return make.domain_view(taps=(make.tap_rate(**changes),))


def counted(per_sec: dict[str, float], **changes: Any) -> KvmRate:
    """KVM's totals alone, as debugfs tells them."""
    return make.kvm_rate(**{"source": KvmSource.DEBUGFS, "per_sec": per_sec, "vcpus": {}, **changes})


def thread(
    role: ThreadRole, run: float | None, wait: float | None, index: int | None = None, **changes: Any
) -> ThreadRate:
    """A thread that ran and waited for so much of the interval."""
    moved = changes.pop("moved", False)
    return ThreadRate(make.domain_thread(role, index, **changes), run, wait, moved)


def on(cpus: Iterable[int]) -> CpuSet:
    return CpuSet.of(cpus)


def still(view: View) -> View:
    """The same machine, of which there is one sample only."""
    return replace(view, before=None, interval_s=None, rates_reason="one sample", cpus={})


def many(count: int, domain: DomainView) -> tuple[DomainView, ...]:
    """So many machines like this one."""
    return tuple(replace(domain, key=f"key {n}", name=f"web{n}") for n in range(count))


def quiet_tap() -> TapRate:
    return make.tap_rate(to_guest_packets_per_sec=7.0, from_guest_packets_per_sec=5.0)
