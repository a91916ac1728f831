from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.machine.guests import Guest, Lying, encoded
from tuneagent.machine import guest_files
from tuneagent.machine.guest_agent import GuestAgent
from tuneagent.machine.guest_files import GuestFiles
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason


class Files(Guest):
    """A guest whose files lie in a directory of this machine; `..` goes up from where links lead, as in a kernel."""

    def __init__(self, root: Path) -> None:
        super().__init__(allowed=("guest-file-open", "guest-file-read", "guest-file-close"))
        self._root = root

    def ask(self, command: str, arguments: Any) -> Any:
        if command == "guest-file-open":
            arguments = dict(arguments) | {"path": f"{self._root}{arguments['path']}"}
        return super().ask(command, arguments)

    @property
    def opened(self) -> list[str]:
        asked = [arguments["path"] for command, arguments in self.asked if command == "guest-file-open"]
        return [path.removeprefix(str(self._root)) for path in asked]


INTERRUPTS = """\
            CPU0       CPU1
  1:          3          4  IO-APIC   1-edge      i8042
 33:         11         12  PCI-MSIX-0000:00:03.0   0-edge      virtio0-config
 34:         21         22  PCI-MSIX-0000:00:03.0   1-edge      virtio0-input.0
 35:         31         32  PCI-MSIX-0000:00:03.0   2-edge      virtio0-output.0
 40:         41         42  IO-APIC  11-fasteoi   uhci_hcd:usb1, virtio7
NMI:          5          6  virtio9 interrupts
"""
NET_DEV = """\
Inter-|   Receive          |  Transmit
 face |bytes    packets errs|bytes    packets errs
    lo:     1    2    10    3       4   11
  eth0:     5    6    12    7       8   13
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    function = "sys/devices/pci0000:00/0000:00:03.0"
    texts = {
        "proc/uptime": "100.25 50.00\n",
        "proc/interrupts": INTERRUPTS,
        "proc/net/dev": NET_DEV,
        "proc/irq/34/smp_affinity_list": "0-1\n",
        "proc/irq/1/smp_affinity_list": "0\n",
        f"{function}/uevent": "DRIVER=virtio-pci\nPCI_SLOT_NAME=0000:00:03.0\n",
        f"{function}/virtio0/uevent": "DRIVER=virtio_net\n",
        f"{function}/virtio0/net/eth0/queues/rx-0/rps_cpus": "0\n",
        f"{function}/virtio0/net/eth0/queues/rx-1/rps_cpus": "0\n",
        f"{function}/virtio0/net/eth0/queues/tx-0/tx_timeout": "0\n",
        "sys/devices/system/node/node0/cpulist": "0-1\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    links = {
        "sys/bus/virtio/devices/virtio0": f"{function}/virtio0",
        "sys/class/net/eth0": f"{function}/virtio0/net/eth0",
        f"{function}/virtio0/net/eth0/device": f"{function}/virtio0",
    }
    for name, target in links.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(tmp_path / target)
    return tmp_path


def begun(transport: Any) -> GuestFiles:
    source = GuestFiles(GuestAgent(transport))
    source.begin()
    return source


def reason(source: GuestFiles, path: str) -> Reason:
    with pytest.raises(SourceError) as caught:
        source.read(path)
    return caught.value.reason


def test_listings_and_links_are_put_together_from_files(root: Path) -> None:
    source = begun(Files(root))
    assert source.names("/sys/class/net") == ("eth0", "lo")
    assert source.names("/sys/bus/virtio/devices") == ("virtio0", "virtio7")
    assert source.names("/sys/class/net/eth0") == ("device", "queues", "statistics")
    assert source.names("/sys/class/net/eth0/queues") == ("rx-0", "rx-1", "tx-0")
    assert source.names("/sys/devices/system/node") == ("node0",)
    assert source.link("/sys/class/net/eth0/device") == "/sys/bus/pci/devices/0000:00:03.0/virtio0"
    assert source.link("/sys/bus/virtio/devices/virtio0") == "/sys/bus/pci/devices/0000:00:03.0/virtio0"
    assert source.link("/sys/bus/virtio/devices/virtio0/driver") == "/sys/bus/virtio/drivers/virtio_net"


@pytest.mark.parametrize("path", ["/sys/class/net/lo", "/sys/class/net/eth9/queues", "/proc", "/sys/module/kvm"])
def test_what_cannot_be_listed_is_not_said_to_be_absent(root: Path, path: str) -> None:
    with pytest.raises(SourceError) as caught:
        begun(Files(root)).names(path)
    assert caught.value.reason is Reason.NOT_CAPTURED


def test_only_virtios_interrupts_are_asked_for(root: Path) -> None:
    guest = Files(root)
    source = begun(guest)
    assert source.read("/proc/irq/34/smp_affinity_list").text == "0-1\n"
    assert reason(source, "/proc/irq/1/smp_affinity_list") is Reason.NOT_CAPTURED
    assert reason(source, "/proc/irq/34/node") is Reason.NOT_CAPTURED
    assert reason(source, "/proc/irq/40/smp_affinity_list") is Reason.ABSENT
    assert "/proc/irq/1/smp_affinity_list" not in guest.opened


def test_what_stays_is_read_once_and_what_moves_in_every_look(root: Path) -> None:
    guest = Files(root)
    source = begun(guest)
    for _ in range(2):
        for path in ("/proc/interrupts", "/sys/devices/system/node/node0/cpulist", "/nowhere"):
            if path != "/nowhere":
                source.read(path)
            else:
                assert reason(source, path) is Reason.ABSENT
        source.begin()
    opened = guest.opened
    assert opened.count("/proc/interrupts") == 2
    assert opened.count("/sys/devices/system/node/node0/cpulist") == 1
    assert opened.count("/nowhere") == 1
    assert guest.left_open == 0


def test_times_go_on_from_the_guests_uptime(root: Path) -> None:
    source = begun(Files(root))
    clock = source.clock()
    assert clock is not None
    assert clock.boottime_ns == 100_250_000_000
    first, second = source.read("/proc/interrupts").read_at_ns, source.read("/proc/net/dev").read_at_ns
    assert first is not None
    assert second is not None
    assert clock.monotonic_ns <= first < second


def test_files_of_a_look_are_counted(root: Path) -> None:
    guest = Files(root)
    source = begun(guest)
    for number in range(guest_files.MOST_FILES):
        reason(source, f"/nowhere/{number}")
    assert reason(source, "/proc/interrupts") is Reason.TOO_LARGE
    assert len(guest.opened) == guest_files.MOST_FILES


@pytest.mark.parametrize(
    "answer",
    [
        {"count": 1, "buf-b64": encoded(b"x"), "eof": False},
        {"count": 0, "buf-b64": "", "eof": False},
        {"count": 1 << 20, "buf-b64": encoded(b"x" * (1 << 20)), "eof": False},
        {"count": 1, "buf-b64": encoded(b"x"), "eof": "no"},
    ],
)
def test_a_file_without_end_is_left(root: Path, answer: dict[str, Any]) -> None:
    asked: list[Any] = []

    def endless(arguments: Any, _truth: Any) -> Any:
        asked.append(arguments)
        return answer

    with pytest.raises(SourceError) as caught:
        begun(Lying(Files(root), guest_file_read=endless))
    assert caught.value.reason is Reason.TOO_LARGE
    assert len(asked) <= 10


@pytest.mark.parametrize("answer", [{"buf-b64": "*"}, {"buf-b64": 4}, [], None])
def test_reads_that_are_none(root: Path, answer: Any) -> None:
    with pytest.raises(SourceError, match="garbled"):
        begun(Lying(Files(root), guest_file_read=lambda *_: answer))


def test_a_guest_that_breaks_down_is_asked_no_more(root: Path) -> None:
    count = itertools.count()

    def dies(_arguments: Any, truth: Any) -> Any:
        return truth() if next(count) < 3 else "no object"

    guest = Files(root)
    source = begun(Lying(guest, guest_file_read=dies))
    source.read("/proc/interrupts")
    source.read("/proc/net/dev")
    assert reason(source, "/sys/devices/system/node/node0/cpulist") is Reason.MALFORMED
    opened = len(guest.opened)
    assert reason(source, "/proc/version") is Reason.MALFORMED
    assert len(guest.opened) == opened
    with pytest.raises(SourceError, match="garbled"):
        source.fetch()


def test_hostile_names_of_interfaces_are_no_names(root: Path) -> None:
    (root / "proc/net/dev").write_text("h\n ../../x: 1\n ..: 1\n\x1b[2J: 2\n a b: 3\n ok0: 4\n" + "y" * 16 + ": 5\n")
    assert begun(Files(root)).names("/sys/class/net") == ("ok0",)


def test_modes_processes_and_what_is_no_file_are_unknown(root: Path) -> None:
    source = begun(Files(root))
    for ask in (
        lambda: source.writable_mode("/proc/irq/34/smp_affinity_list"),
        lambda: source.processes(frozenset({"irqbalance"})),
        lambda: source.captured("ethtool"),
    ):
        with pytest.raises(SourceError) as caught:
            ask()
        assert caught.value.reason is Reason.NOT_CAPTURED
