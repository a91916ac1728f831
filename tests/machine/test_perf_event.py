"""What the kernel refuses, and what is said of it; real counters where they are permitted."""

from __future__ import annotations

import errno
import os
import platform
import resource
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tuneagent.machine import perf_event
from tuneagent.machine.perf_event import COUNTED, PERF_TYPE_SOFTWARE, Attribute, attribute, open_on_cpu, refused
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

CONTEXT_SWITCHES = 3
"""PERF_COUNT_SW_CONTEXT_SWITCHES"""


def opened(cpu: int, *, disabled: int = 0) -> int:
    wanted = attribute(PERF_TYPE_SOFTWARE, CONTEXT_SWITCHES, read_format=COUNTED, disabled=disabled)
    try:
        return open_on_cpu("source", wanted, cpu)
    except SourceError as error:
        if error.reason is Reason.PERMISSION:
            pytest.skip(str(error))
        raise


def read_count(file: int) -> int:
    said = perf_event.count(file)
    assert said is not None
    return said.events


def switch(cpu: int) -> None:
    """Some switches between tasks on a CPU."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, [cpu])
        subprocess.run(["true"], check=True)
    finally:
        os.sched_setaffinity(0, before)


CPU = min(os.sched_getaffinity(0))


def test_the_attribute_is_laid_out_as_the_header_says() -> None:
    wanted = attribute(2, 408, sample_period_or_freq=7, disabled=1, use_clockid=1, clockid=1, sample_max_stack=24)
    data = bytes(wanted)
    assert len(data) == 112
    assert struct.unpack_from("=IIQQ", data) == (2, 112, 408, 7)
    assert struct.unpack_from("=iQIHH", data, 92) == (1, 0, 0, 24, 0)
    if sys.byteorder == "little":
        assert struct.unpack_from("=Q", data, 40) == (1 << 25 | 1,)
    assert (Attribute.sample_max_stack.offset, Attribute.branch_sample_type.offset) == (108, 72)


def test_a_counter_counts_while_it_is_enabled() -> None:
    file = opened(CPU, disabled=1)
    try:
        switch(CPU)
        assert read_count(file) == 0
        perf_event.enable(file)
        switch(CPU)
        perf_event.disable(file)
        counted = read_count(file)
        assert counted > 0
        switch(CPU)
        assert read_count(file) == counted
        perf_event.reset(file)
        assert read_count(file) == 0
        assert not os.get_inheritable(file)
    finally:
        os.close(file)


def test_a_cpu_that_is_not_there() -> None:
    os.close(opened(CPU))
    with pytest.raises(SourceError) as caught:
        opened(8000)
    assert caught.value.source == "source"
    # EINVAL beyond the possible CPUs, ENODEV for one of them that is offline.
    assert caught.value.reason in {Reason.ABSENT, Reason.UNSUPPORTED}


def test_an_architecture_that_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    with pytest.raises(SourceError) as caught:
        opened(CPU)
    assert caught.value.reason is Reason.UNSUPPORTED
    assert "vax" in caught.value.detail


def test_the_limit_of_descriptors_is_raised_where_it_may_be() -> None:
    code = (
        "import os, resource\n"
        "from tuneagent.machine.perf_event import *\n"
        "from tuneagent.model.errors import SourceError\n"
        "wanted = attribute(PERF_TYPE_SOFTWARE, 3)\n"
        "def some(n):\n"
        "    try:\n"
        f"        return [open_on_cpu('source', wanted, {CPU}) for _ in range(n)]\n"
        "    except SourceError as error:\n"
        "        print(error.reason, error.detail, error.remedy, sep='|')\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (32, 64))\n"
        "print(len(some(40) or []), resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
        "some(40)\n"
    )
    os.close(opened(CPU))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    raised, refusal = done.stdout.splitlines()
    assert raised == "40 64"
    assert refusal == "failed|Too many open files: at most 64 descriptors|raise ulimit -n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files that tell of a process that may do everything, on a machine that lets it."""
    told = {
        "PARANOID": "2\n",
        "MLOCK_KB": "516\n",
        "STATUS": "Name:\tpython\nCapEff:\t0000004000200000\nSeccomp:\t0\n",
        "UID_MAP": "         0          0 4294967295\n",
        "LOCKDOWN": "none [integrity] confidentiality\n",
    }
    for name, text in told.items():
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(perf_event, name, str(tmp_path / name))
    return tmp_path


def refusal(number: int) -> SourceError:
    return refused("source", OSError(number, os.strerror(number)))


@pytest.mark.parametrize(
    ("file", "text", "words", "remedy"),
    [
        ("STATUS", "CapEff:\t0\n", "without CAP_PERFMON, and perf_event_paranoid is 2", "perf_event_paranoid to -1"),
        ("STATUS", "CapEff:\tx\n", "without CAP_PERFMON", "CAP_PERFMON"),
        (
            "UID_MAP",
            "0 100000 65536\n",
            "the capabilities of a user namespace do not count",
            "outside of the container",
        ),
        (
            "LOCKDOWN",
            "none integrity [confidentiality]\n",
            "kernel lockdown (confidentiality)",
            "boot without lockdown",
        ),
        ("STATUS", "CapEff:\t0000004000000000\nSeccomp:\t2\n", "a seccomp filter", "allow perf_event_open"),
    ],
)
@pytest.mark.parametrize("number", [errno.EPERM, errno.EACCES])
def test_who_does_not_permit_it(files: Path, file: str, text: str, words: str, remedy: str, number: int) -> None:
    (files / file).write_text(text)
    error = refusal(number)
    assert error.reason is Reason.PERMISSION
    assert words in error.detail
    assert remedy in str(error.remedy)


def test_somebody_else_does_not_permit_it(files: Path) -> None:
    (files / "LOCKDOWN").unlink()
    error = refusal(errno.EACCES)
    assert (error.reason, error.remedy) == (Reason.PERMISSION, None)
    assert "a security module" in error.detail


@pytest.mark.parametrize(
    ("number", "reason", "words"),
    [
        (errno.ENOENT, Reason.ABSENT, "no such event"),
        (errno.ENODEV, Reason.ABSENT, "not online"),
        (errno.ENOSYS, Reason.ABSENT, "CONFIG_PERF_EVENTS"),
        (errno.EOPNOTSUPP, Reason.UNSUPPORTED, "cannot take samples"),
        (errno.E2BIG, Reason.UNSUPPORTED, "does not know an option"),
        (errno.EBUSY, Reason.FAILED, "somebody else"),
        (errno.EIO, Reason.FAILED, "perf_event_open failed (Input/output error)"),
        (errno.ENOMEM, Reason.FAILED, "perf_event_mlock_kb is 516"),
        (errno.EMFILE, Reason.FAILED, f"at most {resource.getrlimit(resource.RLIMIT_NOFILE)[0]} descriptors"),
    ],
)
def test_other_refusals(files: Path, number: int, reason: Reason, words: str) -> None:
    error = refusal(number)
    assert files.exists()
    assert error.reason is reason
    assert words in error.detail
