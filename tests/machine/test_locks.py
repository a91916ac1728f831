from __future__ import annotations

import subprocess
import sys

import pytest

from tests.app.command import environment
from tuneagent.machine import lock_counting, lock_recording, locks
from tuneagent.model.errors import SourceError


def test_the_names_are_those_of_the_sources() -> None:
    assert (locks.COUNTS, locks.RECORD) == (lock_counting.NAME, lock_recording.NAME)


def test_what_may_not_be_counted_says_so() -> None:
    with pytest.raises(SourceError, match="switched off"):
        locks.Locks(counted=False).counts()


def test_to_look_at_this_machine_loads_nothing_of_it() -> None:
    code = "import sys; from tuneagent.machine.live import Live; Live().close(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())

    assert not {"tuneagent.machine.lock_counting", "tuneagent.machine.lock_recording"} & set(done.stdout.split())
