from __future__ import annotations

from dataclasses import replace

from tests import make
from tests.diagnose.views import clear, finding, single, unjudged, value, with_nic
from tuneagent.diagnose.transmit_timeouts import judge
from tuneagent.model.finding import Severity
from tuneagent.model.nic import TxQueue
from tuneagent.model.snapshot import Snapshot


def fired(*timeouts: int | None) -> Snapshot:
    queues = tuple(TxQueue(index, None, count) for index, count in enumerate(timeouts))
    return with_nic(make.snapshot(), tx_queues=queues)


def test_growth_is_critical_and_names_the_queue() -> None:
    view = make.view(fired(1, 5, 0, 2), fired(1, 3, 0, 2), nics={"eth0": make.nic_rate(tx_timeouts=2)})
    found = finding(judge, view)
    assert (found.severity, found.queues) == (Severity.CRITICAL, (1,))
    assert value(found, "tx_timeouts_in_interval") == 2


def test_a_queue_unknown_before_is_not_said_to_have_grown() -> None:
    view = make.view(fired(4, 5), fired(None, 3), nics={"eth0": make.nic_rate(tx_timeouts=2)})
    assert finding(judge, view).queues == (1,)


def test_history_is_worth_knowing_only() -> None:
    found = finding(judge, single(fired(0, 3, 0, 1)))
    assert (found.severity, found.queues) == (Severity.INFO, (1, 3))
    assert value(found, "tx_timeouts_since_boot") == 4


def test_none_is_clear_with_one_sample() -> None:
    assert value(clear(judge, single(fired(0, 0))), "tx_timeouts_since_boot") == 0


def test_unknown_is_not_zero() -> None:
    unjudged(judge, single(fired(None, None)))


def test_nothing_without_a_device() -> None:
    assert judge(single(with_nic(fired(3), bus_address=None))) == ()
    assert judge(single(replace(make.snapshot(), nics=None))) == ()
