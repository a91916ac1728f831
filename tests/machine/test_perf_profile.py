"""Samples of this kernel's CPUs, and what is made of samples by hand."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time

import pytest

from tests.parse.perf_bytes import cpu_sample, record
from tuneagent.machine import perf_profile
from tuneagent.machine.kallsyms import parsed
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason
from tuneagent.model.profile import Profile
from tuneagent.parse.perf_profile import parse

CPU = max(os.sched_getaffinity(0))
BUSY = "import os, sys\nos.sched_setaffinity(0, [int(sys.argv[1])])\nwhile True: {}\n"


def profile(seconds: float, cpus: CpuSet | None = None) -> Profile:
    try:
        return parse(perf_profile.sample(seconds, cpus))
    except SourceError as error:
        if error.reason is Reason.ABSENT:
            raise
        pytest.skip(str(error))


def busy(work: str) -> Profile:
    with subprocess.Popen([sys.executable, "-c", BUSY.format(work), str(CPU)]) as process:
        time.sleep(0.3)
        try:
            return profile(0.6, CpuSet.of([CPU]))
        finally:
            process.kill()


def test_user_space_is_told_from_the_kernel() -> None:
    found = busy("pass")
    kernel = sum(one.samples for one in found.kernel)
    assert found.user_samples > kernel
    assert found.cpus == (CPU,)
    assert all(one.per_cpu.keys() == {CPU} for one in found.kernel)
    assert found.seconds is not None
    assert found.seconds >= 0.6
    assert found.kernel_release == os.uname().release


def test_the_kernel_is_seen_by_its_functions() -> None:
    found = busy("open('/proc/kallsyms', 'rb').read()")
    names = {one.symbol for one in found.kernel}
    if any("no function has a name" in limit for limit in found.limits):
        assert names == {"[unknown]"}
        pytest.skip(found.limits[-1])
    assert any(
        "kallsyms" in name or name in {"vsnprintf", "format_decode", "seq_vprintf", "seq_read_iter"} for name in names
    )


def test_what_is_sampled_is_said() -> None:
    found = profile(0.1)
    assert found.event in {"cycles", "cpu-clock"}
    assert any("cpu-clock is a timer" in limit for limit in found.limits) == (found.event == "cpu-clock")


@pytest.mark.parametrize(("cpus", "words"), [(CpuSet.of([8000]), "not online: CPUs 8000"), (CpuSet(), "no CPU")])
def test_cpus_that_are_not_there(cpus: CpuSet, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        perf_profile.sample(0.1, cpus)
    assert words in caught.value.detail


SYMBOLS = b"""\
ffffffff81000000 T do_softirq
ffffffff81000100 t pv_native_safe_halt
ffffffff81000200 t start_xmit\t[virtio_net]
ffffffff81000300 t start_xmit
"""


def test_idling_is_told_from_work_in_the_name_of_the_idle_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuneagent.machine.kallsyms.load", lambda: parsed(io.BytesIO(SYMBOLS)))
    tally = perf_profile._Tally()  # noqa: SLF001 - samples that the test makes
    data = [
        *[cpu_sample(0xFFFFFFFF81000101, 0, 2)] * 5,  # idles
        *[cpu_sample(0xFFFFFFFF81000001, 0, 2)] * 4,  # an interrupt's work
        cpu_sample(0xFFFFFFFF81000101, 77, 2),  # no idle task
        *[cpu_sample(0xFFFFFFFF81000201, 8, 3)] * 3,
        *[cpu_sample(0xFFFFFFFF81000301, 8, 3)] * 2,
        cpu_sample(0xFFFFFFFF00000000, 8, 3),
        *[cpu_sample(4096, 8, 3, misc=2)] * 6,  # user space
        cpu_sample(4096, 8, 3, misc=5),  # a guest
    ]
    perf_profile._add(tally, b"".join(data) + record(2, bytes(8) + b"\x09" + bytes(7)) + b"\x05")  # noqa: SLF001 - as above
    limits: list[str] = []
    rows, idle = perf_profile._named(tally.kernel, limits)  # noqa: SLF001 - as above
    assert rows == [
        ["do_softirq", None, {"2": 4}],
        ["start_xmit", "virtio_net", {"3": 3}],
        ["start_xmit", None, {"3": 2}],
        ["[unknown]", None, {"3": 1}],
        ["pv_native_safe_halt", None, {"2": 1}],
    ]
    assert (idle, tally.user, tally.lost, tally.faults) == (5, 7, 9, 1)


def test_without_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden() -> None:
        raise SourceError("/proc/kallsyms", Reason.PERMISSION, "hidden", "be root")

    monkeypatch.setattr("tuneagent.machine.kallsyms.load", hidden)
    limits: list[str] = []
    rows, _ = perf_profile._named({(0, 5, False): 3, (1, 6, False): 2}, limits)  # noqa: SLF001 - samples by hand
    assert rows == [["[unknown]", None, {"0": 3, "1": 2}]]
    assert limits == ["no function has a name: /proc/kallsyms: hidden (be root)"]
