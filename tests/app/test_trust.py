"""Real files of real users, on real ways to them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tuneagent.app.inputs import InputError
from tuneagent.app.trust import check_trusted

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
NOBODY, CALLER = 65534, 4321


@pytest.fixture(name="policy")
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("SUDO_UID", raising=False)
    directory = tmp_path / "policies of mine"
    directory.mkdir(mode=0o755)
    policy = directory / "pin.yaml"
    policy.touch(mode=0o644)
    return policy


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        check_trusted(path)
    assert caught.value.exit_code == 2
    assert "\n" not in caught.value.message
    return caught.value.message


def test_what_only_its_owner_may_write_is_trusted(policy: Path) -> None:
    check_trusted(policy)
    check_trusted(policy.parent)
    check_trusted(policy.parent / "." / ".." / policy.parent.name / policy.name)


def test_a_path_from_here_is_looked_at_from_the_root(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(policy.parent)
    check_trusted(Path("pin.yaml"))
    policy.parent.chmod(0o777)
    assert str(policy.parent) in refusal(Path("pin.yaml"))


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o1646, 0o620])
def test_a_file_that_others_may_write_is_refused(policy: Path, mode: int) -> None:
    policy.chmod(mode)
    for path in (policy, policy.parent):
        message = refusal(path)
        assert message.startswith(f"{policy}: ")
        assert f"{mode:04o}" in message
        assert message.endswith(f"chmod go-w '{policy}'")


@pytest.mark.parametrize("levels", [1, 2])
def test_a_directory_on_the_way_that_others_may_write_is_refused(policy: Path, levels: int) -> None:
    directory = policy.parents[levels - 1]
    directory.chmod(0o775)
    message = refusal(policy)
    assert message.startswith(f"{policy}: ")
    assert f"chmod go-w '{directory}'" in message or f"chmod go-w {directory}" in message


def test_a_sticky_directory_on_the_way_will_do_and_one_of_policies_will_not(policy: Path) -> None:
    policy.parent.chmod(0o1777)
    check_trusted(policy)
    assert "chmod go-w" in refusal(policy.parent)
    (policy.parent / "below").mkdir()
    assert "chmod go-w" in refusal(policy.parent / "below" / "..")


@AS_ROOT
def test_what_belongs_to_somebody_else_is_refused(policy: Path) -> None:
    os.chown(policy, NOBODY, 0)
    assert f"belongs to user {NOBODY}" in refusal(policy)
    assert refusal(policy).endswith(f"chown root '{policy}'")
    assert f"belongs to user {NOBODY}" in refusal(policy.parent)
    os.chown(policy, 0, 0)
    os.chown(policy.parent, NOBODY, 0)
    assert f"{policy.parent} belongs to user {NOBODY}" in refusal(policy)


@AS_ROOT
def test_under_sudo_the_callers_own_is_trusted(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.chown(policy, CALLER, 0)
    refusal(policy)
    monkeypatch.setenv("SUDO_UID", str(CALLER))
    check_trusted(policy)
    os.chown(policy, NOBODY, 0)
    refusal(policy)


@AS_ROOT
@pytest.mark.parametrize(
    "words", ["", "alice", "-1", "+4321", " 4321", "4321\n", "٤٣٢١", "9" * 5000, "0" * 5000, "4321,4321"]
)
def test_nonsense_of_sudo_makes_nobody_trusted(policy: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.setenv("SUDO_UID", words)
    check_trusted(policy)
    os.chown(policy, CALLER, 0)
    refusal(policy)


def test_a_link_leads_to_where_it_leads(policy: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "to").symlink_to(Path("..") / policy.parent.name)
    path = elsewhere / "to" / ".." / policy.parent.name / policy.name
    check_trusted(path)
    policy.parent.chmod(0o777)
    assert f"chmod go-w '{policy.parent}'" in refusal(path)
    policy.parent.chmod(0o755)
    elsewhere.chmod(0o777)
    assert f"chmod go-w {elsewhere}" in refusal(path)


@AS_ROOT
def test_a_link_of_somebody_elses_is_refused(policy: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.yaml"
    link.symlink_to(policy)
    check_trusted(link)
    os.chown(link, NOBODY, 0, follow_symlinks=False)
    assert f"{link} belongs to user {NOBODY}" in refusal(link)


def absent(path: Path) -> Path:
    return path.with_name("absent.yaml")


def below_a_file(path: Path) -> Path:
    return path / "more.yaml"


def ring(path: Path) -> Path:
    link = path.with_name("ring.yaml")
    link.symlink_to(link)
    return link


def dangling(path: Path) -> Path:
    link = path.with_name("dangling.yaml")
    link.symlink_to("absent")
    return link


def impossible(path: Path) -> Path:
    return path.with_name("x\0.yaml")


@pytest.mark.parametrize("spoil", [absent, below_a_file, ring, dangling, impossible])
def test_what_is_not_there_is_one_clear_error(policy: Path, spoil: Callable[[Path], Path]) -> None:
    path = spoil(policy)
    assert refusal(path).startswith(f"{path}: ")
