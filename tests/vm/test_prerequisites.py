"""What is missing is named: a skip for a developer, a failure in CI. Boots nothing."""

from __future__ import annotations

import pytest

from tests.vm.prerequisites import Needs, in_ci, require

ABSENT = Needs(programs={"sh": "dash", "no-such-program": "no-such-package"}, devices=("/dev/no-such-device",))


def test_only_what_is_missing_is_named() -> None:
    assert ABSENT.missing() == ["package no-such-package", "access to /dev/no-such-device"]


def test_elsewhere_it_is_a_skip_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="the vm tier needs package no-such-package"):
        require(ABSENT, "vm")


def test_in_ci_it_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    nothing_to_install = Needs(programs={}, devices=("/dev/no-such-device",))
    with pytest.raises(pytest.fail.Exception, match="the vm tier needs access to /dev/no-such-device"):
        require(nothing_to_install, "vm")


@pytest.mark.parametrize(("value", "expected"), [("true", True), ("1", True), ("", False), ("false", False)])
def test_ci_is_what_says_so(monkeypatch: pytest.MonkeyPatch, value: str, *, expected: bool) -> None:
    monkeypatch.setenv("CI", value)
    assert in_ci() is expected
