from __future__ import annotations

import pytest

from tuneagent.model.identity import Role
from tuneagent.model.policy import Action, Disruption, Expectation, Guard, Policy
from tuneagent.plan.fault import PolicyError
from tuneagent.plan.policy_load import MAX_FILES, load

RULES = frozenset({"interrupt-spread", "queue-pair-split"})
GOOD = """\
name: good-one
title: A title
when: [interrupt-spread]
role: guest
changes:
  - action: irqbalance-ban
  - action: defer-interrupts
    napi_defer_hard_irqs: 3
    gro_flush_timeout_ns: 40000
why: because
source: a document
requires: [root]
disruption: link-flap
expects:
  - {metric: transactions_per_sec, direction: up, percent: [5, 7.5], source: a measurement}
guards:
  - {metric: latency_p99, worse_percent_max: 10}
avoid_when: never
undo: by hand
"""


def one(text: str = GOOD) -> Policy:
    (policy,) = load({"dir/good-one.yaml": text}, RULES)
    return policy


def faults(text: str, path: str = "good-one.yaml") -> list[str]:
    with pytest.raises(PolicyError) as error:
        load({path: text}, RULES)
    return [str(fault).removeprefix(f"{path}:") for fault in error.value.faults]


def test_a_policy_in_full() -> None:
    assert one() == Policy(
        name="good-one",
        title="A title",
        rules=("interrupt-spread",),
        role=Role.GUEST,
        actions=(Action.IRQBALANCE_BAN, Action.DEFER_INTERRUPTS),
        parameters={"napi_defer_hard_irqs": 3, "gro_flush_timeout_ns": 40000},
        why="because",
        source="a document",
        requires=("root",),
        disruption=Disruption.LINK_FLAP,
        expects=(Expectation("transactions_per_sec", "up", 5.0, 7.5, "a measurement"),),
        guards=(Guard("latency_p99", 10.0),),
        path="dir/good-one.yaml",
        avoid_when="never",
        undo="by hand",
    )


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("title: A title", "titel: A title", "2:1: unknown key 'titel'; expected one of name, title, when"),
        ("title: A title\n", "", "1:1: no key 'title'; expected it here"),
        ("[interrupt-spread]", "[Interrupt_Spread]", "3:8: found 'Interrupt_Spread'"),
        ("[interrupt-spread]", "[x]", "3:8: found 'x'; expected the name of a rule; `tuneagent explain` lists them"),
        (
            "source: a measurement}",
            "source: a measurement, when: [queue-pairs-split]}",
            "15:100: found 'queue-pairs-split'; expected the name of a rule; did you mean queue-pair-split?",
        ),
        ("title: A title", "title: 3", "2:8: found 3; expected text"),
        ("title: A title", "title: true", "2:8: found true; expected text"),
        ("title: A title", "title:", "2:7: found nothing; expected text"),
        ("title: A title", 'title: " A"', "2:8: found ' A'; expected one line without blanks around it"),
        ("[interrupt-spread]", "interrupt-spread", "3:7: found 'interrupt-spread'; expected a list"),
        (
            "[interrupt-spread]",
            "[interupt-spread]",
            "3:8: found 'interupt-spread'; expected the name of a rule; did you mean interrupt-spread?",
        ),
        (
            "[interrupt-spread]",
            "[queue-pair-split, queue-pair-split]",
            "3:7: found a list of 2; expected each name once",
        ),
        ("role: guest", "role: gest", "4:7: found 'gest'; expected one of guest, hypervisor; did you mean guest?"),
        (
            "action: irqbalance-ban",
            "action: irqbalance-bann",
            "6:13: found 'irqbalance-bann'; expected one of pin-queue-interrupts",
        ),
        (
            "action: irqbalance-ban",
            "action: defer-interrupts",
            "7:13: found 'defer-interrupts' again; expected each action once",
        ),
        ("- action: irqbalance-ban", "- irqbalance-ban", "6:5: found 'irqbalance-ban'; expected a mapping"),
        ("- action: irqbalance-ban", "- {}", "6:5: found a mapping; expected a mapping with the key 'action'"),
        ("hard_irqs: 3", "hard_irqs: '3'", "8:27: found '3'; expected a whole number"),
        ("hard_irqs: 3", "hard_irqs: 3.0", "8:27: found 3.0; expected a whole number"),
        ("hard_irqs: 3", "hard_irqs: 0", "8:27: found 0; expected greater than or equal to 1"),
        ("hard_irqs: 3", "hard_irqs: 010", "8:27: '010', an octal-looking number"),
        ("hard_irqs: 3", "hard_irq: 3", "8:5: unknown key 'hard_irq'"),
        ("    gro_flush_timeout_ns: 40000\n", "", "7:5: no key 'gro_flush_timeout_ns'; expected it here"),
        (
            "disruption: link-flap",
            "disruption: link_flap",
            "13:13: found 'link_flap'; expected one of none, link-flap, cold-start",
        ),
        ("[5, 7.5]", "[7.5, 5]", "15:60: found a list of 2; expected the lower bound before the upper one"),
        ("[5, 7.5]", "[5]", "15:60: found a list of 1; expected at least 2 items"),
        ("[5, 7.5]", "[5, many]", "15:64: found 'many'; expected a number"),
        ("title: A title", "title: ''", "2:8: found ''; expected at least 1 character"),
        ("requires: [root]", f"requires: [{', '.join('a' * 17)}]", "12:11: found a list of 17; expected at most 16"),
        ("metric: latency_p99", "metric: latency-p99", "17:14: found 'latency-p99'; expected small letters"),
        ("name: good-one", "name: other", "1:7: found 'other'; expected 'good-one', the file's own name"),
        ("name: good-one", "name: Good_One", "1:7: found 'Good_One'; expected small letters"),
    ],
)
def test_each_fault_has_its_place_and_says_what_was_expected(old: str, new: str, fault: str) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new).replace("napi_defer_hard_irq:", "hard_irq:")
    assert any(told.startswith(fault) for told in faults(text)), faults(text)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("title: A title", "titel: A title", "did you mean title?"),
        ("hard_irqs: 3", "hard_irq: 3", "did you mean napi_defer_hard_irqs?"),
        ("worse_percent_max: 10", "worse-percent-max: 10", "did you mean worse_percent_max?"),
        ("metric: trans", "Metric: trans", "did you mean metric?"),
    ],
)
def test_a_key_that_is_nearly_spelled_is_not_missing_as_well(old: str, new: str, fault: str) -> None:
    (told,) = faults(GOOD.replace(old, new))
    assert told.endswith(fault)


def test_a_key_far_from_the_missing_one_explains_nothing() -> None:
    assert len(faults(GOOD.replace("title: A title", "banner: A title"))) == 2


def test_no_mapping_at_all() -> None:
    assert faults("- 1\n") == ["1:1: found a list of 1; expected a mapping"]
    assert faults("just words\n") == ["1:1: found 'just words'; expected a mapping"]


def test_long_values_are_cut() -> None:
    (fault,) = faults(GOOD.replace("role: guest", f"role: {'g' * 5000}"))
    assert len(fault) < 200


def test_all_faults_of_all_files_in_order() -> None:
    texts = {"b.yaml": "a: on\nb: [", "a.yaml": GOOD.replace("role: guest", "role: host"), "good-one.yaml": GOOD}
    with pytest.raises(PolicyError) as error:
        load(texts, RULES)
    lines = str(error.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["a.yaml", "a.yaml", "b.yaml", "b.yaml"]
    assert lines == [str(fault) for fault in error.value.faults]


def test_one_place_has_one_fault() -> None:
    assert len(faults(GOOD.replace("role: guest", "role: off"))) == 1


def test_two_files_may_not_have_one_name() -> None:
    with pytest.raises(
        PolicyError, match=r"b/good-one.yaml:1:1: a second policy 'good-one'; the first is a/good-one.yaml"
    ):
        load({"a/good-one.yaml": GOOD, "b/good-one.yaml": GOOD}, RULES)


def test_policies_are_ordered_by_name() -> None:
    texts = {f"{name}.yaml": GOOD.replace("good-one", name) for name in ("zebra", "ant")}
    assert [policy.name for policy in load(texts, RULES)] == ["ant", "zebra"]


def test_the_number_of_files_is_bounded() -> None:
    with pytest.raises(PolicyError, match="policy files"):
        load({f"{number}.yaml": "" for number in range(MAX_FILES + 1)}, RULES)


def test_a_policy_may_answer_no_finding_and_be_applied_by_name() -> None:
    assert one(GOOD.replace("when: [interrupt-spread]", "when: []")).rules == ()


def coalescing(*lines: str) -> str:
    values = "".join(f"\n    {line}" for line in lines)
    return GOOD.replace("  - action: irqbalance-ban", f"  - action: coalescing{values}")


@pytest.mark.parametrize(
    ("lines", "parameters"),
    [
        (("rx_usecs: 20",), {"rx_usecs": 20}),
        (("rx_usecs: 20", "tx_usecs: 30"), {"rx_usecs": 20, "tx_usecs": 30}),
        (("adaptive: true",), {"adaptive": True}),
    ],
)
def test_coalescing_takes_times_or_the_kernels_choice(lines: tuple[str, ...], parameters: dict[str, int]) -> None:
    defer = {"napi_defer_hard_irqs": 3, "gro_flush_timeout_ns": 40000}
    assert one(coalescing(*lines)).parameters == {**parameters, **defer}


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (
            ("rx_usecs: 20", "adaptive: true"),
            "6:5: found a mapping; expected either rx_usecs or tx_usecs, or both, or adaptive: true",
        ),
        ((), "6:5: found a mapping; expected either rx_usecs or tx_usecs, or both, or adaptive: true"),
        (("adaptive: false",), "6:5: found a mapping; expected either"),
        (("rx_usecs: 0",), "7:15: found 0; expected greater than or equal to 1"),
        (("rx_usecs: 10001",), "7:15: found 10001; expected less than or equal to 10000"),
        (("rx_usec: 20",), "7:5: unknown key 'rx_usec'; expected one of action, rx_usecs, tx_usecs, adaptive"),
        (("adaptive: 1",), "7:15: found 1; expected a valid boolean"),
    ],
)
def test_coalescing_takes_nothing_else(lines: tuple[str, ...], fault: str) -> None:
    assert any(told.startswith(fault) for told in faults(coalescing(*lines))), faults(coalescing(*lines))
