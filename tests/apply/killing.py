"""Ends a process by SIGKILL at the n-th step of its work, and looks at what it leaves behind.

Steps lie before, in the middle of and after each write to the journal, and before and after each write to the machine.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tuneagent.apply.journal import Journal, Store
from tuneagent.apply.lookup import Lookup
from tuneagent.apply.machine import Machine
from tuneagent.apply.registry import actuators
from tuneagent.apply.transaction import Failed, Wanted, Work, run
from tuneagent.apply.undo import Undoing
from tuneagent.machine.state_directory import StateDirectory
from tuneagent.machine.sysroot import Sysroot
from tuneagent.machine.writable import WritableRoot
from tuneagent.model.transaction import Transaction, Writer

STATE = "/var/lib/tuneagent"
BOOT = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
SURVIVED = 0
FAILED = 3
Step = Callable[[], None]


def never() -> None:
    """The step of a process that lives."""


@dataclass
class Steps:
    """Counts steps and ends this process at the n-th."""

    last: int
    passed: int = 0

    def __call__(self) -> None:
        self.passed += 1
        if self.passed == self.last:
            os.kill(os.getpid(), signal.SIGKILL)


class MortalRoot(WritableRoot):
    """A writing side with a step before and after each write."""

    def __init__(self, root: str, step: Step) -> None:
        super().__init__(root)
        self._step = step

    def write_value(self, path: str, text: str) -> None:
        self._step()
        super().write_value(path, text)
        self._step()

    def replace(self, path: str, data: bytes) -> None:
        self._step()
        super().replace(path, data)
        self._step()


class MortalDirectory(StateDirectory):
    """A journal's directory with steps around each record, and one at which only the half of it was written."""

    def __init__(self, root: str, step: Step) -> None:
        super().__init__(STATE, root=root)
        self._step = step

    def append(self, name: str, data: bytes, *, durable: bool, new: bool = False) -> None:
        self._step()
        half = len(data) // 2
        super().append(name, data[:half], durable=False, new=new)
        self._step()
        super().append(name, data[half:], durable=durable)
        self._step()


@dataclass(frozen=True)
class Site:
    """A tree and its journals, with what may end the process in between."""

    root: Path
    step: Step = never

    def machine(self) -> Machine:
        source = Sysroot(str(self.root))
        return Machine(source, MortalRoot(str(self.root), self.step), Lookup(source))

    def store(self) -> Store:
        return Store(MortalDirectory(str(self.root), self.step))

    def begin(self) -> Journal:
        return self.store().begin(
            boot_id=BOOT, version="1", writer=Writer(1, 1, "root"), command="", deadline=None, now_ns=1
        )

    def apply(self, wanted: tuple[Wanted, ...]) -> Transaction | None:
        machine = self.machine()
        work = Work(machine, actuators(machine), self.begin, lambda _: None, settle_s=0.0)
        return run(work, lambda: wanted)

    def undo(self) -> tuple[Transaction, ...]:
        """Everything that stands, newest first."""
        machine, store = self.machine(), self.store()
        undoing = Undoing(machine, actuators(machine), lambda _: None, BOOT)
        standing = [one for one in reversed(store.all()) if one.stands]
        undone = tuple(undoing.undo(store.open(one.id), "asked") for one in standing)
        store.prune(keep=1)
        return undone


def content(root: Path) -> dict[str, bytes]:
    """Every file of a tree, byte for byte, without the journals."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(root)): path.read_bytes() for path in files if "var/lib" not in str(path)}


def in_child(work: Callable[[], object]) -> int:
    """Does it in a process of its own: its exit code, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = SURVIVED
        try:
            work()
        except Failed:
            code = FAILED
        except BaseException:  # noqa: BLE001 - whatever it is, the child must not come back into the test
            code = 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class FaultyRoot(WritableRoot):
    """A writing side that refuses paths with an errno, as a fault that no kernel can be asked for."""

    def __init__(self, root: str, faults: dict[str, int], *, after: int = 0) -> None:
        super().__init__(root)
        self._faults = faults
        self._left = after
        self.written: list[tuple[str, str]] = []

    def write_value(self, path: str, text: str) -> None:
        number = self._faults.get(path)
        if number is not None and self._left <= 0:
            raise OSError(number, os.strerror(number), path)
        self._left -= 1
        super().write_value(path, text)
        self.written.append((path, text))


class FullDirectory(StateDirectory):
    """A journal's directory whose disk is full from the n-th record on."""

    def __init__(self, root: str, room: int) -> None:
        super().__init__(STATE, root=root)
        self._room = room

    def append(self, name: str, data: bytes, *, durable: bool, new: bool = False) -> None:
        self._room -= 1
        if self._room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
        super().append(name, data, durable=durable, new=new)
