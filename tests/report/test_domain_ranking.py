from __future__ import annotations

from tests import make_hypervisor
from tests.report import reports
from tuneagent.model.domain_view import DomainView
from tuneagent.model.finding import Finding, Severity
from tuneagent.model.plan import Advice
from tuneagent.model.policy import Expectation
from tuneagent.report.domain_ranking import by_subject, ranked


def machine(name: str, exits: float | None = 1_000.0) -> DomainView:
    interface = make_hypervisor.domain_interface(target=f"tap-{name}")
    per_sec = {} if exits is None else {"exits": exits}
    return make_hypervisor.domain_view(
        key=f"uuid-{name}",
        name=name,
        definition=make_hypervisor.domain(name=name, interfaces=(interface,)),
        kvm=make_hypervisor.kvm_rate(per_sec=per_sec),
    )


def found(name: str, severity: Severity = Severity.WARNING, interface: str = "") -> Finding:
    return reports.finding(severity, subject=f"domain {name}{interface}")


def helps(name: str, percent: float, rules: tuple[str, ...] = ()) -> Advice:
    expects = (Expectation("transactions_per_sec", "up", percent - 5, percent + 5, "measured", rules),)
    return reports.advice(subject=f"domain {name}", findings=(found(name),), expects=expects)


def order(*domains: DomainView, findings: tuple[Finding, ...] = (), advice: tuple[Advice, ...] = ()) -> list[str]:
    return [one.domain.name for one in ranked(make_hypervisor.hypervisor_view(*domains), findings, advice)]


def test_the_worst_finding_comes_before_every_gain_and_every_exit() -> None:
    findings = (found("c", Severity.CRITICAL), found("b"), found("d", Severity.INFO))

    assert order(machine("a", 1e6), machine("b"), machine("c", 3.0), machine("d"), findings=findings) == [
        "c", "b", "d", "a",
    ]  # fmt: skip


def test_of_equally_bad_ones_that_with_more_to_gain_is_first_and_then_that_with_more_exits() -> None:
    findings = tuple(found(name) for name in "abcd")
    advice = (helps("b", 30.0), helps("c", 70.0))

    assert order(machine("a", 5.0), machine("b"), machine("c", 1.0), machine("d", 9.0), findings=findings,
                 advice=advice) == ["c", "b", "d", "a"]  # fmt: skip


def test_unknown_exits_come_after_none_and_names_settle_the_rest() -> None:
    assert order(machine("z"), machine("u", None), machine("a"), machine("none", 0.0)) == ["a", "z", "none", "u"]


def test_a_gain_that_was_measured_for_another_finding_does_not_count() -> None:
    other = ranked(make_hypervisor.hypervisor_view(machine("a")), (), (helps("a", 60.0, ("another-rule",)),))

    assert other[0].gain_percent == 0.0


def test_findings_on_an_interface_are_its_virtual_machine_s_and_those_of_the_host_nobody_s() -> None:
    view = make_hypervisor.hypervisor_view(machine("a"))
    on_tap, on_host = found("a", interface=" tap-a"), reports.finding(subject="machine")

    (one,) = ranked(view, (on_tap, on_host), ())

    assert one.findings == (on_tap,)
    assert by_subject(view).keys() == {"domain a", "domain a tap-a"}
    assert by_subject(None) == {}
