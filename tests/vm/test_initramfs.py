"""The archive is what cpio(1) and the kernel call one. Boots nothing."""

from __future__ import annotations

from tests.vm.initramfs import archive


def test_members_and_their_directories_come_in_order() -> None:
    made = archive({"init": b"#!/bin/sh\n", "bin/a/b": b"xyz"})
    names: list[bytes] = []
    place = 0
    while place < len(made):
        assert made[place : place + 6] == b"070701"
        size, length = (int(made[place + at : place + at + 8], 16) for at in (54, 94))
        names.append(made[place + 110 : place + 110 + length - 1])
        place += -(-(110 + length) // 4) * 4 + -(-size // 4) * 4
    assert names[-3:] == [b"init", b"bin/a/b", b"TRAILER!!!"]
    assert names.index(b"bin") < names.index(b"bin/a") < names.index(b"bin/a/b")
