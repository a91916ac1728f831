from __future__ import annotations

import pytest

from tuneagent.parse.qemu_command import QemuCommand, parse

UUID = "4dea22b3-1d52-d8f3-2516-782e98ab3fa0"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ("guest=web1,debug-threads=on", "web1"),
        ("debug-threads=on,guest=web2", "web2"),
        ("web3", "web3"),
        ("web4,process=qemu:web4", "web4"),
        ("guest=a,,b,debug-threads=on", "a,b"),
        ("a,,b=c,process=d", "a,b=c"),
        ("guest=a,,,process=b", "a,"),
        ("guest=x=y", "x=y"),
        ("process=only", None),
        ("guest=", None),
        ("guest=a\u202eb", None),
        ("guest=" + "n" * 1025, None),
        ("", None),
    ],
)
def test_the_name_is_the_guest_of_name(options: str, name: str | None) -> None:
    words = ("/usr/bin/qemu-system-x86_64", "-name", options, "-S", "-uuid", UUID.upper())
    assert parse(words) == QemuCommand(UUID, name)


@pytest.mark.parametrize("words", [(), ("kvm",), ("kvm", "-uuid"), ("kvm", "-uuid", "7"), ("-name", "kvm", "-m")])
def test_what_is_not_told_is_none(words: tuple[str, ...]) -> None:
    assert parse(words) == QemuCommand(None, None)


def test_the_last_one_counts_and_two_dashes_do_as_well() -> None:
    words = ("kvm", "--name", "a", "-name", "process=p", "-name", "b", "-uuid", "0" + UUID[1:], "--uuid", UUID)
    assert parse(words) == QemuCommand(UUID, "b")
