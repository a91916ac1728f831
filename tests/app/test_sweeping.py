"""The records of a sweep: what they say of the machine is so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests import make_trials
from tuneagent.app.sweeping import Swept, _Records
from tuneagent.app.switching import Switching
from tuneagent.model.apply_report import PlannedChange
from tuneagent.model.trial import TrialState
from tuneagent.record.store import Store
from tuneagent.report import trial_words as words

STUCK = "the machine could not be put back: rps_cpus was not given back: busy"


@dataclass
class Value:
    """One value of the sweep, which stands or does not."""

    standing: int | None
    tried: tuple[PlannedChange, ...] = ()


def test_the_trial_of_a_value_that_could_not_be_given_back_says_so(tmp_path: Path) -> None:
    switchings = {value: cast("Switching", Value(standing)) for value, standing in (("0", None), ("2", None), ("4", 7))}
    with Store(str(tmp_path / "state" / "trials.db")) as store:
        records = _Records(store, make_trials.question(), {}, Swept("rx-usecs", ("0", "2", "4")), switchings)
        records.finish(STUCK)
        of_2, of_4 = (store.load(number) for number in records.numbers)

    assert (of_2.state, of_2.kept, of_4.kept) == (TrialState.FAILED, False, True)
    assert words.headline(of_4).startswith("Failed, and its changes stand: the machine could not be put back")
