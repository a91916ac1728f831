from __future__ import annotations

import os
from pathlib import Path

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse.mountinfo import Mount, parse

TEXT = """\
27 1 254:3 / / rw,relatime - ext4 /dev/vda3 rw,discard
36 35 0:42 /@home /home\\040of\\040all rw,noatime shared:1 master:2 - btrfs /dev/mapper/data\\134x rw,subvol=/@home
41 27 0:25 / /run rw,nosuid shared:7 - tmpfs tmpfs rw,size=4k
"""


def test_mounts_by_their_numbers() -> None:
    assert parse(TEXT) == {
        27: Mount("/", "ext4", "/dev/vda3"),
        36: Mount("/home of all", "btrfs", "/dev/mapper/data\\x"),
        41: Mount("/run", "tmpfs", "tmpfs"),
    }


def test_a_mount_may_have_no_source() -> None:
    assert parse("43 27 0:26 / /none rw - ramfs  rw") == {43: Mount("/none", "ramfs", "")}


@pytest.mark.parametrize(
    "line", ["27 1 254:3 / / - ext4 /dev/vda", "27 1 254:3 / / rw ext4 /dev/vda", "-1 1 0:1 / / rw - a b"]
)
def test_what_is_no_mount_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(f"27 1 254:3 / / rw,relatime - ext4 /dev/vda3 rw\n{line}\n")
    assert caught.value.line == 2


def test_the_running_kernels_own() -> None:
    mounts = parse(Path("/proc/self/mountinfo").read_text())
    fd = os.open("/proc", os.O_PATH)
    try:
        lines = Path(f"/proc/self/fdinfo/{fd}").read_text().splitlines()
    finally:
        os.close(fd)
    number = next(int(line.split()[1]) for line in lines if line.startswith("mnt_id:"))
    assert mounts[number][:2] == ("/proc", "proc")
