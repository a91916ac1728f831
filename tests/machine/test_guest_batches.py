from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.machine.guests import Guest, Lying, ended
from tuneagent.machine import guest_batches
from tuneagent.machine.guest_agent import GuestAgent
from tuneagent.machine.guest_answers import Answers, Wanted
from tuneagent.machine.live import Live
from tuneagent.machine.source import Text
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason


def wanted(**paths: list[str]) -> Wanted:
    return Wanted(**{name: dict.fromkeys(of) for name, of in paths.items()})


def fetch(asked: Wanted, transport: Any = None) -> Answers:
    return guest_batches.fetch(GuestAgent(transport or Guest()), asked)


def reason(answer: object) -> Reason:
    assert isinstance(answer, SourceError)
    return answer.reason


def text(answer: object) -> str:
    assert isinstance(answer, Text)
    return answer.text


def test_texts_are_those_of_the_files(tmp_path: Path) -> None:
    contents = {
        "one": b"a\nb\n",
        "blank": b"\n\n x \n",
        "empty": b"",
        "words": b"cmd\0--flag\0last\0",
        "nul inside": b"a\0b\nc\0\n",
        "bytes": b"\xff\xfe\n",
        "colon: name": b"text: No such file or directory\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "unended").write_bytes(b"no newline")
    paths = [str(tmp_path / name) for name in contents]
    answers = fetch(wanted(files=[*paths, str(tmp_path / "unended")]))
    live = Live()
    for path in paths:
        if not path.endswith("nul inside"):
            assert text(answers.files[path]) == live.read(path).text, path
    assert text(answers.files[str(tmp_path / "unended")]) == "no newline\n"


def test_files_that_cannot_be_read_have_their_reasons(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    paths = [str(tmp_path), str(tmp_path / "none"), str(tmp_path / "none" / "deeper"), "/proc/self/mem"]
    answers = fetch(wanted(files=[*paths, str(tmp_path / "pipe")]))
    reasons = [reason(answers.files[path]) for path in paths]
    assert reasons == [Reason.FAILED, Reason.ABSENT, Reason.ABSENT, Reason.FAILED]
    assert text(answers.files[str(tmp_path / "pipe")]) == ""


def test_directories_are_listed_as_here(tmp_path: Path) -> None:
    for name in ("rx-10", "rx-2", "a b", "é"):
        (tmp_path / "d" / name).mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("d")
    live = Live()
    paths = [str(tmp_path / name) for name in ("d", "empty", "link")]
    answers = fetch(wanted(directories=[*paths, str(tmp_path / "file"), str(tmp_path / "none")]))
    assert [answers.directories[path] for path in paths] == [live.names(path) for path in paths]
    assert reason(answers.directories[str(tmp_path / "file")]) is Reason.ABSENT
    assert reason(answers.directories[str(tmp_path / "none")]) is Reason.ABSENT


def test_links_lead_where_they_lead_here(tmp_path: Path) -> None:
    (tmp_path / "real" / "virtio0").mkdir(parents=True)
    (tmp_path / "class").symlink_to("real")
    (tmp_path / "real" / "device").symlink_to("virtio0")
    (tmp_path / "dangling").symlink_to("nowhere/driver")
    (tmp_path / "file").write_text("x")
    paths = [str(tmp_path / name) for name in ("class", "class/device", "dangling")]
    answers = fetch(wanted(links=[str(tmp_path / "file"), *paths, str(tmp_path / "none")]))
    assert [answers.links[path] for path in paths] == [Live().link(path) for path in paths]
    assert reason(answers.links[str(tmp_path / "file")]) is Reason.ABSENT
    assert reason(answers.links[str(tmp_path / "none")]) is Reason.ABSENT


def test_modes_are_the_owners(tmp_path: Path) -> None:
    for name, mode in (("writable", 0o644), ("fixed", 0o444), ("others", 0o466)):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(mode)
    paths = [str(tmp_path / name) for name in ("writable", "fixed", "others", "none")]
    answers = fetch(wanted(modes=paths))
    assert [answers.modes[path] for path in paths[:3]] == [True, False, False]
    assert reason(answers.modes[paths[3]]) is Reason.ABSENT


def test_the_clock_is_the_guests_and_every_text_has_its_time() -> None:
    before = float(Path("/proc/uptime").read_text().split()[0])
    answers = fetch(wanted(files=["/proc/stat"]))
    after = float(Path("/proc/uptime").read_text().split()[0])
    assert answers.clock is not None
    assert before * 1e9 - 1 <= answers.clock.boottime_ns <= after * 1e9 + 1
    read = answers.files["/proc/stat"]
    assert isinstance(read, Text)
    assert read.read_at_ns == answers.clock.monotonic_ns


def test_counters_come_first_and_a_command_stays_short() -> None:
    guest = Guest()
    paths = [f"/nowhere/{number:04}/{'x' * 50}" for number in range(2500)]
    answers = fetch(wanted(files=[*paths, "/proc/interrupts"]), guest)
    vectors = [asked["arg"] for command, asked in guest.asked if command == "guest-exec"]
    assert vectors[0][5:7] == ["/proc/uptime", "/proc/interrupts"]
    assert len(vectors) == 3
    assert all(sum(map(len, vector)) < 110_000 for vector in vectors)
    assert set(answers.files) == {*paths, "/proc/interrupts"}


def test_lies_about_other_files_are_dropped() -> None:
    out = b"/proc/uptime\x0012.34 5.6\n/etc/shadow\0root:x\n/proc/stat\0cpu 1\nno name\n\0\n"
    guest = Lying(Guest(), guest_exec_status=lambda *_: ended(out, b"grep: /etc/passwd: Permission denied\n"))
    answers = fetch(wanted(files=["/proc/stat"]), guest)
    assert list(answers.files) == ["/proc/stat"]
    assert text(answers.files["/proc/stat"]) == "cpu 1\n"
    assert answers.clock is not None
    assert answers.clock.boottime_ns == 12_340_000_000


def test_names_that_are_no_names_are_dropped() -> None:
    entries = [
        ("", "d"),
        ("eth0", "l"),
        ("..", "d"),
        ("../../etc", "f"),
        ("/abs", "f"),
        ("x" * 300, "f"),
        ("9" * 255, "f"),
    ]
    found = b"".join(f"/sys/class/net\0{name}\0{kind}\x00755\0".encode() for name, kind in entries)
    found += b"/etc\0shadow\0f\x00600\0" + b"/sys/class/net\0cut"
    guest = Lying(Guest(), guest_exec_status=lambda *_: ended(found))
    answers = fetch(wanted(directories=["/sys/class/net"]), guest)
    assert answers.directories == {"/sys/class/net": ("9" * 255, "eth0")}


def test_a_directory_of_too_many_names_is_refused() -> None:
    found = b"/d\0\0d\x00755\0" + b"".join(b"/d\0%d\0f\x00644\0" % number for number in range(70_000))
    guest = Lying(Guest(), guest_exec_status=lambda *_: ended(found))
    with pytest.raises(SourceError, match="more than 65536 names"):
        fetch(wanted(directories=["/d"]), guest)


def test_targets_that_do_not_match_the_links_are_no_answers(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("there")
    path = str(tmp_path / "link")
    for out, expected in ((b"", Reason.FAILED), (b"/a\0/b\0", Reason.FAILED), (b"a\0", Reason.MALFORMED)):
        replies = iter([ended(path.encode() + b"\0"), ended(out)])
        guest = Lying(Guest(), guest_exec_status=lambda *_, replies=replies: next(replies))
        assert reason(fetch(wanted(links=[path]), guest).links[path]) is expected


@pytest.mark.parametrize("uptime", ["", "soon", "-1.00 2", "9" * 30 + ".00 1", "1.0 2", "\u0661.00 "])
def test_a_clock_that_is_none_is_refused(uptime: str) -> None:
    out = f"/proc/uptime\0{uptime}\n".encode()
    guest = Lying(Guest(), guest_exec_status=lambda *_: ended(out))
    with pytest.raises(SourceError, match="no uptime"):
        fetch(wanted(files=["/proc/stat"]), guest)


def test_what_is_no_plain_path_is_never_sent() -> None:
    guest = Guest()
    odd = ["-e", "relative", "/a\nb", "/a\0b", "/\x1b[2J", "/é"]
    answers = fetch(wanted(files=odd, directories=odd, links=odd, modes=odd), guest)
    assert guest.asked == []
    for found in (answers.files, answers.directories, answers.links, answers.modes):
        assert [reason(found[path]) for path in odd] == [Reason.MALFORMED] * 6


def test_gnu_programs_are_usable_and_others_are_not() -> None:
    assert guest_batches.usable(GuestAgent(Guest()))
    assert not guest_batches.usable(GuestAgent(Guest(programs=frozenset())))
    busybox = Lying(Guest(), guest_exec_status=lambda *_: ended(b"", b"grep: unrecognized option: Z\n", 1))
    assert not guest_batches.usable(GuestAgent(busybox))


def test_a_blocked_command_is_told() -> None:
    with pytest.raises(SourceError, match="does not allow guest-exec"):
        guest_batches.usable(GuestAgent(Guest(allowed=("guest-file-open",))))
