from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.app.command import run
from tuneagent.app import policy_files

SHIPPED = sorted(policy_files.shipped().glob("*.yaml"))


def schema() -> dict[str, Any]:
    done = run("policies", "schema")
    assert (done.code, done.err) == (0, "")
    found: dict[str, Any] = json.loads(done.out)
    return found


def plain(path: Path) -> dict[str, Any]:
    """The file as any program reads it: YAML values, nothing of ours."""
    value = yaml.safe_load(path.read_text())
    assert isinstance(value, dict)
    return value


def test_list_names_every_shipped_policy() -> None:
    names = {path.stem for path in SHIPPED}

    assert {line.split()[0] for line in run("policies", "list").out.splitlines()[1:]} == names
    assert {one["name"] for one in json.loads(run("policies", "list", "--json").out)} == names


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_show_tells_what_the_file_says(path: Path) -> None:
    shown = json.loads(run("policies", "show", path.stem, "--json").out)
    words = " ".join(run("policies", "show", path.stem).out.split())

    said = plain(path)
    assert (shown["title"], shown["rules"], shown["disruption"]) == (said["title"], said["when"], said["disruption"])
    assert said["title"] in words
    assert " ".join(said["source"].split()) in words


def test_the_shipped_policies_are_valid() -> None:
    done = run("policies", "validate", policy_files.shipped())

    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) == len(SHIPPED)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_policy_fits_the_published_schema(path: Path) -> None:
    jsonschema.Draft202012Validator(schema()).validate(plain(path))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("place", [[], ["changes", 0], ["guards", 0]], ids=str)
def test_the_schema_refuses_an_unknown_key(place: list[Any]) -> None:
    policy = plain(next(path for path in SHIPPED if plain(path)["guards"]))
    inner: Any = policy
    for step in place:
        inner = inner[step]
    inner["colour"] = "green"

    with pytest.raises(jsonschema.ValidationError, match=r"colour|not valid under any"):
        jsonschema.Draft202012Validator(schema()).validate(policy)


def test_validate_prints_every_fault_with_its_place(tmp_path: Path) -> None:
    good = SHIPPED[0].read_text()
    (tmp_path / SHIPPED[0].name).write_text(good)
    (tmp_path / "colour.yaml").write_text(
        good.replace("role: guest", "role: kitchen").replace("why:", "colour: red\nwhy:")
    )
    (tmp_path / "broken.yaml").write_text("name: [\n")

    done = run("policies", "validate", tmp_path)

    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert len(lines) >= 4  # role, colour, the name that is not the file's, and the broken file
    for line in lines:
        assert re.match(rf"tuneagent: {re.escape(str(tmp_path))}/(colour|broken)\.yaml:\d+:\d+: .", line), line
    assert any("kitchen" in line for line in lines)
    assert any("colour.yaml" in line and "colour" in line.split(":", 4)[-1] for line in lines)


def test_validate_a_file_alone() -> None:
    done = run("policies", "validate", SHIPPED[0])

    assert (done.code, done.out) == (0, f"{SHIPPED[0]}: {SHIPPED[0].stem}: valid\n")


def test_a_directory_without_a_policy_is_refused(tmp_path: Path) -> None:
    assert run("policies", "validate", tmp_path).refused


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\0", b"x" * 10_000_000], ids=["bytes", "nul", "large"])
def test_a_file_that_is_no_policy_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "odd.yaml"
    file.write_bytes(content)

    done = run("policies", "validate", file)

    assert done.refused
    assert str(file) in done.err


def test_advise_refuses_a_directory_with_a_fault_and_names_the_place(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("name: broken\nname: twice\n")

    done = run("advise", "--once", "--policies", tmp_path)

    assert (done.code, done.out) == (2, "")
    assert f"{tmp_path}/broken.yaml:" in done.err
