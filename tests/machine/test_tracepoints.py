"""Tracepoints of this kernel, found without a trace, and what is said where they are not."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.machine.contending import needs_counting
from tuneagent.machine import tracepoints
from tuneagent.machine.tracepoints import CONTENTION_BEGIN, Wanted
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason
from tuneagent.parse.tracepoint_format import Format


def format_text(wanted: Wanted, number: int) -> str:
    fields = "".join(
        f"\tfield:{'__data_loc char[]' if 0 in sizes else 'unsigned'} {name};\toffset:{8 * place};\t"
        f"size:{max(sizes) or 4};\tsigned:0;\n"
        for place, (name, sizes) in enumerate(wanted.fields.items(), 1)
    )
    return f'name: {wanted.name}\nID: {number}\nformat:\n{fields}\nprint fmt: ""\n'


@pytest.fixture
def tracefs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is mounted as tracefs, as far as the file of mounts tells."""
    for number, wanted in enumerate(tracepoints.ALL, 100):
        file = tmp_path / wanted.path
        file.parent.mkdir(parents=True)
        file.write_text(format_text(wanted, number))
    mounts = tmp_path / "mounts"
    mounts.write_text(f"proc /proc proc rw 0 0\nnodev {tmp_path} tracefs rw 0 0\n")
    monkeypatch.setattr(tracepoints, "MOUNTS", str(mounts))
    tracepoints.formats.cache_clear()
    return tmp_path


@pytest.fixture(autouse=True)
def forgotten() -> None:
    tracepoints.formats.cache_clear()


def test_where_tracefs_is_mounted(tracefs: Path) -> None:
    assert tracefs.exists()
    found = tracepoints.formats()
    assert {name: one.id for name, one in found.items() if isinstance(one, Format)} == {
        "contention_begin": 100,
        "contention_end": 101,
        "irq_handler_entry": 102,
        "irq_handler_exit": 103,
        "net_dev_start_xmit": 104,
    }


def refusal(wanted: Wanted = CONTENTION_BEGIN) -> SourceError:
    with pytest.raises(SourceError) as caught:
        tracepoints.needed(wanted)
    return caught.value


def test_an_older_kernel(tracefs: Path) -> None:
    (tracefs / CONTENTION_BEGIN.path).unlink()
    error = refusal()
    assert error.reason is Reason.ABSENT
    assert error.detail == "the kernel has no tracepoint lock:contention_begin (Linux 5.19)"
    assert isinstance(tracepoints.formats()["contention_end"], Format)


def test_a_format_that_differs(tracefs: Path) -> None:
    text = format_text(CONTENTION_BEGIN, 5).replace("size:8", "size:16", 1)
    (tracefs / CONTENTION_BEGIN.path).write_text(text)
    error = refusal()
    assert (error.reason, error.source) == (Reason.MALFORMED, f"/sys/kernel/tracing/{CONTENTION_BEGIN.path}")
    assert error.detail == "lock_addr of 'contention_begin' has 16 bytes, not 4 bytes or 8 bytes"


@pytest.mark.skipif(os.geteuid() != 0, reason="changes its user")
def test_a_tracefs_that_is_closed_to_others(tracefs: Path) -> None:
    (tracefs / CONTENTION_BEGIN.path).chmod(0)
    for directory in (tracefs, *list(tracefs.parents)[:2]):
        directory.chmod(directory.stat().st_mode | 0o011)  # pytest's own directories are for their owner alone
    code = (
        "import os, sys\n"
        "from tuneagent.machine import tracepoints\n"
        "from tuneagent.model.errors import SourceError\n"
        "tracepoints.MOUNTS = sys.argv[1]\n"
        "os.setuid(65534)\n"
        "try:\n tracepoints.needed(tracepoints.CONTENTION_BEGIN)\n"
        "except SourceError as error:\n print(error.reason, error.detail, error.remedy, sep='|')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tracefs / "mounts")], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("permission|Permission denied|run as root (CAP_PERFMON")


def unmounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mounts").write_text("proc /proc proc rw 0 0\n")
    monkeypatch.setattr(tracepoints, "MOUNTS", str(tmp_path / "mounts"))


@needs_counting
def test_nothing_is_mounted_on_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unmounted(tmp_path, monkeypatch)
    before = Path("/proc/self/mounts").read_text()
    if " tracefs " in before:
        pytest.skip("tracefs is mounted here: a second look at it is none of a machine without it")
    found = tracepoints.needed(CONTENTION_BEGIN)
    assert found.name == "contention_begin"
    assert Path("/proc/self/mounts").read_text() == before


def test_a_user_who_may_not_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unmounted(tmp_path, monkeypatch)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(tracepoints, "TRACEFS", str(tmp_path))
    error = refusal()
    assert (error.reason, error.detail) == (Reason.PERMISSION, "tracefs is not mounted")
    assert "CAP_SYS_ADMIN to mount tracefs" in str(error.remedy)


def test_a_kernel_without_tracefs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unmounted(tmp_path, monkeypatch)
    monkeypatch.setattr(tracepoints, "TRACEFS", "/none")
    assert refusal().reason is Reason.ABSENT


@pytest.mark.parametrize(
    ("script", "reason", "words"),
    [
        (
            "echo mount: not permitted >&2; exit 32",
            Reason.PERMISSION,
            "cannot be in a namespace of our own: mount: not",
        ),
        ("sleep 60", Reason.FAILED, "did not end within 0.2 s"),
        (None, Reason.FAILED, "unshare: No such file or directory"),
    ],
)
def test_a_namespace_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, reason: Reason, words: str
) -> None:
    unmounted(tmp_path, monkeypatch)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(tracepoints, "TRACEFS", str(tmp_path))
    monkeypatch.setattr(tracepoints, "TIMEOUT_S", 0.2 if script == "sleep 60" else 5.0)
    monkeypatch.setitem(tracepoints.ENVIRONMENT, "PATH", f"{tmp_path}:/usr/bin:/bin" if script else str(tmp_path))
    if script is not None:
        (tmp_path / "unshare").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "unshare").chmod(0o755)
    error = refusal()
    assert error.reason is reason
    assert words in error.detail


def test_too_few_descriptors_for_a_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unmounted(tmp_path, monkeypatch)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(tracepoints, "TRACEFS", str(tmp_path))

    def none_left(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("subprocess.Popen", none_left)
    assert refusal().remedy == "raise ulimit -n"
