from __future__ import annotations

from tests import make
from tests.plan import build
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.nic import RxQueue
from tuneagent.model.policy import Action

OFF = Action.RPS_OFF


def test_only_queues_with_a_map_are_changed() -> None:
    queues = (RxQueue(0, CpuSet(), 0), RxQueue(1, CpuSet.of([0, 33]), 0), RxQueue(2, None, None))
    answer = build.solve(OFF, build.with_nic(make.snapshot(), rx_queues=queues))
    (change,) = build.changes(answer)
    assert (change.target.queue, change.old, change.new) == (1, "2,00000001", "0")
    assert change.do == "echo 0 > /sys/class/net/eth0/queues/rx-1/rps_cpus"
    assert change.undo == "echo 2,00000001 > /sys/class/net/eth0/queues/rx-1/rps_cpus"
    assert "rx-2" in build.notes(answer)


def test_off_is_off() -> None:
    assert build.changes(build.solve(OFF, make.snapshot())) == ()
