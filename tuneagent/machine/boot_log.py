"""The kernel's first lines: /dev/kmsg (Documentation/ABI/testing/dev-kmsg), or the file that the boot left of them."""

from __future__ import annotations

import errno
import os

DEVICE = "/dev/kmsg"
FILE = "/var/log/dmesg"
"""Written once a boot by some distributions; of an earlier boot where it does not hold the running kernel's version."""
MOST_RECORDS = 4096
MOST_BYTES = 1 << 20
_RECORD = 8192
"""More than PRINTK_MESSAGE_MAX: a shorter buffer is refused."""


def read() -> str | None:
    """Lines from the oldest that is kept on, at most MOST_RECORDS; None where they are hidden from us."""
    try:
        device = os.open(DEVICE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return _file()
    try:
        text = "\n".join(_records(device))
    finally:
        os.close(device)
    return text if f"Linux version {os.uname().release} " in text else f"{text}\n{_file() or ''}"


def _records(device: int) -> list[str]:
    lines: list[str] = []
    for _ in range(MOST_RECORDS):
        try:
            record = os.read(device, _RECORD)
        except OSError as error:
            if error.errno == errno.EPIPE:  # overwritten under our eyes; the next read gives the oldest that is left
                continue
            break  # EAGAIN: the last one was read
        lines.append(record.partition(b";")[2].partition(b"\n")[0].decode("utf-8", "backslashreplace"))
    return lines


def _file() -> str | None:
    try:
        with open(FILE, encoding="utf-8", errors="backslashreplace") as file:
            text = file.read(MOST_BYTES)
    except OSError:
        return None
    return text if f"Linux version {os.uname().release} " in text else None
