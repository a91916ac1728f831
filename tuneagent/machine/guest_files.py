"""A guest as a Source through guest-file-open, -read and -close: for guests without commands or GNU grep.

One file takes three questions and nothing can be listed, so that this view is smaller: interfaces are those of
/proc/net/dev, virtio devices those that /proc/interrupts names, queues and nodes are tried from 0 up, and of the
interrupts only virtio's are looked at. What cannot be told so is not captured, never absent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import suppress

from tuneagent.machine import guest_exec
from tuneagent.machine.guest_agent import MOST_BYTES, NAME, CommandFailedError, GuestAgent, failed, garbled
from tuneagent.machine.guest_clock import UPTIME, clock_of
from tuneagent.machine.guest_source import not_through_the_agent
from tuneagent.machine.natural import natural
from tuneagent.machine.source import Captured, Process, Text
from tuneagent.model.clock import Clock
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

COMMANDS = frozenset({"guest-file-open", "guest-file-read", "guest-file-close"})
MOST_FILES = 300
"""Opened in one look."""
MOST_READS = 8
READ_BYTES = 1 << 20
MOST_TRIED = 64

_INTERRUPTS, _INTERFACES = "/proc/interrupts", "/proc/net/dev"
_VIRTIO, _NET, _NODES = "/sys/bus/virtio/devices", "/sys/class/net", "/sys/devices/system/node"
_FIRST = ("/sys/class/dmi/id/product_uuid", "/proc/sys/kernel/random/boot_id")
_MOVING = re.compile(
    r"/proc/(interrupts|softirqs|stat|net/.*|irq/.*|sys/kernel/random/boot_id)"
    r"|/sys/class/net/[^/]+/(statistics/.*|queues/.*|operstate)|/sys/devices/system/cpu/online"
)
"""What is read again in every look; the rest stays as it was first read."""
_MARKERS = ("/.dockerenv", "/run/.containerenv")
"""A machine made from a container's image keeps them: they say nothing without the namespaces, which are links."""
_OF_IRQ = re.compile(r"/(?:proc|sys/kernel)/irq/([0-9]+)/(.*)")
_ROW = re.compile(r"^ *([0-9]{1,10}):.* (virtio[0-9]{1,6})(?:[-, ]|$)", re.MULTILINE)
_INTERFACE = re.compile(r"^ *(?!\.{1,2}:)([!-.0-9;-~]{1,15}):", re.MULTILINE)
_SLOT = re.compile(r"^PCI_SLOT_NAME=([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$", re.MULTILINE)
_DRIVER = re.compile(r"^DRIVER=([A-Za-z0-9_-]{1,64})$", re.MULTILINE)


class GuestFiles:
    """The Source that a guest is through guest-file-read. :meth:`begin` starts a look; each question asks the guest."""

    origin = "guest agent (guest-file-read)"

    def __init__(self, agent: GuestAgent) -> None:
        self._agent = agent
        self._kept: dict[str, Text | SourceError] = {}
        self._opened = 0
        self._broken: SourceError | None = None
        self._clock: Clock | None = None
        self._host_ns = 0

    def begin(self) -> None:
        """Starts a look: forgets what moves, and reads the clock. SourceError when the guest cannot be asked."""
        self._agent.begin()
        self._opened, self._broken = 0, None
        self._kept = {path: kept for path, kept in self._kept.items() if not _MOVING.fullmatch(path)}
        self._clock = clock_of(self._load(UPTIME), time.time_ns())
        self._host_ns = time.monotonic_ns()
        for path in _FIRST:
            with suppress(SourceError):
                self.read(path)

    def fetch(self) -> bool:
        """Nothing is left to get; SourceError when the guest stopped answering within the look."""
        if self._broken is not None:
            raise self._broken
        return False

    def read(self, path: str) -> Text:
        """A file's text, with its time in the guest: the host's clock carries on from the guest's uptime."""
        if path not in self._kept:
            self._kept[path] = self._read(path)
        kept = self._kept[path]
        if isinstance(kept, SourceError):
            raise SourceError(kept.source, kept.reason, kept.detail, kept.remedy)
        return kept

    def names(self, path: str) -> tuple[str, ...]:
        """The names in one of the directories whose names other files tell."""
        if path == _NET:
            return natural(set(_INTERFACE.findall(self.read(_INTERFACES).text)))
        if path == _VIRTIO:
            return natural(set(self._virtio_rows().values()))
        if path == _NODES:
            return tuple(self._tried("node", "cpulist", _NODES))
        of_interface = re.fullmatch(rf"{_NET}/([^/]+)(/queues)?", path)
        if of_interface is None or self._virtio_of(of_interface[1]) is None:
            raise SourceError(path, Reason.NOT_CAPTURED, "cannot be listed through guest-file-read")
        if of_interface[2] is None:
            return ("device", "queues", "statistics")
        return (*self._tried("rx-", "rps_cpus", path), *self._tried("tx-", "tx_timeout", path))

    def link(self, path: str) -> str:
        """Where a link of a virtio device leads, by the uevent files beside it."""
        device = re.fullmatch(rf"{_NET}/([^/]+)/device", path)
        virtio = self._virtio_of(device[1]) if device else path.removeprefix(f"{_VIRTIO}/")
        if path.endswith("/driver"):
            driver = _DRIVER.search(self.read(f"{path.removesuffix('/driver')}/uevent").text)
            if driver is not None:
                return f"/sys/bus/virtio/drivers/{driver[1]}"
        elif virtio is not None and re.fullmatch("virtio[0-9]+", virtio):
            slot = self._slot(f"{_VIRTIO}/{virtio}")
            if slot is not None:
                return f"/sys/bus/pci/devices/{slot}/{virtio}"
        raise SourceError(path, Reason.NOT_CAPTURED, "no link can be followed through guest-file-read")

    def writable_mode(self, path: str) -> bool:
        """Unknown: the agent opens files and tells no mode."""
        raise SourceError(path, Reason.NOT_CAPTURED, "guest-file-read tells no mode of a file")

    def captured(self, name: str) -> Captured:
        """Nothing, as for every guest seen from outside."""
        raise not_through_the_agent(name)

    def processes(self, names: frozenset[str]) -> tuple[Process, ...]:
        """Unknown: processes cannot be listed."""
        raise not_through_the_agent(f"processes {','.join(sorted(names))}")

    def clock(self) -> Clock | None:
        """The guest's time at the beginning of the look."""
        return self._clock

    def _read(self, path: str) -> Text | SourceError:
        try:
            self._check(path)
            since_ns = time.monotonic_ns() - self._host_ns
            text = self._load(path)
        except SourceError as error:
            return error
        return Text(text, self._clock.monotonic_ns + since_ns if self._clock else None)

    def _check(self, path: str) -> None:
        if path in _MARKERS:
            raise SourceError(path, Reason.NOT_CAPTURED, "not asked: it says nothing without the namespaces, as links")
        of_irq = _OF_IRQ.fullmatch(path)
        if of_irq is not None and of_irq[2] not in ("smp_affinity_list", "effective_affinity_list"):
            raise SourceError(path, Reason.NOT_CAPTURED, "not asked through guest-file-read: three questions a file")
        if of_irq is not None and int(of_irq[1]) not in self._virtio_rows():
            raise SourceError(path, Reason.NOT_CAPTURED, "only virtio's interrupts are asked through guest-file-read")
        if self._broken is not None:
            raise self._broken

    def _load(self, path: str) -> str:
        if self._opened == MOST_FILES:
            raise SourceError(path, Reason.TOO_LARGE, f"more than {MOST_FILES} files would be asked of the guest")
        self._opened += 1
        try:
            handle = self._agent.ask("guest-file-open", {"path": path, "mode": "r"})
            return b"".join(self._pieces(path, handle)).decode("utf-8", "backslashreplace")
        except CommandFailedError as error:
            raise failed(path, error.detail) from None
        except SourceError as error:
            self._broken = self._broken or error
            raise

    def _pieces(self, path: str, handle: object) -> Iterator[bytes]:
        if not isinstance(handle, int):
            raise garbled("guest-file-open", "a handle is expected")
        try:
            for _ in range(MOST_READS):
                answer = self._agent.fields("guest-file-read", {"handle": handle, "count": READ_BYTES})
                yield guest_exec.decoded("guest-file-read", answer.get("buf-b64", ""))
                if answer.get("eof") is True:
                    return
        finally:
            with suppress(CommandFailedError):
                self._agent.ask("guest-file-close", {"handle": handle})
        raise SourceError(NAME, Reason.TOO_LARGE, f"{path} has no end in the guest, or is over {MOST_BYTES} bytes")

    def _virtio_rows(self) -> dict[int, str]:
        """The virtio device of each interrupt that /proc/interrupts gives one."""
        return {int(number): name for number, name in _ROW.findall(self.read(_INTERRUPTS).text)}

    def _virtio_of(self, interface: str) -> str | None:
        """The virtio device behind an interface: the one in the same PCI function."""
        slot = self._slot(f"{_NET}/{interface}/device")
        devices = natural(set(self._virtio_rows().values())) if slot else ()
        return next((name for name in devices if self._slot(f"{_VIRTIO}/{name}") == slot), None)

    def _slot(self, device: str) -> str | None:
        # The kernel goes through the link before it goes up: this is the uevent file of the PCI function.
        try:
            slot = _SLOT.search(self.read(f"{device}/../uevent").text)
        except SourceError:
            return None
        return slot[1] if slot else None

    def _tried(self, start: str, file: str, directory: str) -> Iterator[str]:
        for index in range(MOST_TRIED):
            try:
                self.read(f"{directory}/{start}{index}/{file}")
            except SourceError as error:
                if error.reason is Reason.ABSENT:
                    return
                raise
            yield f"{start}{index}"
