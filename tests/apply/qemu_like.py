"""A process that looks like QEMU with a vhost worker: a thread of it that has the worker's name, and runs when told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

UUID = "4f6a2c1e-8b7d-4e3f-9a10-5c6d7e8f9a0b"
_CODE = """
import os, sys, threading
name, go = sys.argv[1], threading.Semaphore(0)
def work():
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as comm:
        comm.write(name or f"vhost-{os.getpid()}")
    print(threading.get_native_id(), flush=True)
    while go.acquire():
        end = os.times().user + 0.05
        while os.times().user < end:
            pass
        print("ran", flush=True)
with open("/proc/self/comm", "w") as comm:
    comm.write("qemu-system-x86")
threading.Thread(target=work, daemon=True).start()
for line in sys.stdin:
    go.release()
"""


@dataclass(frozen=True, slots=True)
class QemuLike:
    """It and its worker."""

    child: subprocess.Popen[str]
    tid: int

    @property
    def pid(self) -> int:
        return self.child.pid

    def works(self) -> None:
        """The worker has run when this returns."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write("go\n")
        self.child.stdin.flush()
        assert self.child.stdout.readline() == "ran\n"

    def threads(self) -> list[str]:
        return [path.name for path in Path(f"/proc/{self.pid}/task").iterdir()]


@contextmanager
def qemu_like(name: str = "", uuid: str = UUID) -> Iterator[QemuLike]:
    """Running until the end; ``name`` for a thread that is called otherwise."""
    words = [sys.executable, "-c", _CODE, name, "-uuid", uuid]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield QemuLike(child, int(child.stdout.readline()))
        child.kill()
