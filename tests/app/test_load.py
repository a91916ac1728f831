"""``tuneagent load``: serve and run as processes, what they print, and what is refused."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.app.command import process, run, start
from tests.load.serving import TOKEN, Serving, serving
from tests.report.test_advise_json import assert_documented, walk


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("load")


@pytest.fixture(scope="module")
def server(scratch: Path) -> Iterator[Serving]:
    with serving(scratch) as one:
        yield one


@pytest.fixture
def to(server: Serving, scratch: Path) -> list[str]:
    """What leads to the server, token and all."""
    return ["--to", f"{server.address}:{server.port}", "--token-file", str(scratch / "token"), "--warm-up", "0"]


def token_file(directory: Path, text: str = TOKEN, mode: int = 0o600) -> Path:
    file = directory / "other-token"
    file.write_text(text)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("kind", ["tcp-rr", "udp-rr"])
def test_a_run_tells_its_rate_first(kind: str, to: list[str]) -> None:
    done = process("load", "run", *to, "--kind", kind, "--seconds", "0.2", "--connections", "2", "--burst", "3")

    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert re.fullmatch(r"[\d,.]+ transactions/s over 0\.2 s", lines[0])
    assert f"{kind} to 127.0.0.1:" in lines[1]
    assert "2 connections" in lines[1]
    assert "p99.99" in done.out


@pytest.mark.parametrize("wishes", [[], ["--rate", "300", "--connections", "2"]], ids=str)
def test_every_key_of_the_json_is_documented(wishes: list[str], to: list[str]) -> None:
    done = process("load", "run", *to, "--json", "--seconds", "0.3", *wishes)

    said = json.loads(done.out)
    seen = assert_documented("tuneagent.load/1", walk(said))
    assert "latency.percentiles[].ns" in seen
    counts = said["latency"]["buckets"]
    assert sum(count for _, _, count in counts) == said["latency"]["count"] > 0
    assert said["per_sec"] == pytest.approx(said["transactions"] / 0.3, rel=1e-6)


def test_a_command_needs_no_server() -> None:
    done = process("load", "run", "--kind", "command", "--json", "--", "sh", "-c", "echo 12.5 Gbit/s")

    said = json.loads(done.out)
    assert_documented("tuneagent.load/1", walk(said))
    assert (said["value"], said["per_sec"], said["transactions"], said["latency"]) == (12.5, 12.5, None, None)


def test_a_server_that_makes_its_token_prints_it(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    serve = start(
        "load", "serve", "--listen", "127.0.0.1", "--token-file", "-", "--idle", "0", stdout=pipe, stderr=pipe
    )
    assert serve.stdout is not None
    place, word = serve.stdout.readline().split()[-1], serve.stdout.readline().split()[-1]

    done = process("load", "run", "--to", place, "--token-file", token_file(tmp_path, word), "--seconds", "0.1")

    assert done.code == 0
    out, err = serve.communicate(timeout=30)
    assert (serve.returncode, out, err) == (0, "ended: its client has gone\n", "")


def test_a_server_ends_in_time() -> None:
    done = process("load", "serve", "--listen", "127.0.0.1", "--token-file", "-", "--for", "0.2")

    assert done.code == 0
    assert done.out.endswith("ended: its time was over\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_server_and_its_processes(number: signal.Signals, tmp_path: Path) -> None:
    with serving(tmp_path, "--processes", "2") as server:
        workers = server.workers()
        os.kill(server.process.pid, number)
        code, _, err = server.ended()
        assert code in {130, -number}
        assert "Traceback" not in err
        assert psutil.wait_procs(workers, timeout=20)[1] == []


def test_ctrl_c_ends_a_run_in_one_line(to: list[str]) -> None:
    client = start("load", "run", *to, "--seconds", "60", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        client.communicate(timeout=2)
    except subprocess.TimeoutExpired:
        client.send_signal(signal.SIGINT)
    out, err = client.communicate(timeout=30)

    assert (client.returncode, out) == (130, "")
    assert err == "interrupted; nothing was changed\n"


def test_another_token_is_one_line(to: list[str], tmp_path: Path) -> None:
    to[3] = str(token_file(tmp_path, "quite-another-token"))
    done = run("load", "run", *to, "--seconds", "0.1")

    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "knows another token" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["run", "--to", "127.0.0.1:5"],
        ["run", "--to", "127.0.0.1", "--token-file", "TOKEN"],
        ["run", "--to", "127.0.0.1:99999", "--token-file", "TOKEN"],
        ["run", "--to", "::1:5", "--token-file", "TOKEN"],
        ["run", "--to", "a b:5", "--token-file", "TOKEN"],
        ["run", "--to", ":5", "--token-file", "TOKEN"],
        ["run", "--to", "127.0.0.1:5", "--token-file", "TOKEN", "--", "word"],
        ["run", "--to", "127.0.0.1:5", "--token-file", "TOKEN", "--cpus", "3-1"],
        ["run", "--to", "127.0.0.1:5", "--token-file", "TOKEN", "--connections", "0"],
        ["run", "--to", "127.0.0.1:5", "--token-file", "TOKEN", "--seconds", "nan"],
        *(
            ["run", "--to", "127.0.0.1:5", "--token-file", "TOKEN", option, value]
            for option in ("--warm-up", "--rate")
            for value in ("nan", "inf", "-1")
        ),
        ["run", "--to", "127.0.0.1:5", "--token-file", "TOKEN", "--rate", "1e-320"],
        ["run", "--to", "127.0.0.1:5", "--token-file", "TOKEN", "--kind", "passive"],
        ["run", "--to", "127.0.0.1:5", "--token-file", "/nonexistent"],
        ["run", "--to", "127.0.0.1:5", "--token-file", "/"],
        ["run", "--to", "127.0.0.1:5", "--token-file", "/dev/null"],
        ["run", "--kind", "iperf3"],
        ["serve", "--token-file", "TOKEN"],
        ["serve", "--listen", "127.0.0.1"],
        ["serve", "--listen", "127.0.0.1", "--token-file", "TOKEN", "--processes", "0"],
        ["serve", "--listen", "127.0.0.1", "--token-file", "TOKEN", "--port", "70000"],
        ["serve", "--listen", "127.0.0.1", "--token-file", "TOKEN", "--for", "0"],
        ["serve", "--listen", "127.0.0.1", "--token-file", "TOKEN", "--idle", "-1"],
        ["serve", "--listen", "127.0.0.1", "--token-file", "TOKEN", "--idle", "nan"],
        ["serve", "--listen", "127.0.0.1", "--token-file", "TOKEN", "--for", "nan"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_line(words: list[str], tmp_path: Path) -> None:
    file = str(token_file(tmp_path))
    done = run("load", *(file if word == "TOKEN" else word for word in words))

    assert done.refused, done


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        (TOKEN, 0o640, "others may read or write it"),
        (TOKEN, 0o602, "others may read or write it"),
        ("short", 0o600, "a token is one word"),
        ("", 0o600, "a token is one word"),
        ("two words of a token", 0o600, "a token is one word"),
        ("ein-längeres-Kennwort", 0o600, "a token is one word"),
        ("control-\x1b[2J-characters", 0o600, "a token is one word"),
        ("x" * 300, 0o600, "a token is one word"),
    ],
)
def test_a_token_file_is_its_owners_and_holds_one_word(text: str, mode: int, said: str, tmp_path: Path) -> None:
    done = run("load", "serve", "--listen", "127.0.0.1", "--token-file", token_file(tmp_path, text, mode))

    assert done.refused
    assert said in done.err


def test_a_pipe_that_nobody_writes_to_is_no_token(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)

    assert run("load", "serve", "--listen", "127.0.0.1", "--token-file", tmp_path / "pipe").refused
