"""What a running irqbalance has among its bans, as a source of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.machine import irqbalance_daemon
from tuneagent.machine import irqbalance_bans
from tuneagent.machine.source import Process
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason


@pytest.mark.skipif(os.geteuid() != 0, reason="irqbalance hears root only")
def test_its_list_with_the_process_that_has_it(tmp_path: Path) -> None:
    with irqbalance_daemon.running(tmp_path, banned=(9, 33)) as daemon:
        found = (Process(daemon.pid, "irqbalance", ("irqbalance",)),)
        assert irqbalance_bans.read(found, str(tmp_path)) == {"pid": daemon.pid, "banned": [9, 33]}
    with pytest.raises(SourceError) as caught:
        irqbalance_bans.read(found, str(tmp_path))
    assert (caught.value.source, caught.value.reason) == ("irqbalance-bans", Reason.ABSENT)


def test_it_is_asked_by_root_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError) as caught:
        irqbalance_bans.read(())
    assert caught.value.reason is Reason.ABSENT
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(SourceError) as caught:
        irqbalance_bans.read((Process(1, "irqbalance", ()),))
    assert (caught.value.reason, caught.value.remedy) == (Reason.PERMISSION, "run as root")
