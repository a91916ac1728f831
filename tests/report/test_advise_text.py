from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Iterator
from enum import Enum
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import make
from tests.report import reports
from tuneagent.model.advise import AdviseReport, State
from tuneagent.model.finding import Severity
from tuneagent.model.plan import Plan
from tuneagent.report import advise_text, doctor_report, plain, terminal

HARMFUL = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def text(report: AdviseReport, *, verbose: bool = False) -> str:
    return plain.write(advise_text.document(report, verbose=verbose))


def line_with(report: AdviseReport, part: str) -> str:
    return next(line for line in text(report).splitlines() if part in line)


# The answer


def test_healthy_is_said_with_the_numbers_that_say_so() -> None:
    report = reports.report(reports.CLEAR)

    assert report.state is State.HEALTHY
    assert "Nothing to change" in text(report)
    assert "queue_vectors 8 vectors" in text(report)


def test_idle_is_not_called_healthy() -> None:
    report = reports.report(reports.CLEAR, reports.IDLE)

    assert report.state is State.IDLE
    assert "too little traffic to judge" in text(report)
    assert "Nothing to change" not in text(report)


def test_the_quiet_one_of_two_interfaces_is_named() -> None:
    now = make.snapshot()
    pair = dataclasses.replace(now, nics=(make.nic(), make.nic(name="eth1")))
    quiet = dataclasses.replace(reports.IDLE, subject="eth1")
    both = reports.report(reports.CLEAR, quiet, view=make.view(pair))

    assert "on eth1 there was too little traffic" in text(both)
    assert "on eth" not in text(dataclasses.replace(both, judgements=(reports.IDLE, quiet))).splitlines()[3]
    machine = dataclasses.replace(quiet, subject="machine")
    assert "and there was too little traffic" in text(dataclasses.replace(both, judgements=(machine, quiet)))


def test_time_that_the_host_took_is_told_where_it_is_much() -> None:
    def told(*percents: float | None) -> str:
        cpus = {cpu: make.cpu_rate(cpu, steal_percent=percent) for cpu, percent in enumerate(percents)}
        return text(reports.report(reports.CLEAR, view=make.view(cpus=cpus)))

    assert "31 % of the CPUs' time stolen by the host" in " ".join(told(60.0, 2.0, None).split())
    assert "stolen" not in told(9.0, 10.5) + told(None)


def test_unknown_is_not_called_healthy() -> None:
    report = reports.report(reports.CLEAR, reports.UNSEEN, reports.IDLE)

    assert report.state is State.UNKNOWN
    assert "could not be judged" in text(report)
    assert "Nothing to change" not in text(report)
    assert "softnet is unknown (receive-drops)" in text(report)


def test_a_machine_without_a_virtio_interface_says_so() -> None:
    view = make.view(make.snapshot(nics=()), nics={})

    assert "no virtio network interface" in text(reports.report(view=view))


def test_interfaces_that_could_not_be_read_are_unknown_and_not_absent() -> None:
    view = make.view(make.snapshot(nics=None), nics={})

    assert reports.report(view=view).state is State.UNKNOWN
    assert "no virtio network interface" not in text(reports.report(view=view))


def test_findings_are_counted_by_severity_and_named() -> None:
    report = reports.everything()

    assert report.state is State.FINDINGS
    assert line_with(report, "findings (").startswith("2 findings (1 critical, 1 warning) on eth0, machine.")
    one = reports.report(reports.finding(Severity.INFO))
    assert line_with(one, "finding (").startswith("1 finding (1 info) on eth0.")


# The parts


def test_a_finding_has_its_evidence_with_units_and_sources() -> None:
    shown = text(reports.everything())

    assert "WARNING: Interrupts land everywhere [interrupt-spread]" in shown
    assert "IRQ 31 went to 4 CPUs." in shown
    assert ["top_share", "97", "%", "rates"] in [line.split() for line in shown.splitlines()]


def test_advice_has_every_change_its_disruption_and_the_lines_to_paste() -> None:
    lines = [line.strip() for line in text(reports.everything()).splitlines()]

    assert "1. Pin the interrupts (pin-queue-interrupts:eth0)" in lines
    assert "echo 2 > /proc/irq/31/smp_affinity_list" in lines
    assert "echo 0-3 > /proc/irq/31/smp_affinity_list" in lines
    assert any(line.startswith("Disrupts: none") for line in lines)
    assert "Expect: transactions_per_sec up 63 to 83 % (measured)" in lines
    assert "Undo if: latency_p99 worse by more than 10 %" in lines
    assert "Note: IRQ 30 is left alone" in lines
    assert "Or: tuneagent apply pin-queue-interrupts:eth0" in lines


def test_an_old_value_that_could_not_be_read_is_unknown_and_its_undo_is_said_to_lack() -> None:
    shown = text(reports.everything())

    (row,) = [line.split() for line in shown.splitlines() if line.strip().startswith("/proc/irq/32/smp_affinity_list")]
    assert row[1] == "unknown"
    assert "those changes have no undo line" in shown


def test_a_command_that_does_not_exist_yet_is_not_there_to_be_pasted() -> None:
    assert "tuneagent apply" in text(reports.everything())
    assert "tuneagent apply" not in text(dataclasses.replace(reports.everything(), applies=False))


def test_a_note_that_stands_further_up_is_not_said_again() -> None:
    report = reports.everything()
    (first,) = [one for one in report.plan.advice if "IRQ 30 is left alone" in one.notes]
    again = dataclasses.replace(first, id="again", notes=(*first.notes, "and this"))
    both = dataclasses.replace(report.plan, advice=(first, again))

    shown = text(dataclasses.replace(report, plan=both))

    assert shown.count("Note: IRQ 30 is left alone") == 1
    assert f"Note: {len(first.notes)} note" in shown
    assert "under 1. hold" in shown
    assert "Note: and this" in shown


def test_a_finding_without_advice_says_why_there_is_none_and_where_to_read_on() -> None:
    shown = text(reports.everything())

    assert "No change by defer-interrupts: no traffic" in shown
    assert "tuneagent explain receive-drops" in shown


def test_expecting_nothing_known_says_so() -> None:
    plan = Plan((reports.advice(expects=(), guards=()),), ())

    assert "no figure is known" in text(reports.report(reports.finding(), plan=plan))


def test_what_is_well_has_its_numbers_beside_findings_only_when_asked_for() -> None:
    report = reports.everything()

    assert "queue_vectors" not in text(report)
    assert "shared-vector" in text(report)
    assert "queue_vectors 8 vectors" in text(report, verbose=True)


def test_what_was_not_seen_has_its_reason_and_remedy() -> None:
    assert line_with(reports.everything(), "Permission denied").split()[-3:] == ["run", "as", "root"]


def test_recording_waits_for_locks_has_its_part_of_the_cost() -> None:
    shown = text(reports.everything())
    assert "12 ms of it for the samples, 31 ms for recording waits for locks, 41 MB" in " ".join(shown.split())


def test_waits_for_locks_stand_behind_the_interfaces() -> None:
    shown = text(reports.everything())
    assert shown.index("eth0: virtio0") < shown.index("Waiting for locks: 750/s") < shown.index("[interrupt-spread]")


def test_the_cost_is_said_and_left_out_where_it_is_not_known() -> None:
    assert line_with(reports.report(), "This report cost") == (
        "This report cost 250 ms of CPU, 12 ms of it for the samples, 41 MB at most."
    )
    assert "cost" not in text(reports.report(cost=None)).splitlines()[-1]


def test_unknown_rates_are_a_word_and_never_zero() -> None:
    unknown: dict[str, Any] = dict.fromkeys(
        ("rx_packets_per_sec", "tx_packets_per_sec", "interrupts_per_sec", "rx_interrupts_per_packet"), None
    )
    shown = text(reports.report(view=make.view(irqs={}, nics={"eth0": make.nic_rate(**unknown)})))

    assert "received unknown, sent unknown" in shown
    assert " 0/s" not in shown.replace("receive drops 0/s", "")


def test_many_queues_are_cut_in_the_text_and_the_cut_is_said() -> None:
    view = make.view(make.snapshot(cpus=32, queues=32), queues=32)

    shown = text(reports.report(view=view))

    assert "48 more interrupts are in --json" in shown


# Hostile names

HOSTILE = st.text(
    st.sampled_from("ab \n\r\t\x00\x07\x1b\x7f\x85\x9b\u200d\u202e\u2028\u2029\ud800\ufeff[]{}%\\\U000e0041"),
    min_size=1,
    max_size=12,
)


POOLS = st.lists(HOSTILE, min_size=1, max_size=4)


def poisoned(value: Any, texts: Iterator[str]) -> Any:
    """The same noun with the next hostile text for every text in it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        return dataclasses.replace(value, **{name: poisoned(getattr(value, name), texts) for name in fields})
    if isinstance(value, tuple):
        return tuple(poisoned(one, texts) for one in value)
    if isinstance(value, dict):
        return {key: poisoned(entry, texts) for key, entry in value.items()}
    if isinstance(value, str) and not isinstance(value, Enum):
        return next(texts)
    return value


def all_asked(report: AdviseReport) -> AdviseReport:
    """All virtual machines asked for, so that all of them are told in full."""
    host = report.view.hypervisor
    return dataclasses.replace(report, asked_domains=tuple(one.key for one in host.domains) if host else ())


def assert_harmless(shown: str) -> None:
    found = {f"U+{ord(character):04X}" for character in shown if unicodedata.category(character) in HARMFUL}
    assert found <= {"U+000A"}


@settings(max_examples=50, deadline=None)
@given(POOLS, st.booleans())
def test_no_text_of_a_report_can_steer_a_terminal(pool: list[str], verbose: bool) -> None:  # noqa: FBT001 - drawn
    document = advise_text.document(poisoned(reports.everything(), cycle(pool)), verbose=verbose)

    assert_harmless(plain.write(document))
    hypervisor = all_asked(poisoned(reports.hypervisor(), cycle(pool)))
    assert_harmless(plain.write(advise_text.document(hypervisor, verbose=verbose)))
    assert plain.write(document).count("\n") < 300


@settings(max_examples=25, deadline=None)
@given(POOLS)
def test_no_text_of_a_report_can_put_its_own_codes_between_ours(pool: list[str]) -> None:
    document = advise_text.document(poisoned(reports.everything(), cycle(pool)), verbose=True)

    shown = terminal.write(document, 120)

    for code in shown.split("\x1b")[1:]:
        style, _, rest = code.partition("m")
        assert style[0] == "["
        assert style[1:].replace(";", "").isdigit()
        assert_harmless(rest)


@settings(max_examples=25, deadline=None)
@given(POOLS)
def test_no_text_of_the_doctor_can_steer_a_terminal(pool: list[str]) -> None:
    snapshot = poisoned(make.snapshot(missing=(reports.MISSING,)), cycle(pool))
    installation = doctor_report.Installation("1", "3", 0, 1, pool[0])

    assert_harmless(plain.write(doctor_report.document(installation, snapshot, doctor_report.capabilities(snapshot))))


@pytest.mark.parametrize("verbose", [False, True])
def test_a_report_with_something_in_every_part_has_every_part_once(verbose: bool) -> None:  # noqa: FBT001 - pytest's way
    lines = text(reports.everything(), verbose=verbose).splitlines()

    for heading in ("Looked for and not found", "Not judged", "Not seen, and therefore unknown"):
        assert lines.count(heading) == 1


def test_one_cpu_is_not_called_several() -> None:
    assert "1 CPU online (0)" in text(reports.report(view=make.view(make.snapshot(1, 1))))
    assert "4 CPUs online (0-3)" in text(reports.report())
