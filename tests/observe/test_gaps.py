from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.observe.looking import put
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.missing import Reason
from tuneagent.observe import kvm
from tuneagent.observe.gaps import Gaps


def noted(root: Path) -> list[tuple[str, Reason]]:
    gaps = Gaps(Sysroot(str(root)))
    kvm.observe(gaps, kvm.listing(gaps), ())
    return [(gap.source, gap.reason) for gap in gaps.missing]


@pytest.mark.parametrize("name", ["kvm-statistics", "domain-statistics"])
@pytest.mark.parametrize("text", ['{"x":', "[1e999", '{"4100": NaN}', "[" * 100_000, ""])
def test_an_answer_that_is_broken_is_told_though_others_may_stand_in(tmp_path: Path, name: str, text: str) -> None:
    put(tmp_path, f"/captured/{name}.json", text)

    assert (name, Reason.MALFORMED) in noted(tmp_path)


def test_that_one_of_several_is_not_there_is_not_told(tmp_path: Path) -> None:
    put(tmp_path, "/captured/kvm-statistics.json", json.dumps({"4100": {"vcpus": {"0": {"exits": 7}}}}))

    assert noted(tmp_path) == []


def test_that_none_is_there_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "captured").mkdir()

    assert noted(tmp_path) == [(kvm.DEBUGFS, Reason.ABSENT)]
