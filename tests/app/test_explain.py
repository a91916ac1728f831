from __future__ import annotations

import pytest

from tests.app.command import run
from tuneagent.app import policy_files
from tuneagent.app.explain import GUIDES
from tuneagent.app.policy_files import rule_names

POLICIES = tuple(policy.name for policy in policy_files.policies())


def test_without_a_name_every_page_is_listed() -> None:
    done = run("explain")

    assert done.code == 0
    assert set(done.out.split()) >= {*rule_names(), *POLICIES, "json"}


@pytest.mark.parametrize("rule", sorted(rule_names()))
def test_every_rule_has_a_page(rule: str) -> None:
    done = run("explain", rule)

    assert (done.code, done.err) == (0, "")
    assert rule in done.out
    assert len(done.out.split()) > 50
    assert done.out.endswith("\n")


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_has_a_page(policy: str) -> None:
    done = run("explain", policy)

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{policy}: ")
    assert run("policies", "show", policy).out == done.out


def test_each_topic_has_a_page_that_begins_with_its_name() -> None:
    for topic in GUIDES:
        assert run("explain", topic).out.startswith(f"# {topic}: ")
        assert f"\n{topic} " in f"\n{run('explain').out}"


def test_the_keys_of_the_json_have_a_page() -> None:
    done = run("explain", "json")

    assert (done.code, done.err) == (0, "")
    assert "tuneagent.advise/1" in done.out


def test_a_name_that_is_nearly_one_is_suggested() -> None:
    done = run("explain", "interupt-spread")

    assert done.refused
    assert "did you mean interrupt-spread" in done.err


def test_a_name_that_is_like_none_is_sent_to_the_list() -> None:
    done = run("explain", "\x1b[31mqqq")

    assert done.refused
    assert "lists all pages" in done.err
    assert "\x1b" not in done.err
