"""What holds for every rule: it is registered, has a page, never raises and never calls an unknown well."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from importlib import resources

import pytest
from hypothesis import HealthCheck, given, settings

from tests import make, make_hypervisor
from tests.diagnose.any_hypervisor import hosts
from tests.diagnose.any_view import views
from tests.diagnose.views import balanced, single
from tuneagent import diagnose
from tuneagent.app.policy_files import policies
from tuneagent.diagnose import NAMES, PROFILE_RULES, RULES
from tuneagent.model.finding import Clear, Finding, Judgement, Severity, Unjudged
from tuneagent.model.view import View

NO_RULES = {
    "balancer",
    "domain_queues",
    "domains",
    "exit_kinds",
    "halt_polling",
    "load",
    "lock_waits",
    "placement",
    "queue_limits",
    "sources",
    "subjects",
    "thresholds",
    "wording",
    "worker_places",
}
SECTIONS = (
    "## What it means",
    "## Why it costs",
    "## How it was seen",
    "## Check by hand",
    "## What answers it",
    "## What it does not prove",
    "## References",
)


def page(rule: str) -> str:
    return (resources.files("tuneagent.diagnose") / "pages" / f"{rule}.md").read_text(encoding="utf-8")


def quiet(view: View) -> View:
    """The same machine without traffic."""
    still = make.nic_rate(
        rx_packets_per_sec=2.0,
        tx_packets_per_sec=1.0,
        interrupts_per_sec=3.0,
        rx_interrupts_per_packet=1.0,
        tx_kicks_per_packet=1.0,
    )
    return replace(view, irqs={irq: make.irq_rate(irq, {0: 3}) for irq in view.irqs}, nics={"eth0": still})


def test_every_module_is_registered_under_its_name() -> None:
    modules = {module.name for module in pkgutil.iter_modules(diagnose.__path__)} - NO_RULES
    assert {name.replace("-", "_") for name in NAMES} == modules
    assert len(set(NAMES)) == len(NAMES)
    for name, judge in RULES:
        module = importlib.import_module(f"tuneagent.diagnose.{name.replace('-', '_')}")
        assert (module.NAME, module.judge) == (name, judge)
    for name, of_profile, of_deltas in PROFILE_RULES:
        module = importlib.import_module(f"tuneagent.diagnose.{name.replace('-', '_')}")
        assert (module.NAME, module.judge_profile, module.judge_delta) == (name, of_profile, of_deltas)


def test_every_page_belongs_to_a_rule() -> None:
    pages = {entry.name for entry in (resources.files("tuneagent.diagnose") / "pages").iterdir()}
    assert pages == {f"{name}.md" for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_every_section_and_names_the_policies_that_answer(name: str) -> None:
    text = page(name)
    assert text.startswith(f"# {name}\n")
    places = [text.index(section) for section in SECTIONS]
    assert places == sorted(places)
    assert 30 <= len(text.splitlines()) <= 60
    assert max(map(len, text.splitlines())) <= 120
    answers = text[text.index(SECTIONS[4]) : text.index(SECTIONS[5])]
    named = {line.split("**")[1] for line in answers.splitlines() if line.startswith("- **")}
    assert named == {policy.name for policy in policies() if name in policy.rules}
    assert named or "No policy" in answers


@pytest.mark.parametrize("queues", [1, 2, 4])
def test_a_healthy_machine_is_clear_throughout(queues: int) -> None:
    said = diagnose.diagnose(make.view(make.snapshot(queues, queues), queues=queues))
    assert {type(one) for one in said} == {Clear}
    assert {one.rule for one in said} <= set(NAMES)


def test_an_idle_machine_has_too_little_traffic_and_no_findings() -> None:
    said = diagnose.diagnose(quiet(make.view()))
    idle = {one.rule for one in said if isinstance(one, Unjudged) and one.idle}
    assert idle == {"interrupt-spread", "interrupts-per-packet", "kicks-per-packet", "irqbalance-absent"}
    assert {type(one) for one in said} == {Clear, Unjudged}


def test_one_sample_still_finds_what_needs_no_rate() -> None:
    said = diagnose.diagnose(single())
    unjudged = {one.rule for one in said if isinstance(one, Unjudged)}
    assert unjudged == {
        "interrupt-spread",
        "interrupts-per-packet",
        "kicks-per-packet",
        "softirq-saturation",
        "receive-drops",
        "interrupt-storm",
        "irqbalance-absent",
    }
    assert all(one.reason.startswith("one sample") for one in said if isinstance(one, Unjudged))


def test_nothing_seen_is_never_clear() -> None:
    names = ("clock", "identity", "cpus", "interrupts", "irqs", "virtio", "softnet", "cpu_times", "irqbalance")
    blind = make.nic(2, rx_queues=(), tx_queues=(), queue_irqs=(), channels=None)
    machine = replace(make.snapshot(), nics=(blind,), **dict.fromkeys(names))  # type: ignore[arg-type]  # each may be None
    said = diagnose.diagnose(make.view(machine, irqs={}, nics={}, cpus={}))
    assert [one for one in said if not isinstance(one, Unjudged)] == []
    assert len(said) > 10


def test_findings_of_two_rules_come_in_order_of_the_registry() -> None:
    view = make.view(balanced(make.snapshot()), cpus={0: make.cpu_rate(0, softirq_percent=99.0)})
    found = [one.rule for one in diagnose.diagnose(view) if isinstance(one, Finding)]
    assert found == ["softirq-saturation", "irqbalance-fights-pins"]


def test_a_hypervisor_that_is_well_is_clear_throughout() -> None:
    rate = make_hypervisor.kvm_rate(per_sec={"exits": 9_000.0, "halt_poll_fail_ns": 7e6}, vcpus={})
    said = diagnose.diagnose(make_hypervisor.host_view(make_hypervisor.domain_view(kvm=rate)))
    about = {one.rule for one in said if one.subject.startswith("domain web1")}
    assert {type(one) for one in said} == {Clear}
    assert len(about) == 12


def test_what_is_no_hypervisor_has_nothing_said_of_virtual_machines() -> None:
    of_hosts = {one.rule for one in diagnose.diagnose(make_hypervisor.host_view())}
    alone = {one.rule for one in diagnose.diagnose(replace(make_hypervisor.host_view(), hypervisor=None))}
    assert len(of_hosts - alone) == 14
    assert not [one for one in alone if one.startswith(("domain-", "exits-", "vhost-", "halt-"))]


def in_order(said: Judgement) -> bool:
    return not isinstance(said, Finding) or all(
        list(numbers) == sorted(set(numbers)) for numbers in (said.queues, said.cpus)
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(views() | hosts())
def test_no_view_makes_a_rule_raise(view: View) -> None:
    for said in diagnose.diagnose(view):
        assert said.rule in NAMES
        assert in_order(said)
        if isinstance(said, Unjudged):
            assert said.reason
        else:
            assert said.evidence
        if isinstance(said, Finding):
            assert said.severity in Severity
            assert said.title.isprintable()
            assert said.explanation.isprintable()
            assert len(said.title) + len(said.explanation) < 2000
