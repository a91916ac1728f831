"""When requests are due: the rule by itself, without sockets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import pytest

from tuneagent.load.flows import Flow
from tuneagent.load.pace import Closed, Open
from tuneagent.load.tally import Tally


@dataclass
class Waiting:
    """What a pace looks at of a connection."""

    since: list[int] = field(default_factory=list)
    due_ns: float = 0.0

    @property
    def in_flight(self) -> int:
        return len(self.since)

    def waiting(self) -> Iterator[int]:
        return iter(self.since)


def flow(*since: int, due_ns: float = 0.0) -> Flow:
    return cast("Flow", Waiting(list(since), due_ns))


def test_a_closed_loop_keeps_its_burst_in_flight() -> None:
    pace = Closed(4, 0)

    assert pace.first(flow(), 100) == [100] * 4
    assert pace.first(flow(1, 2, 3), 100) == [100]
    assert pace.answered(flow(7, 8), 200, 2) == [200, 200]
    assert (pace.timed, pace.next_ns(flow(), 200, 2)) == (False, [])


def test_with_a_think_time_each_answer_makes_a_request_due_later() -> None:
    pace = Closed(2, 500)

    assert pace.answered(flow(), 1000, 2) == []
    assert pace.next_ns(flow(), 1000, 2) == [1500.0, 1500.0]
    assert pace.due(flow(7), 1501) == [1501]
    assert pace.due(flow(7, 8), 1501) == []


def test_an_open_loop_counts_from_when_a_request_was_due() -> None:
    one = flow(due_ns=1000)

    assert Open(10, 100.0).due(one, 1250) == [1000, 1100, 1200]
    assert one.due_ns == 1300


def test_what_cannot_be_sent_yet_keeps_its_due_time() -> None:
    one = flow(5, due_ns=1000)
    pace = Open(1, 100.0)

    assert pace.due(one, 5000) == []
    cast("Waiting", one).since.clear()
    assert pace.answered(one, 9000, 1) == [1000]
    assert one.due_ns == 1100


def test_a_step_of_a_fraction_does_not_drift() -> None:
    one = flow(due_ns=0)
    pace = Open(1 << 20, 1000 / 3)

    assert len(pace.due(one, 999_999)) == 3000


@pytest.mark.parametrize(("in_flight", "asks"), [(0, [50.0]), (1, [])])
def test_a_timer_is_needed_only_where_a_request_may_be_sent(in_flight: int, asks: list[float]) -> None:
    assert Open(1, 10.0).next_ns(flow(*range(in_flight), due_ns=50), 0, 0) == asks


def test_connections_take_turns() -> None:
    flows = [flow() for _ in range(2)]
    Open(1, 800.0).start(flows, [1, 3], 4, 1000)

    assert [one.due_ns for one in flows] == [1200, 1600]


def test_requests_without_an_answer_count_with_their_age_at_the_end() -> None:
    tally = Tally()
    Open(1, 100.0).count_waiting([flow(600, due_ns=700), flow(due_ns=1001)], tally, 1000)

    made = tally.histogram()
    assert (tally.waiting, made.total) == (5, 5)
    assert made.sum_ns == 400 + 300 + 200 + 100 + 0
    assert (made.min_ns, made.max_ns) == (0, 400)
