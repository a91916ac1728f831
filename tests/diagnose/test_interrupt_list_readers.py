from __future__ import annotations

import pytest

from tests import make, make_contention
from tests.diagnose.views import clear, finding, unjudged, value
from tuneagent.diagnose.interrupt_list_readers import judge
from tuneagent.model.contention import Contended, SpinVisibility
from tuneagent.model.finding import Finding, Severity
from tuneagent.model.view import View


def reader(waits: int = 60, tasks: tuple[str, ...] = ("exporter",), irq: int | None = 31) -> Contended:
    return make_contention.contended(
        caller="show_interrupts", callers=("seq_read_iter",), waits=waits, per_cpu={1: waits}, tasks=tasks, irq=irq
    )


def view(*rows: Contended, spin: SpinVisibility = SpinVisibility.EVERY) -> View:
    return make.view(contention=make_contention.contention(*rows, rows=rows, spin=spin))


def test_a_tool_that_reads_in_a_loop_is_named_with_those_it_holds_up() -> None:
    found = finding(judge, view(reader(), make_contention.contended(waits=500)))
    assert (found.subject, found.severity, found.cpus, found.irqs) == ("machine", Severity.WARNING, (1,), (31,))
    assert (value(found, "waits_per_sec"), value(found, "readers")) == (30.0, "exporter")
    assert "250 waits/s of others" in found.explanation
    assert "exporter" in found.explanation


def test_our_own_reading_is_called_so() -> None:
    found = finding(judge, view(reader(tasks=("tuneagent (this process)",))))
    assert found.severity is Severity.INFO
    assert "tuneagent itself" in found.explanation
    assert "tuneagent itself is among them" in finding(judge, view(reader(tasks=("top", "tuneagent")))).explanation


def test_a_frame_between_reader_and_lock_does_not_hide_it() -> None:
    deeper = make_contention.contended(caller="__irq_get_desc_lock", callers=("show_interrupts", "seq_read_iter"))
    finding(judge, view(deeper))


def test_unknown_readers_are_said_to_be_so() -> None:
    assert "Who reads is not known" in finding(judge, view(reader(tasks=()))).explanation


@pytest.mark.parametrize(("waits", "found"), [(19, False), (20, True)])
def test_ten_a_second_are_a_loop(waits: int, *, found: bool) -> None:
    (said,) = judge(view(reader(waits)))
    assert isinstance(said, Finding) is found


def test_handlers_alone_are_no_readers() -> None:
    assert value(clear(judge, view(make_contention.contended())), "waits_per_sec") == 0.0


def test_what_cannot_be_seen_is_not_clear() -> None:
    assert "cannot see" in unjudged(judge, view(spin=SpinVisibility.NONE)).reason


def test_where_nothing_was_asked_nothing_is_said() -> None:
    assert judge(make.view()) == ()
