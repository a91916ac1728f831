"""The report on each machine, as it was last read by a person: `make golden` writes them anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.golden.reports import NAMES, document, prepared, text

HERE = Path(__file__).parent


def compare(file: Path, now: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        file.write_text(now)
    assert now == file.read_text(), f"{file.name} differs; if it should, run `make golden` and read the difference"


@pytest.fixture
def options(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)  # so that the report names no path of this run
    return prepared(name, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_text(
    name: str, options: list[str], request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    compare(HERE / f"{name}.txt", text(options, capsys), request)


@pytest.mark.parametrize("name", NAMES)
def test_json(
    name: str, options: list[str], request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    compare(HERE / f"{name}.json", json.dumps(document(options, capsys), indent=1) + "\n", request)


def test_no_golden_report_is_left_over() -> None:
    assert {file.stem for file in HERE.iterdir() if file.suffix in {".txt", ".json"}} == set(NAMES)
