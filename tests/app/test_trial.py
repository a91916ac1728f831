"""trial and sweep on the running kernel: what wins stands, and whatever else happens the machine is as before."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.app.command import environment, run
from tests.app.trial_rig import FILE, THERE, Rig, namespaces, printing, until
from tests.load.serving import serving

pytestmark = pytest.mark.namespaces
QUICK = ("--round", "0.5", "--settle", "0", "--pairs-max", "6")
SLOW = ("--round", "30", "--settle", "0")
ONE_PAIR = ("--round", "0.5", "--settle", "0", "--pairs-max", "1", "--pairs-min", "1")
BUSY_PACKETS = 1000
BETTER, WORSE, SAME = "100 150", "150 100", "100 100"


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    with namespaces() as words:
        yield words


@pytest.fixture
def rig(made: tuple[tuple[str, ...], tuple[str, ...]], tmp_path: Path) -> Iterator[Rig]:
    one = Rig(*made, tmp_path)
    assert one.value() == "0"
    yield one
    one.run("rollback", "--all", "--state", tmp_path / "state")
    assert one.value() == "0"


@contextmanager
def running(rig: Rig, *arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A trial that is in a round with its changes."""
    process = subprocess.Popen(
        rig.words(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    try:
        assert until(lambda: rig.value() == "1" or process.poll() is not None)
        assert process.poll() is None, process.communicate()[1]
        yield process
    finally:
        process.kill()
        process.communicate()


def test_what_helps_is_kept_and_can_be_given_back(rig: Rig) -> None:
    done = rig.run("trial", "--plan", rig.plan(), *QUICK, *rig.places, *printing(BETTER))
    (trial,) = rig.trials()

    assert (done.code, done.err) == (0, "")
    assert re.match(r"Keep: value \+(49\.\d|50|50\.\d) % \(95 % interval", done.out)
    assert (trial["verdict"]["decision"], trial["kept"], trial["state"]) == ("keep", True, "done")
    assert trial["verdict"]["primary"]["low_percent"] > 40
    assert rig.value() == "1"
    standing = [one for one in rig.status()["transactions"] if one["stands"]]
    assert [(one["id"], one["confirmed"], one["on_trial"]) for one in standing] == [(trial["transaction"], True, False)]
    assert rig.run("rollback", str(trial["transaction"]), "--state", rig.scratch / "state").code == 0
    assert rig.value() == "0"


def test_what_harms_is_taken_back(rig: Rig) -> None:
    done = rig.run("trial", "--plan", rig.plan(), *QUICK, *rig.places, *printing(WORSE))
    (trial,) = rig.trials()

    assert (done.code, done.out.split(":")[0]) == (0, "Revert")
    assert (trial["verdict"]["decision"], trial["kept"]) == ("revert", False)
    assert rig.value() == "0"


def test_of_two_equal_states_nothing_is_kept(rig: Rig) -> None:
    done = rig.run("trial", "--plan", rig.plan(), *QUICK, "--threshold", "1", *rig.places, *printing(SAME))
    (trial,) = rig.trials()

    assert (done.code, trial["verdict"]["decision"], trial["kept"]) == (0, "undecided", False)
    assert {one["arm"] for one in trial["rounds"]} == {"a", "b"}
    assert rig.value() == "0"
    assert not any(one["stands"] for one in rig.status()["transactions"])


def test_a_winner_is_not_kept_where_nobody_wants_it(rig: Rig) -> None:
    done = rig.run("trial", "--plan", rig.plan(), *QUICK, "--keep", "never", *rig.places, *printing(BETTER))

    assert (done.code, rig.trials()[0]["verdict"]["decision"], rig.value()) == (0, "keep", "0")


def test_killed_in_a_round_all_is_as_before(rig: Rig) -> None:
    with running(rig, "trial", "--plan", rig.plan(), *SLOW, *rig.places, *printing(SAME)) as process:
        told = rig.run("status", "--state", rig.scratch / "state").out
        process.kill()

        assert told.startswith("A trial runs: transaction 1 is what it tries")
        assert until(lambda: rig.value() == "0")
    assert until(lambda: rig.status()["transactions"][0]["state"] == "undone")
    assert "Interrupted" in rig.run("report", "1", "--store", rig.scratch / "trials.db").out


@pytest.mark.parametrize(
    ("change", "name", "back"),
    [
        ("ip link set v0 address 02:00:00:00:00:77", "v0", "ip link set v0 address {mac}"),
        ("ip link set v0 down; ip link set v0 name w0; ip link set w0 up", "w0",
         "ip link set w0 down; ip link set w0 name v0; ip link set v0 up"),
    ],
    ids=("mac", "name"),
)  # fmt: skip
def test_an_interface_that_is_called_otherwise_meanwhile_gets_its_values_back(
    rig: Rig, change: str, name: str, back: str
) -> None:
    mac = rig.value("/sys/class/net/v0/address")
    with running(rig, "trial", "--plan", rig.plan(), *SLOW, *rig.places, *printing(SAME)) as process:
        subprocess.run([*rig.inside, "sh", "-c", change], check=True)
        process.kill()
        gone = until(lambda: rig.value(f"/sys/class/net/{name}/queues/rx-0/rps_cpus") == "0")
    subprocess.run([*rig.inside, "sh", "-c", back.format(mac=mac)], check=True)
    assert gone


def test_where_its_journal_is_removed_it_says_what_to_do_by_hand(rig: Rig) -> None:
    with running(rig, "trial", "--plan", rig.plan(), *SLOW, *rig.places, *printing(SAME)) as process:
        shutil.rmtree(rig.scratch / "state")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    stands = rig.value()
    line = f"echo 0 > {FILE}"
    subprocess.run([*rig.inside, "sh", "-c", line], check=True)

    assert (process.returncode, stands) == (143, "1")
    assert f"by hand, as root: {line}" in err


def test_a_plan_for_other_values_is_refused(rig: Rig) -> None:
    plan = rig.plan()
    written = json.loads(plan.read_text())
    written["changes"][0]["old"] = "3"
    plan.write_text(json.dumps(written))
    done = rig.run("trial", "--plan", plan, *QUICK, *rig.places, *printing(BETTER))

    assert done.code == 2
    assert "the plan says '3', and '0' stands there; nothing was changed" in done.err
    assert rig.trials() == []


def test_a_sweep_of_what_the_driver_does_not_have_is_a_failure(rig: Rig) -> None:
    words = ("sweep", "rings=256,512", "--on", "v0", "--round", "0.5", "--settle", "0", "--blocks", "2")
    done = rig.run(*words, *rig.places, *printing(SAME))

    assert done.code == 1
    assert "not supported" in done.out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_in_a_round_all_is_as_before(rig: Rig, number: signal.Signals, code: int) -> None:
    with running(rig, "trial", "--plan", rig.plan(), *SLOW, *rig.places, *printing(SAME)) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out) == (code, "")
    assert err == f"interrupted by {number.name}; the machine is as before\n"
    (trial,) = rig.trials()
    assert (trial["state"], trial["kept"], trial["why"]) == ("failed", False, f"interrupted by {number.name}")
    assert rig.value() == "0"


def test_a_server_that_dies_in_a_round_fails_the_trial(rig: Rig) -> None:
    with serving(rig.scratch, address=THERE, before=rig.there) as server:
        load = ("--load", "tcp-rr", "--to", f"{THERE}:{server.port}", "--token-file", rig.scratch / "token")
        with running(rig, "trial", "--plan", rig.plan(), *SLOW, *rig.places, *load) as process:
            server.process.kill()
            out, err = process.communicate(timeout=60)
    (trial,) = rig.trials()

    assert (process.returncode, err) == (1, "")
    assert out.startswith("Failed, and the machine is as before: the load: ")
    assert (trial["state"], trial["verdict"], trial["kept"]) == ("failed", None, False)
    assert trial["why"].startswith("the load: ")
    assert rig.value() == "0"


def test_transactions_of_a_real_load_are_in_the_record(rig: Rig) -> None:
    with serving(rig.scratch, address=THERE, before=rig.there) as server:
        load = ("--load", "tcp-rr", "--to", f"{THERE}:{server.port}", "--token-file", rig.scratch / "token")
        few = ("--round", "0.5", "--settle", "0", "--pairs-max", "1", "--pairs-min", "1")
        done = rig.run("trial", "--plan", rig.plan(), *few, *rig.places, *load)
    (trial,) = rig.trials()

    assert done.code == 0
    assert [one["arm"] for one in trial["rounds"]] in (["a", "b"], ["b", "a"])
    assert all(one["metrics"]["transactions_per_sec"] > 100 for one in trial["rounds"])
    assert all(one["metrics"]["packets_per_sec"] > 100 for one in trial["rounds"])
    assert trial["question"]["load"]["cpus"]
    assert "the load's processes" in trial["facts"]


def test_without_a_load_somebody_elses_traffic_decides(rig: Rig) -> None:
    with serving(rig.scratch, address=THERE, before=rig.there) as server:
        reach = ("--to", f"{THERE}:{server.port}", "--token-file", rig.scratch / "token")
        words = rig.words("load", "run", *reach, "--seconds", "60")
        traffic = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        try:
            assert until(lambda: int(rig.value("/sys/class/net/v0/statistics/tx_packets")) > BUSY_PACKETS)
            passive = ("--load", "passive", "--primary", "bits_per_sec")
            done = rig.run("trial", "--plan", rig.plan(), *ONE_PAIR, *rig.places, *passive)
        finally:
            traffic.kill()
            traffic.communicate()
    assert (done.code, done.err) == (0, "")
    (trial,) = rig.trials()
    assert (trial["question"]["primary"], trial["question"]["better"]) == ("bits_per_sec", "up")
    for one in trial["rounds"]:
        assert one["metrics"]["bits_per_sec"] > 8 * 64 * one["metrics"]["packets_per_sec"] / 2
        assert one["metrics"]["segments_per_sec"] > 100
        assert "transactions_per_sec" in one["missing"]


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_bulk_data_decides_by_its_bits(rig: Rig) -> None:
    serve = subprocess.Popen(
        [*rig.there, "iperf3", "-s", "-B", THERE, "-p", "5201"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        listens = [*rig.there, "ss", "-Hltn", "sport = 5201"]
        assert until(lambda: bool(subprocess.run(listens, capture_output=True, check=True).stdout))
        load = ("--load", "iperf3", "--to", f"{THERE}:5201", "--connections", "1")
        done = rig.run("trial", "--plan", rig.plan(), "--round", "1", *ONE_PAIR[2:], *rig.places, *load)
    finally:
        serve.kill()
        serve.communicate()
    (trial,) = rig.trials()

    assert done.code == 0, done.err
    assert (trial["question"]["primary"], trial["question"]["better"]) == ("bits_per_sec", "up")
    assert all(one["metrics"]["bits_per_sec"] > 1e6 for one in trial["rounds"])
    assert "throughput" in done.out


def test_somebody_else_s_change_in_a_round_fails_the_trial_and_is_left(rig: Rig) -> None:
    with running(rig, "trial", "--plan", rig.plan(), "--round", "3", "--settle", "0", *rig.places,
                 *printing(SAME)) as process:  # fmt: skip
        subprocess.run([*rig.inside, "sh", "-c", "echo 2 > /sys/class/net/v0/queues/rx-0/rps_cpus"], check=True)
        out, _ = process.communicate(timeout=60)

    assert process.returncode == 1
    assert "changed since" in out
    assert rig.value() == "2"
    subprocess.run([*rig.inside, "sh", "-c", "echo 0 > /sys/class/net/v0/queues/rx-0/rps_cpus"], check=True)


def test_a_record_that_somebody_removes_in_a_round_is_told_to_be_lost(rig: Rig) -> None:
    with running(rig, "trial", "--plan", rig.plan(), "--round", "3", "--settle", "0", *rig.places,
                 *printing(BETTER)) as process:  # fmt: skip
        (rig.scratch / "trials.db").unlink()
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out) == (1, "")
    assert err.endswith("this trial is not in it; the trial has ended, the machine is as before\n")
    assert rig.value() == "0"


def test_a_sweep_finds_the_knee_and_gives_the_machine_back(rig: Rig) -> None:
    file = "/sys/class/net/v0/napi_defer_hard_irqs"
    count = f"case $(cat {file}) in 0) n=100;; 2) n=150;; *) n=149;; esac; "
    program = f"{count}sleep $TUNEAGENT_SECONDS; echo $((n * 1000 + $(od -An -N2 -tu2 /dev/urandom) / 16))"
    load = ("--load", "command", "--", "sh", "-c", program)
    rounds = ("--round", "0.5", "--settle", "0", "--blocks", "6")
    done = rig.run("sweep", "napi_defer_hard_irqs=0,2,10", "--on", "v0", *rounds, *rig.places, *load)

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("The knee of value over napi_defer_hard_irqs is at 2.\n")
    assert rig.value(file) == "0"
    assert [(one["question"]["policy"], one["verdict"]["decision"], one["kept"]) for one in rig.trials()] == [
        ("sweep napi_defer_hard_irqs=2", "keep", False),
        ("sweep napi_defer_hard_irqs=10", "keep", False),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--load", "tcp-rr", "--to", "192.0.2.1:7"), "needs the server's --token-file"),
        (("--load", "tcp-rr"), "needs --to ADDRESS:PORT"),
        (("--load", "command"), "needs the command itself"),
        (("--load", "passive", "--pairs-min", "9", "--pairs-max", "8"), "--pairs-min is more than --pairs-max"),
        (("--load", "passive", "--", "x"), "takes no further words"),
        (("--load", "passive", "--settle", "nan"), "nan"),
        (("--load", "passive", "--threshold", "nan"), "nan"),
        (("--load", "passive", "--round", "inf"), "inf"),
        (("--load", "passive", "--primary", ""), "--primary names no metric"),
        ((), "Missing option '--load'"),
    ],
)
def test_what_makes_no_trial_is_refused_in_a_line(arguments: tuple[str, ...], said: str) -> None:
    done = run("trial", "rps-off", *arguments)

    assert done.refused
    assert said in done.err


@pytest.mark.parametrize("name", ["trial", "tune", "sweep"])
def test_the_help_tells_both_codes_of_an_interrupt(name: str) -> None:
    """SIGTERM's is another than that of Ctrl-C."""
    assert "130 or 143 interrupted" in " ".join(run(name, "--help").out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tune", "--budget", "nan"), "'nan' is no number"),
        (("tune", "--budget", "inf"), "inf is not in the range"),
        (("tune", "--settle", "nan"), "'nan' is no number"),
        (("tune", "--threshold", "nan"), "'nan' is no number"),
        (("tune", "--primary", ""), "--primary names no metric"),
        (("sweep", "channels=1,2", "--settle", "nan"), "'nan' is no number"),
        (("sweep", "channels=1,2", "--primary", ""), "--primary names no metric"),
    ],
    ids=str,
)
def test_tune_and_sweep_refuse_it_in_a_line_too(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = run(*words, "--load", "passive", "--state", tmp_path, "--store", tmp_path / "trials.db")

    assert done.refused
    assert said in done.err


def test_a_sweep_of_no_values_is_refused_in_a_line() -> None:
    done = run("sweep", "channels=1,x", "--load", "passive")

    assert (done.code, done.out) == (2, "")
    assert "'x' is no number" in done.err
