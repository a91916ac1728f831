"""Plans on the hypervisors of tests.make_hypervisor."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from tests import make_hypervisor as make
from tests.plan import build
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.domain_view import DomainView, ThreadRate
from tuneagent.model.finding import Finding
from tuneagent.model.hypervisor import ThreadRole
from tuneagent.model.identity import Role
from tuneagent.model.plan import Advice, Change, Plan
from tuneagent.model.policy import Action, Policy
from tuneagent.model.view import View
from tuneagent.plan.solve import plan

HOST = Role.HYPERVISOR
EVENT = build.policy(Action.EVENT_INDEX_ON, name="event", rules=("off", "exits"), role=HOST)
VHOST = build.policy(Action.VHOST_ON, name="vhost", rules=("absent",), role=HOST)
QUEUES = build.policy(Action.DOMAIN_QUEUES, name="queues", rules=("few",), role=HOST, parameters={"most_queues": 8})
WORKERS = build.policy(Action.VHOST_AFFINITY, name="workers", rules=("vhost-worker-placement",), role=HOST)
EMULATOR = build.policy(Action.EMULATOR_PIN, name="emulator", rules=("vhost-worker-placement", "unpinned"), role=HOST)
POLL_OFF = build.policy(Action.HALT_POLLING_OFF, name="poll-off", rules=("costs",), role=HOST)
POLL_ON = build.policy(
    Action.HALT_POLLING_ON, name="poll-on", rules=("no-poll",), role=HOST, parameters={"halt_poll_ns": 200_000}
)
IN_GUEST = build.policy(Action.IRQBALANCE_OFF, name="balance-off", rules=("floating",))
PIN = build.policy(Action.PIN_QUEUE_INTERRUPTS, name="pin", rules=("share",))
EVERY = (EVENT, VHOST, QUEUES, WORKERS, EMULATOR, POLL_OFF, POLL_ON, IN_GUEST, PIN)
WEB1 = "domain web1"
VNET0 = "domain web1 vnet0"
_OF_VIEW = ("threads", "guest", "key", "taps")


def interface(xml: str | None = None, **changes: Any) -> DomainInterface:
    """vnet0 with the attributes of its driver as the nouns have them, in its element too."""
    one = make.domain_interface(**changes)
    written = {
        "name": one.driver_name,
        "queues": None if one.queues is None else str(one.queues),
        "event_idx": None if one.event_idx is None else ("on" if one.event_idx else "off"),
    }
    driver = "".join(f' {name}="{value}"' for name, value in written.items() if value is not None)
    text = one.xml.replace('<driver queues="2"/>', f"<driver{driver}/>").replace(make.MAC, one.mac or "")
    return replace(one, xml=text if xml is None else xml)


def web1(*interfaces: DomainInterface, **changes: Any) -> DomainView:
    """web1 with these interfaces; what ``_OF_VIEW`` names is the view's, the rest its domain's."""
    of_view: dict[str, Any] = {name: changes.pop(name) for name in _OF_VIEW if name in changes}
    if "name" in changes:
        of_view["name"] = changes["name"]
    changes.setdefault("interfaces", interfaces or (interface(),))
    return make.domain_view(definition=make.domain(**changes), **of_view)


def stored(*interfaces: DomainInterface) -> Domain:
    return make.domain(interfaces=interfaces)


def threads(*workers: CpuSet | None, kernel_thread: bool = False) -> tuple[ThreadRate, ...]:
    """QEMU's threads, with a vhost worker for each of these affinities."""
    vhost = tuple(
        make.thread_rate(make.domain_thread(affinity=cpus, tid=4260 + number, kernel_thread=kernel_thread))
        for number, cpus in enumerate(workers)
    )
    return (*(one for one in make.thread_rates() if one.thread.role is not ThreadRole.VHOST), *vhost)


def parsed(xml: str) -> Element:
    """The element as libvirt would read it."""
    return ET.fromstring(xml)  # noqa: S314 - made by the code under test


def of(view: View, *findings: Finding, asked: Collection[str] = (), policies: tuple[Policy, ...] = EVERY) -> Plan:
    return plan(view, findings, policies, asked)


def on(domain: DomainView, rule: str, subject: str = VNET0) -> Plan:
    """The plan for one finding on one virtual machine."""
    return of(make.host_view(domain), build.finding(rule, subject))


def only(answer: Plan) -> Advice:
    (advice,) = answer.advice
    return advice


def change(answer: Plan) -> Change:
    (one,) = only(answer).changes
    return one


def reason(answer: Plan) -> str:
    assert answer.advice == (), answer.advice
    (one,) = answer.declined
    return one.reason
