from __future__ import annotations

from dataclasses import replace

import pytest

from tests import make
from tests.diagnose.views import clear, finding, plain_nic, single, unjudged, value
from tuneagent.diagnose.stacked_device_queues import judge
from tuneagent.model.finding import Severity
from tuneagent.model.nic import Link
from tuneagent.model.view import View


def above(link: Link, lower_queues: int = 4, own_queues: int = 1) -> View:
    stacked = plain_nic("eth0.5", link=link, lower=("eth0",), tx_queues=make.nic(own_queues).tx_queues)
    return single(replace(make.snapshot(), nics=(make.nic(lower_queues), stacked)))


@pytest.mark.parametrize("kind", ["vlan", "bond", "bridge", "macvlan"])
def test_one_queue_with_a_discipline_serialises(kind: str) -> None:
    found = finding(judge, above(Link(kind, "pfifo_fast", 1)))
    assert (found.subject, found.severity) == ("eth0.5", Severity.INFO)
    assert (value(found, "tx_queues"), value(found, "lower_tx_queues")) == (1, 4)


def test_a_lockless_device_does_not() -> None:
    assert value(clear(judge, above(Link("vlan", "noqueue", 1))), "qdisc") == "noqueue"


def test_several_queues_are_clear() -> None:
    clear(judge, above(Link("vlan", "mq", 2), own_queues=2))


def test_an_unknown_discipline_is_not_judged() -> None:
    unjudged(judge, above(Link("vlan", None, 1)))


def test_nothing_above_one_queue_or_for_other_kinds() -> None:
    assert judge(above(Link("vlan", "pfifo_fast", 1), lower_queues=1)) == ()
    assert judge(above(Link("veth", "pfifo_fast", 1))) == ()
    assert judge(above(Link(None, "pfifo_fast", 1))) == ()
