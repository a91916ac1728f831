"""What the cache holds is whole, or is not there. Boots nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.vm import cache


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_a_thing_is_built_once() -> None:
    built: list[Path] = []
    first, second = (cache.made("thing", ("recipe",), built.append) for _ in range(2))
    assert first == second
    assert first.is_dir()
    assert len(built) == 1


def test_another_recipe_is_another_thing() -> None:
    places = {cache.made("thing", recipe, lambda _: None) for recipe in (("a", "bc"), ("ab", "c"), ("a", "bc", ""))}
    assert len(places) == 3


def test_a_build_that_fails_leaves_nothing() -> None:
    def fail(into: Path) -> None:
        (into / "half").write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        cache.made("thing", ("recipe",), fail)
    assert [path.name for path in cache.root().iterdir()] == [".thing.lock"]


def test_what_a_killed_build_left_is_not_taken_for_whole() -> None:
    place = cache.made("thing", ("recipe",), lambda into: (into / "old").touch())
    place.rename(place.with_name(f".{place.name}.unfinished"))
    again = cache.made("thing", ("recipe",), lambda into: (into / "new").touch())
    assert sorted(path.name for path in again.iterdir()) == ["built-seconds", "new"]


def test_what_nobody_used_for_weeks_goes_when_its_successor_comes() -> None:
    old, recent = (cache.made("thing", (recipe,), lambda _: None) for recipe in ("old", "recent"))
    other = cache.made("thing-else", ("old",), lambda _: None)
    for place in (old, other):
        os.utime(place, (1e9, 1e9))
    cache.made("thing", ("new",), lambda _: None)
    assert (old.exists(), recent.exists(), other.exists()) == (False, True, True)
