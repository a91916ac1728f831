"""What is told of a trial whose record could not be written: above all whether its changes stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from tests import make_trials
from tuneagent.app import trial_run
from tuneagent.app.signals import Interruptions
from tuneagent.app.switching import Switching
from tuneagent.app.trial_run import Bench, Conditions
from tuneagent.measure.rounds import Measured
from tuneagent.model.trial import Arm
from tuneagent.record.errors import StoreError
from tuneagent.record.store import Store

PRIMARY = "transactions_per_sec"
GONE = "the store was removed or replaced while it was open: this trial is not in it; the trial has ended, "


class Switch:
    """Two states, and what happens when one of them is chosen in the end."""

    def __init__(self, in_the_end: Callable[[], None]) -> None:
        self.standing: int | None = None
        self.arm = Arm.A
        self._in_the_end = in_the_end

    def switch(self, arm: Arm) -> None:
        self.arm, self.standing = arm, 3 if arm is Arm.B else None

    def meddled(self) -> str:
        return ""

    def restore(self) -> None:
        self.switch(Arm.A)
        self._in_the_end()

    def hold(self) -> None:
        self.switch(Arm.B)
        self._in_the_end()

    def keep(self) -> int:
        self.standing = None
        self._in_the_end()
        return 3


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "trials.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(str(path)) as opened:
        yield opened


def tried(store: Store, switch: Switch, keep: str, *, confirm: bool = True) -> None:
    asked = make_trials.question(pairs=6, settle_s=0.0)

    def measure(seconds: float) -> Measured:
        return Measured(seconds, {PRIMARY: 150.0 if switch.arm is Arm.B else 100.0})

    conditions = Conditions(store, Interruptions(), keep)
    trial_run.run(Bench(asked, {}, measure), cast("Switching", switch), conditions, confirm=confirm)


@pytest.mark.parametrize(
    ("keep", "confirm", "stands"),
    [
        ("auto", True, "its changes stand"),
        ("never", True, "the machine is as before"),
        ("auto", False, "its changes stand as long as this process"),
    ],
)
def test_a_store_that_is_gone_at_the_end_is_told_with_what_stands(
    store: Store, path: Path, keep: str, stands: str, *, confirm: bool
) -> None:
    with pytest.raises(StoreError) as caught:
        tried(store, Switch(path.unlink), keep, confirm=confirm)

    assert str(caught.value) == f"{path}: {GONE}{stands}"


def test_a_store_that_is_gone_in_a_round_ends_the_trial_there(store: Store, path: Path) -> None:
    class Removing(Switch):
        def switch(self, arm: Arm) -> None:
            super().switch(arm)
            path.unlink(missing_ok=True)

    switch = Removing(lambda: None)
    with pytest.raises(StoreError) as caught:
        tried(store, switch, "auto")

    assert str(caught.value) == f"{path}: {GONE}the machine is as before"
    assert switch.standing is None
