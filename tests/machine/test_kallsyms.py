"""Names of addresses: of a file by hand, and of this kernel where it tells them."""

from __future__ import annotations

import io

import pytest

from tuneagent.machine import kallsyms
from tuneagent.machine.kallsyms import Symbols, parsed
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

FILE = b"""\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 t __weak_start
ffffffff81000000 T startup_64
ffffffff81000100 t helper
ffffffff81000100 W generic
ffffffff81000200 T dst_release
ffffffff82000000 D some_data
ffffffffc0100000 t virtnet_poll\t[virtio_net]
ffffffffc0100400 t start_xmit\t[virtio_net]
ffffffffc0050000 T vhost_work\t[vhost]
"""


def symbols(data: bytes = FILE) -> Symbols:
    return parsed(io.BytesIO(data))


def refused(data: bytes) -> SourceError:
    with pytest.raises(SourceError) as caught:
        symbols(data)
    assert caught.value.source == "/proc/kallsyms"
    return caught.value


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (0xFFFFFFFF81000000, ("startup_64", None, 0)),
        (0xFFFFFFFF81000101, ("helper", None, 1)),
        (0xFFFFFFFF810001FF, ("helper", None, 0xFF)),
        (0xFFFFFFFF81000207, ("dst_release", None, 7)),
        (0xFFFFFFFFC0100003, ("virtnet_poll", "virtio_net", 3)),
        (0xFFFFFFFFC0100500, ("start_xmit", "virtio_net", 0x100)),
        (0xFFFFFFFFC0050002, ("vhost_work", "vhost", 2)),
        (0xFFFFFFFF82000001, None),  # behind the last function, and beyond what one can be long
        (0xFFFFFFFFC0060000, None),
        (0xFFFFFFFF80FFFFFF, None),
        (0, None),
        (2**64 - 1, None),
    ],
)
def test_what_covers_an_address(address: int, found: tuple[str, str | None, int] | None) -> None:
    assert symbols().resolve(address) == found


def test_modules_below_the_kernel() -> None:
    found = symbols(b"ffff800008000000 T _stext\nffff800008000100 t helper\nffff800000100000 t poll\t[nic]\n")
    assert found.resolve(0xFFFF800000100004) == ("poll", "nic", 4)
    assert found.resolve(0xFFFF800008000104) == ("helper", None, 4)
    assert found.resolve(0xFFFF800000000000) is None


def test_data_is_not_loaded() -> None:
    assert len(symbols()) == 9


@pytest.mark.parametrize("chunk", [1, 7, 40])
def test_lines_across_reads(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(kallsyms, "_CHUNK", chunk)
    assert symbols().resolve(0xFFFFFFFFC0100500) == ("start_xmit", "virtio_net", 0x100)


def test_addresses_that_are_hidden() -> None:
    hidden = b"".join(b"0" * 16 + line[16:] for line in FILE.splitlines(keepends=True))
    error = refused(hidden)
    assert error.reason is Reason.PERMISSION
    assert "CAP_SYSLOG" in str(error.remedy)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", Reason.EMPTY),
        (b"ffffffff82000000 D some_data\n", Reason.EMPTY),
        (FILE[:-4], Reason.MALFORMED),
        (b"fffffffg81000000 T no_digit\n", Reason.MALFORMED),
        (b"\xff" * 16 + b" T no_digit\n", Reason.MALFORMED),
        (b"\n", Reason.MALFORMED),
        (b"f" * 5000, Reason.MALFORMED),
    ],
)
def test_what_is_no_such_file(data: bytes, reason: Reason) -> None:
    assert refused(data).reason is reason


def test_a_file_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kallsyms, "MOST_BYTES", 100)
    assert refused(FILE).reason is Reason.TOO_LARGE


def test_this_kernel() -> None:
    try:
        found = kallsyms.load()
    except SourceError as error:
        pytest.skip(str(error))
    with open(kallsyms.PATH, encoding="ascii") as file:  # noqa: PTH123 - 200,000 lines, one at a time
        rows = [line.split() for line in file]
    code = {int(row[0], 16) for row in rows if row[1] in "tTwW"}
    names: dict[int, set[str]] = {}
    for row in rows:
        names.setdefault(int(row[0], 16), set()).add(row[2])
    for address in sorted(code)[1::97]:
        resolved = found.resolve(address)
        assert resolved is not None
        assert resolved[0] in names[address]
        assert resolved[2] == 0
