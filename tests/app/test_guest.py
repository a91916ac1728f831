"""This machine seen through an agent that runs the fixed commands here, held against this machine seen directly."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.machine.guests import EXEC, FILES, Guest, Lying, encoded, ended
from tuneagent.app import guest
from tuneagent.app.guest import GuestSampler
from tuneagent.app.inputs import SNAPSHOT_SCHEMA, InputError
from tuneagent.machine.guest_agent import ALLOW, JsonTransport, Transport
from tuneagent.machine.live import Live
from tuneagent.machine.recording import Recording
from tuneagent.model.missing import Reason
from tuneagent.model.nic import Nic
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.view import View
from tuneagent.observe import snapshot as observe


def sampled(transport: Transport) -> GuestSampler:
    sampler = GuestSampler(lambda: transport)
    sampler.prepare()
    sampler.sample()
    sampler.sample()
    return sampler


def view(transport: Transport) -> View:
    seen = sampled(transport).seen()
    assert seen.reason is None
    assert seen.view is not None
    return seen.view


def reason(transport: Transport) -> str:
    seen = sampled(transport).seen()
    assert seen.view is None
    assert seen.reason is not None
    assert seen.reason.isprintable()
    assert len(seen.reason) < 500
    return seen.reason


def still(nic: Nic) -> Nic:
    """What files tell of an interface and does not move."""
    asked = ("link", "channels", "rings", "coalesce", "offloads", "statistics", "queue_statistics")
    unknown: dict[str, Any] = dict.fromkeys(asked)
    if nic.bus_address is None:
        unknown["driver"] = None  # ethtool's word; files tell of devices only
    return replace(nic, **unknown, queue_statistics_read_at_ns=None, driver_statistics={})


def labels(seen: Snapshot) -> list[tuple[str, tuple[str, ...]]]:
    assert seen.interrupts is not None
    return [(row.label, row.actions) for row in seen.interrupts.rows]


def test_through_commands_the_same_is_seen_as_directly() -> None:
    seen, direct = view(Guest()).after, observe(Live())
    assert seen.identity == direct.identity
    assert seen.cpus == direct.cpus
    assert seen.virtio == direct.virtio
    assert [(one.irq, one.affinity, one.movable) for one in seen.irqs or ()] == [
        (one.irq, one.affinity, one.movable) for one in direct.irqs or ()
    ]
    assert labels(seen) == labels(direct)
    assert [still(nic) for nic in seen.nics or ()] == [still(nic) for nic in direct.nics or ()]
    assert [nic.statistics is None for nic in seen.nics or ()] == [nic.statistics is None for nic in direct.nics or ()]
    assert seen.irqbalance is not None
    assert direct.irqbalance is not None
    assert seen.irqbalance.running == direct.irqbalance.running
    for part in ("softnet", "softirqs", "cpu_times", "protocols"):
        assert (getattr(seen, part) is None) == (getattr(direct, part) is None)


def test_counters_lie_between_those_read_directly_before_and_after() -> None:
    before, seen, after = observe(Live()).cpu_times, view(Guest()).after.cpu_times, observe(Live()).cpu_times
    assert before is not None
    assert seen is not None
    assert after is not None
    for low, mid, high in zip(before.rows, seen.rows, after.rows, strict=True):
        assert low.user + low.system <= mid.user + mid.system <= high.user + high.system


def test_what_the_agent_cannot_tell_is_listed_as_that() -> None:
    gaps = {gap.source: gap.reason for gap in view(Guest()).missing}
    assert gaps["ethtool"] is Reason.NOT_CAPTURED


def test_a_sample_takes_few_commands() -> None:
    behind = Guest()
    sampler = GuestSampler(lambda: behind)
    sampler.prepare()
    learnt = len(behind.asked)
    sampler.sample()
    assert len(behind.asked) - learnt < 30
    assert sampler.origin == "guest agent (guest-exec)"


@pytest.mark.parametrize("behind", [Guest(allowed=FILES), Guest(programs=frozenset())])
def test_without_commands_files_are_read_one_by_one(behind: Guest) -> None:
    sampler = sampled(behind)
    seen = sampler.seen()
    assert seen.view is not None
    assert seen.origin == "guest agent (guest-file-read)"
    direct = observe(Live())
    assert labels(seen.view.after) == labels(direct)
    assert seen.view.after.virtio == direct.virtio
    assert [nic.name for nic in seen.view.after.nics or ()] == [nic.name for nic in direct.nics or ()]
    of_files = [gap for gap in seen.view.missing if gap.source.startswith("/")]
    details = [gap.detail for gap in of_files if gap.reason is Reason.NOT_CAPTURED]
    assert len(details) == len(set(details))


def test_an_agent_that_allows_neither_is_told_with_the_remedy() -> None:
    seen = sampled(Guest(allowed=("guest-exec", "guest-file-open"))).seen()
    assert seen.reason == ("the guest's agent does not allow guest-exec-status, guest-file-close, guest-file-read")
    assert seen.remedy == ALLOW


def pids_that_change() -> Callable[[Any, Any], Any]:
    """Every listing of /proc shows other processes, and all of them are irqbalance until they are looked at again."""
    count = itertools.count(1)

    def answer(_arguments: Any, truth: Any) -> Any:
        status = truth()
        pids = b"".join(b"/proc\0%d\0d\x00555\0" % (1000 * next(count) + number) for number in range(50))
        out = b"/proc\0\0d\x00555\0/proc\x001\0d\x00555\0" + pids
        known = base64.b64decode(status["out-data"])
        return status | {"out-data": encoded(known + out)} if b"/proc\0" in known else status

    return answer


HOSTILE: dict[str, dict[str, Callable[[Any, Any], Any]]] = {
    "no information": {"guest_info": lambda *_: {}},
    "commands without end": {"guest_info": lambda *_: {"supported_commands": [{"name": "x"}] * 200_000}},
    "depth": {"guest_info": lambda *_: json.loads('{"a":' * 90 + "1" + "}" * 90)},
    "a huge number": {"guest_exec": lambda *_: {"pid": 10**400}},
    "base64 that is none": {"guest_exec_status": lambda *_: ended() | {"out-data": "\x1b[2J"}},
    "a flood": {"guest_exec_status": lambda *_: ended() | {"out-data": "eHh4" * 25_000_000}},
    "a flood of small answers": {"guest_exec_status": lambda _, truth: truth() | {"err-data": "eHh4" * 500_000}},
    "a cut": {"guest_exec_status": lambda _, truth: truth() | {"out-truncated": True}},
    "killed": {"guest_exec_status": lambda *_: {"exited": True, "signal": 9}},
}


@pytest.mark.parametrize("lies", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_guest_gets_one_clear_line(lies: dict[str, Callable[[Any, Any], Any]]) -> None:
    assert reason(Lying(Guest(allowed=EXEC), **lies))


def test_a_guest_without_gnu_programs_and_without_files_is_told_both() -> None:
    said = reason(Guest(allowed=EXEC, programs=frozenset()))
    assert said.startswith("the guest lacks GNU grep and find, and the guest's agent does not allow guest-file-close")


@pytest.mark.parametrize("text", ["\0\xff garbage", '{"return": ' * 5000, '{"return": {"supported_commands": 1e999}}'])
def test_garbage_gets_one_clear_line(text: str) -> None:
    assert "garbled" in reason(JsonTransport(lambda *_: text))


def test_a_guest_whose_processes_change_is_seen_all_the_same() -> None:
    seen = view(Lying(Guest(allowed=EXEC), guest_exec_status=pids_that_change()))
    assert seen.after.cpus is not None


def test_lies_spoil_what_they_are_about_only() -> None:
    def lie(_arguments: Any, truth: Any) -> Any:
        status = truth()
        out = base64.b64decode(status["out-data"])
        if b"ostype" in out:  # it passes for a guest that can be looked into
            return status
        lied = out.replace(b"/proc/softirqs\0", b"/proc/softirqs\0\x1b[2J").replace(b"\0eth0\0", b"\0\x1b]0;x\x07\0")
        return status | {"out-data": encoded(lied + b"/etc/shadow\0root\n")}

    seen = view(Lying(Guest(allowed=EXEC), guest_exec_status=lie)).after
    assert seen.softirqs is None
    assert seen.interrupts is not None
    assert all(nic.name.isprintable() for nic in seen.nics or ())


def test_after_a_failure_the_guest_is_left_alone() -> None:
    behind = Guest()
    sampler = GuestSampler(lambda: Lying(behind, guest_info=lambda *_: "no"))
    sampler.prepare()
    sampler.sample()
    seen = sampler.seen()
    assert behind.asked == []
    assert (seen.view, seen.origin) == (None, "guest agent")


def test_a_guest_that_stops_between_the_samples_is_told() -> None:
    stopped = False

    def information(_arguments: Any, truth: Any) -> Any:
        return [] if stopped else truth()

    sampler = GuestSampler(lambda: Lying(Guest(), guest_exec=information))
    sampler.prepare()
    sampler.sample()
    stopped = True
    sampler.sample()
    seen = sampler.seen()
    assert (seen.view, seen.reason) == (None, "the guest's answer to guest-exec is garbled: an object is expected")


def file_of(path: Path, samples: int) -> Path:
    recording = Recording(Live())
    observe(recording)
    first = recording.sample()
    later = {name: ns + 2 * 10**9 for name, ns in first["clock"].items()}
    document = {"schema": SNAPSHOT_SCHEMA, "samples": [first, *[first | {"clock": later}] * (samples - 1)]}
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(("samples", "interval"), [(1, None), (2, 2.0)])
def test_a_snapshot_file_stands_for_the_guest(tmp_path: Path, samples: int, interval: float | None) -> None:
    file = file_of(tmp_path / "guest.json", samples)
    seen = guest.from_snapshot([file])
    assert seen.origin == f"snapshot {file}"
    assert seen.view is not None
    assert seen.view.interval_s == interval


def test_three_samples_are_no_interval(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="3 samples"):
        guest.from_snapshot([file_of(tmp_path / "guest.json", 3)])


def test_a_domain_of_a_libvirt_that_is_not_there_is_told_and_not_raised(tmp_path: Path) -> None:
    sampler = guest.through_agent(f"qemu+unix:///system?socket={tmp_path}/none", "00000000-0000-4000-8000-000000000001")
    sampler.prepare()
    sampler.sample()
    seen = sampler.seen()
    assert seen.view is None
    assert seen.reason
    assert seen.remedy
