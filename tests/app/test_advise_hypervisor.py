"""advise, doctor and snapshot on a captured hypervisor and beside a captured guest."""

from __future__ import annotations

import itertools
import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.app.command import run
from tests.app.conftest import BUSY
from tests.host_trees import URI, Host, Machine, Work
from tests.trees import UUID, Guest
from tuneagent.app import guest, sampling
from tuneagent.join import GuestSeen
from tuneagent.machine.source import Captured, Source
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.snapshot import Snapshot
from tuneagent.observe import snapshot

BAD = Machine(
    "web1", 1, Work(180_000, 96_000, 40_000, 60_000, 31_000), vcpus=4, queues=None, driver="qemu", event_idx="off",
    pinned=False, agent=False,
)  # fmt: skip
GOOD = Machine("db1", 2, Work(90_000, 52_000, 6_000, 40_000, 80_000), vcpus=4, queues=4, inside=True)


def written(root: Path, host: Host) -> list[str]:
    pair = host.write(root / "t0"), host.after().write(root / "t1")
    return [word for tree in pair for word in ("--sysroot", str(tree))]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options that name two moments of a hypervisor."""
    return written(tmp_path_factory.mktemp("host"), Host((BAD, GOOD)))


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the guest of db1 wrote of itself over the same two seconds; its pair 1 is split."""
    root = tmp_path_factory.mktemp("inside")
    split = Guest(effective={"output.1": "3"})
    trees = split.write(root / "t0"), split.after(BUSY).write(root / "t1")
    assert run("snapshot", "--sysroot", trees[0], "--sysroot", trees[1], "-o", root / "guest.json").code == 0
    return root / "guest.json"


def report(*arguments: str | Path) -> dict[str, Any]:
    done = run("advise", "--json", *arguments)
    assert (done.code, done.err) == (0, "")
    value: dict[str, Any] = json.loads(done.out)
    return value


def test_a_hypervisor_is_judged_without_a_virtio_interface(host: list[str]) -> None:
    value = report(*host)

    assert (value["state"], value["nics"]) == ("findings", [])
    assert [one["name"] for one in value["hypervisor"]["domains"]] == ["web1", "db1"]
    assert value["hypervisor"]["kvm_source"] == "kvm-stats-fd"
    assert {one["subject"] for one in value["findings"]} <= {"domain web1", "domain web1 vnet1", "machine"}


def test_domain_leaves_the_others_out(host: list[str]) -> None:
    value = report(*host, "--domain", "db1")

    subjects = {one["subject"] for key in ("findings", "clear", "unjudged") for one in value[key]}
    assert any(one.startswith("domain db1") for one in subjects)
    assert not any(one.startswith("domain web1") for one in subjects)
    assert not [one for one in value["advice"] if "web1" in one["subject"]]
    assert "domain web1" not in run("advise", *host, "--domain", "db1").out


def test_a_domain_may_be_named_by_its_uuid_in_any_case_and_twice(host: list[str]) -> None:
    done = run("advise", *host, "--domain", UUID.upper(), "--domain", "db1", "--domain", "web1")

    assert done.code == 0
    assert [line for line in done.out.splitlines() if line.startswith("domain ") and "-" in line] == [
        f"domain web1 ({BAD.uuid})",
        f"domain db1 ({UUID})",
    ]


def test_an_unknown_domain_is_refused_with_those_that_there_are(host: list[str], tmp_path: Path) -> None:
    done = run("advise", *host, "--domain", "db7")
    (tmp_path / "proc").mkdir()

    assert done.refused
    assert "no domain 'db7'; there are: db1, web1" in done.err
    plain = run("advise", "--sysroot", tmp_path, "--domain", "db7")
    assert plain.refused
    assert "this is no hypervisor" in plain.err


def test_of_many_domains_the_first_twenty_are_named(tmp_path: Path) -> None:
    machines = tuple(replace(GOOD, name=f"m{number:02}", number=number, inside=False) for number in range(1, 25))
    done = run("advise", *written(tmp_path, Host(machines)), "--domain", "\x1b[2J")

    assert done.refused
    assert "m20, … 24 in all" in done.err
    assert "m21" not in done.err
    assert "\x1b" not in done.err


# The guest


def test_a_guest_s_own_snapshot_stands_beside_its_domain(host: list[str], inside: Path) -> None:
    value = report(*host, "--domain", "db1", "--guest-snapshot", inside)

    (told,) = value["guests"]
    (db1,) = [one for one in value["hypervisor"]["domains"] if one["name"] == "db1"]
    assert (told["name"], told["origin"]) == ("db1", f"snapshot {inside}")
    assert db1["guest"]["joined_by"] == "product UUID"
    assert db1["guest"]["nics"] == [{"name": "eth0", "interface": 0}]
    assert db1["guest"]["rates"]["exits_per_packet"] == pytest.approx(90_000 / 120_000, rel=0.01)
    found = {one["rule"] for one in told["report"]["findings"]}
    assert "queue-pair-split" in found
    assert "queue-pair-split" not in {one["rule"] for one in value["findings"]}
    assert {one["role"] for one in told["report"]["advice"]} == {"guest"}


def test_the_text_marks_what_the_guest_says(host: list[str], inside: Path) -> None:
    shown = run("advise", *host, "--domain", "db1", "--guest-snapshot", inside).out

    assert f"The guest of db1, by its own word: snapshot {inside}, joined by product UUID" in shown
    assert "  eth0 in the guest is vnet2 of the host" in shown


def test_a_snapshot_of_one_moment_gives_the_guest_s_configuration_and_reasons_for_the_rest(
    host: list[str], tmp_path: Path
) -> None:
    tree = Guest().write(tmp_path / "guest")
    assert run("snapshot", "--sysroot", tree, "-o", tmp_path / "one.json").code == 0

    value = report(*host, "--domain", "db1", "--guest-snapshot", tmp_path / "one.json")

    (db1,) = [one for one in value["hypervisor"]["domains"] if one["name"] == "db1"]
    rates = db1["guest"]["rates"]
    assert rates is None or all(rates[name] is None for name in rates["reasons"])
    assert value["guests"][0]["report"]["interval_s"] is None


def test_another_machine_s_snapshot_is_not_joined(host: list[str], inside: Path) -> None:
    value = report(*host, "--domain", "web1", "--guest-snapshot", inside)

    (web1,) = [one for one in value["hypervisor"]["domains"] if one["name"] == "web1"]
    assert web1["guest"]["joined_by"] is None
    assert web1["guest"]["reason"]
    assert web1["guest"]["rates"] is None


def test_another_machine_s_snapshot_judges_nothing(host: list[str], inside: Path) -> None:
    alone = report(*host, "--domain", "web1")
    beside = report(*host, "--domain", "web1", "--guest-snapshot", inside)

    assert beside["guests"] == []
    for key in ("findings", "advice", "clear"):
        assert beside[key] == alone[key]
    assert "irqbalance-in-floating-guest" in {one["rule"] for one in beside["unjudged"]}


def test_a_guest_cannot_speak_of_the_host_s_virtual_machines(host: list[str], inside: Path, tmp_path: Path) -> None:
    lying = json.loads(inside.read_text())
    told = {"connections": [{"uri": URI, "error": None, "domains": [{"state": "running", "xml": BAD.definition()}]}]}
    for sample in lying["samples"]:
        sample["captured"]["domains"] = {"value": told, "read_at_ns": 7}
        sample["directories"]["/captured"] = ["domains.json"]
        sample["directories"]["/run/libvirt"] = ["libvirt-sock"]
    (tmp_path / "lying.json").write_text(json.dumps(lying))

    value = report(*host, "--domain", "db1", "--guest-snapshot", tmp_path / "lying.json")

    (inner,) = [one["report"] for one in value["guests"]]
    said = [one for key in ("findings", "clear", "unjudged", "advice") for one in inner[key]]
    assert said
    assert not [one for one in said if one["subject"].startswith("domain ")]
    assert "libvirt" not in json.dumps([one["evidence"] for one in inner["findings"]])
    assert "domain web1" not in run("advise", *host, "--domain", "db1", "--guest-snapshot", tmp_path / "lying.json").out


def test_the_agent_of_a_captured_domain_is_never_asked(host: list[str]) -> None:
    value = report(*host, "--domain", "db1")

    assert value["guests"] == []
    assert all(one["guest"] is None for one in value["hypervisor"]["domains"])


# Exit codes


def test_what_the_guest_says_counts_for_fail_on(host: list[str], inside: Path) -> None:
    beside = [*host, "--domain", "db1"]

    assert run("advise", *beside, "--fail-on", "info").code == 0
    assert run("advise", *beside, "--guest-snapshot", inside, "--fail-on", "info").code == 6
    assert run("advise", *host, "--fail-on", "warning").code == 6


# Usage


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--connect", "qemu:///system"), "for this machine"),
        (("--allow-monitor",), "for this machine"),
        (("--guest-snapshot", "x.json"), "needs --domain"),
        (("--domain", "a", "--domain", "b", "--guest-snapshot", "x.json"), "one --guest-snapshot for each --domain"),
        (("--domain", "a", *("--guest-snapshot", "x") * 3), "two for a single one"),
    ],
)
def test_options_that_contradict_each_other_are_refused(host: list[str], options: tuple[str, ...], says: str) -> None:
    done = run("advise", *host, *options)

    assert done.refused
    assert says in done.err


def test_a_guest_snapshot_that_is_none_is_refused(host: list[str], tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text("[]")

    done = run("advise", *host, "--domain", "db1", "--guest-snapshot", tmp_path / "odd.json")

    assert done.refused
    assert "not a snapshot" in done.err


def test_a_snapshot_of_a_hypervisor_gives_the_report_of_its_trees(host: list[str], tmp_path: Path) -> None:
    assert run("snapshot", *host, "-o", tmp_path / "host.json").code == 0

    told = [report(*host), report("--snapshot", tmp_path / "host.json")]

    for one in told:
        del one["origin"], one["cost"]
    assert told[0] == told[1]
    assert run("snapshot", *host, "--connect", "qemu:///system").refused


def test_the_doctor_tells_what_it_sees_beside_virtual_machines(host: list[str]) -> None:
    value = json.loads(run("doctor", *host[:2], "--json").out)

    states = {one["name"]: one["state"] for one in value["capabilities"]}
    assert (states["virtual machines"], states["VM exits"], states["taps"]) == ("yes", "yes", "yes")


def test_a_domain_s_name_cannot_steer_the_terminal(tmp_path: Path) -> None:
    odd = replace(BAD, name="w\u202eeb")

    done = run("advise", *written(tmp_path, Host((odd,))))

    assert done.code == 0
    assert "\u202e" not in done.out
    assert "4100" in done.out


# The running machine


class Sampler:
    """A guest's agent that allows nothing, and what was done with it."""

    def __init__(self, done: list[str]) -> None:
        self.done = done

    def prepare(self) -> None:
        self.done.append("prepare")

    def sample(self) -> None:
        self.done.append("sample guest")

    def seen(self, _expected_s: float | None = None) -> GuestSeen:
        return GuestSeen("guest agent", None, "guest-exec is disabled", "allow guest-exec")


class Hypervisor(Sysroot):
    """The hypervisor of the trees as if it were this machine."""

    def __init__(self, root: str, done: list[str]) -> None:
        super().__init__(root)
        self.done = done

    def record_locks(self, seconds: float) -> None:
        self.done.append(f"record waits for {seconds:.3f} s")


@pytest.fixture
def done(host: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens, in order, where this machine is the hypervisor of the trees."""
    happened: list[str] = []

    def observe(source: Source, previous: Snapshot | None, detail: frozenset[str]) -> Snapshot:
        happened.append(f"sample host {sorted(detail)}")
        return snapshot(source, previous, detail)

    def through_agent(uri: str, uuid: str) -> Sampler:
        happened.append(f"{uri} {uuid}")
        return Sampler(happened)

    def live(**options: Any) -> Source:
        happened.append(str(options))
        return Hypervisor(host[1], happened)

    monkeypatch.setattr("tuneagent.machine.live.Live", live)
    monkeypatch.setattr(sampling, "observe", observe)
    monkeypatch.setattr(guest, "through_agent", through_agent)
    return happened


def test_host_and_guest_are_looked_at_in_turn_around_one_interval(done: list[str]) -> None:
    words = ("--interval", "0.6", "--domain", "db1", "--connect", "test:///x", "--contention", "always")
    shown = run("advise", *words).out

    recording = done.pop(6)
    assert recording.startswith("record waits for ")
    assert 0 < float(recording.split()[3]) <= 2
    looked = "sample host ['db1']"
    assert done == [
        "{'connect': ('test:///x',), 'allow_monitor': False, 'locks': True}", looked, f"{URI} {UUID}", "prepare",
        looked, "sample guest", looked, "sample guest",
    ]  # fmt: skip
    assert "The guest of db1 was not seen: guest-exec is disabled" in shown
    assert "What would help: allow guest-exec" in shown


def test_guests_are_looked_at_together(done: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)

    class Meeting(Sampler):
        def prepare(self) -> None:
            both.wait(30)  # for ever, if the other is not there yet

        def sample(self) -> None:
            both.wait(30)
            self.done.append("met")

    monkeypatch.setattr(guest, "through_agent", lambda *_: Meeting(done))

    assert run("advise", "--once", "--domain", "db1", "--domain", "web1").code == 0
    assert done.count("met") == 2


def test_a_guest_that_was_asked_and_not_seen_is_partly_measured(done: list[str]) -> None:
    assert run("advise", "--once", "--domain", "db1", "--strict").code == 5
    assert done[-1] == "sample guest"


def test_no_agent_is_asked_where_that_is_not_wanted_or_no_domain_is_named(done: list[str]) -> None:
    assert run("advise", "--once", "--domain", "db1", "--no-guest-agent").code == 0
    assert run("advise", "--once").code == 0
    assert "prepare" not in done


def test_a_name_that_is_not_there_is_refused_before_the_interval(done: list[str]) -> None:
    assert run("advise", "--interval", "60", "--domain", "db7").refused
    assert len(done) == 2


def recorded(done: list[str]) -> list[str]:
    return [one for one in done if one.startswith("record waits")]


def test_few_waits_are_counted_and_not_recorded(done: list[str]) -> None:
    assert run("advise", "--interval", "0.6").code == 0
    assert recorded(done) == []


def test_many_waits_are_recorded(done: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    captured = Hypervisor.captured
    counts = itertools.count(0, 10_000)

    def busy(self: Hypervisor, name: str) -> Captured:
        if name != "lock-contention":
            return captured(self, name)
        told = {"opened_at_ns": 1, "per_cpu": {"0": next(counts)}, "spin": "every"}
        return Captured(told, time.monotonic_ns())

    monkeypatch.setattr(Hypervisor, "captured", busy)
    assert run("advise", "--interval", "0.6").code == 0
    assert len(recorded(done)) == 1
