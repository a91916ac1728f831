from __future__ import annotations

import pytest

from tuneagent.model.errors import ParseError
from tuneagent.parse import mounts

TABLE = """\
proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
proc /proc/irq proc ro,nosuid,nodev,noexec,relatime 0 0
sysfs /sys sysfs rw,relatime 0 0
sysfs /sys sysfs ro,relatime 0 0
/dev/vda / ext4 ro,relatime 0 0
server:/a\\040b /mnt/a\\040b nfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "closed"),
    [
        ("/proc/irq", True),
        ("/proc/irq/38/smp_affinity_list", True),
        ("/proc/irqs", False),
        ("/sys/class/net", True),
        ("/mnt/a b/c", False),
        ("/etc", True),
    ],
)
def test_the_innermost_mount_and_of_two_the_last_decides(path: str, closed: bool) -> None:  # noqa: FBT001 - the result
    assert mounts.read_only(mounts.parse(TABLE), path) is closed


def test_a_path_below_no_mount_is_not_read_only() -> None:
    assert not mounts.read_only({}, "/sys")


@pytest.mark.parametrize("row", ["proc /proc", "proc proc proc ro 0 0", "proc /proc proc\x1b[m ro"])
def test_what_is_no_mount_is_refused_with_its_line(row: str) -> None:
    with pytest.raises(ParseError) as caught:
        mounts.parse(f"proc /proc proc rw 0 0\n{row}\n")
    assert caught.value.line == 2
