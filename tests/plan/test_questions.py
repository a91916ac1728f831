from __future__ import annotations

from dataclasses import replace

from tests import make
from tests import make_hypervisor as host
from tests.plan import build, hypervisors
from tests.plan.hypervisors import VNET0, WEB1, interface, of, web1
from tuneagent.model.domain_view import DomainView
from tuneagent.model.policy import Action
from tuneagent.plan.questions import questions

OTHER = "22222222-2222-3333-4444-555555555555"


def uuid(number: int) -> str:
    return f"{number:08x}-0000-0000-0000-000000000000"


def test_a_finding_on_the_whole_is_answered_on_each_interface() -> None:
    second = interface(position=1, target="vnet1", mac="52:54:00:00:00:77", event_idx=False)
    domain = web1(interface(event_idx=False), second)
    answer = of(host.host_view(domain), build.finding("exits", WEB1), build.finding("off", VNET0))
    assert [advice.id for advice in answer.advice] == ["event:domain web1 vnet0", "event:domain web1 vnet1"]
    assert [len(advice.findings) for advice in answer.advice] == [2, 1]


def test_what_helps_on_no_interface_is_told_once() -> None:
    second = interface(position=1, target="vnet1", mac="52:54:00:00:00:77")
    answer = of(host.host_view(web1(interface(), second)), build.finding("exits", WEB1))
    assert [(one.subject, one.rules) for one in answer.declined] == [(WEB1, ("exits",))]


def test_two_of_one_name_are_left_alone() -> None:
    one, other = web1(interface(event_idx=False)), replace(web1(interface(target="vnet1")), key=OTHER)
    answer = of(host.host_view(one, other), build.finding("unpinned", WEB1))
    assert "which is meant" in hypervisors.reason(answer)


def test_by_name_on_every_running_one() -> None:
    off = web1(interface(driver_name="qemu"), running=False, name="off", key=OTHER)
    answer = of(host.host_view(web1(interface(driver_name="qemu")), off), asked=("vhost",))
    assert [advice.id for advice in answer.advice] == ["vhost:domain web1 vnet0"]
    assert answer.declined == ()


def test_by_name_where_there_are_none() -> None:
    assert "no running virtual machine" in hypervisors.reason(of(make.view(), asked=("vhost",)))


def test_a_guests_policy_goes_by_the_guests_own_view() -> None:
    inside = make.view(make.snapshot(irqbalance=build.balance()))
    domain = web1(guest=host.guest(view=inside))
    answer = of(host.host_view(domain), build.finding("floating", WEB1))
    assert hypervisors.only(answer).id == "balance-off:domain web1"
    assert hypervisors.only(answer).notes[0] == "run inside the virtual machine web1"
    assert hypervisors.change(answer).do == "systemctl stop irqbalance.service"


def test_a_guests_interface_is_the_guests_nic() -> None:
    inside = make.view(build.spread(make.snapshot(queues=2), 3))
    domain = web1(
        guest=host.guest(view=inside, nics=(host.joined_nic(interface=interface(), nic=inside.after.virtio_nics[0]),))
    )
    answer = of(host.host_view(domain), build.finding("share", VNET0))
    assert {change.target.interface for change in hypervisors.only(answer).changes} == {"eth0"}
    assert hypervisors.only(answer).apply_command == "tuneagent apply pin --on eth0"


def test_a_guest_that_was_not_seen_is_not_guessed_at() -> None:
    refused = host.guest(view=None, reason="guest-exec is blocked")
    answer = of(host.host_view(web1(guest=refused)), build.finding("floating", WEB1))
    assert "guest-exec is blocked" in hypervisors.reason(answer)
    assert "not asked" in hypervisors.reason(of(host.host_view(web1()), build.finding("floating", WEB1)))


def test_the_hosts_own_irqbalance_is_another_one() -> None:
    guest = host.guest(view=make.view(make.snapshot(irqbalance=build.balance())))
    domain = web1(guest=guest)
    stopped = build.balance(running=False, unit_state="inactive")
    view = host.host_view(domain, after=host.host(irqbalance=stopped))
    on = build.policy(Action.IRQBALANCE_ON, name="balance-on", rules=("alone",))
    answer = of(
        view, build.finding("floating", WEB1), build.finding("alone", "machine"), policies=(hypervisors.IN_GUEST, on)
    )
    assert {advice.id for advice in answer.advice} == {"balance-off:domain web1", "balance-on:machine"}


def crowd(count: int) -> tuple[DomainView, ...]:
    return tuple(
        web1(
            interface(event_idx=False, driver_name="qemu", queues=1, target=f"vnet{number}"),
            key=uuid(number),
            name=f"vm{number}",
            emulator_pin=None,
        )
        for number in range(count)
    )


def test_hundreds_of_virtual_machines_are_one_plan() -> None:
    domains = crowd(300)
    findings = [build.finding("unpinned", domain.subject) for domain in domains]
    findings += [build.finding("costs", domain.subject) for domain in domains]
    answer = of(host.host_view(*domains), *findings, asked=("event", "vhost", "queues"))
    assert len(answer.advice) == 4 * 300 + 1
    (machine,) = (advice for advice in answer.advice if advice.subject == "machine")
    assert len(machine.findings) == 300


def test_a_policy_that_answers_no_finding_is_asked_only_by_name() -> None:
    silent = build.policy(Action.RPS_OFF, name="silent", rules=())
    view, found = make.view(), (build.finding(),)
    assert questions(view, {}, found, (silent,), ()) == ()
    (asked,) = questions(view, {}, found, (silent,), {"silent"})
    assert (asked.subject, asked.findings) == ("eth0", ())
