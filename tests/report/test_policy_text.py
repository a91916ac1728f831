from __future__ import annotations

from dataclasses import replace

from tuneagent.model.identity import Role
from tuneagent.model.policy import Action, Disruption, Expectation, Guard, Policy
from tuneagent.report import plain, policy_text

POLICY = Policy(
    name="defer-it",
    title="Defer it",
    rules=("interrupts-per-packet", "interrupt-storm"),
    role=Role.GUEST,
    actions=(Action.DEFER_INTERRUPTS,),
    parameters={"napi_defer_hard_irqs": 10},
    why="Because of [this] \x1b[31m.",
    source="Documentation/networking/napi.rst",
    requires=("root",),
    disruption=Disruption.LINK_FLAP,
    expects=(Expectation("interrupts_per_sec", "down", 40.0, 62.5, "measured"),),
    guards=(Guard("latency_p99", 10.0),),
    path="/etc/defer-it.yaml",
)


def test_the_page_tells_everything_that_the_file_says() -> None:
    page = policy_text.page(POLICY)

    for part in (
        "defer-it: Defer it",
        "Because of [this] \\x1b[31m.",
        "interrupts-per-packet, interrupt-storm",
        "napi_defer_hard_irqs = 10",
        "the guest",
        "link-flap",
        "Requires: root",
        "interrupts_per_sec down 40 to 62.5 % (measured)",
        "latency_p99 gets worse by more than 10 %",
        "Documentation/networking/napi.rst",
        "/etc/defer-it.yaml",
    ):
        assert part in page, part
    assert "\x1b" not in page


def test_the_overview_has_a_line_for_each() -> None:
    lines = plain.write(policy_text.overview([POLICY])).splitlines()

    assert lines[1].split() == ["defer-it", "guest", "link-flap", "Defer", "it"]


def test_a_policy_that_answers_nothing_says_how_it_is_applied() -> None:
    page = policy_text.page(replace(POLICY, rules=()))

    assert "Answers: no finding: it is applied by name, and never advised" in " ".join(page.split())
