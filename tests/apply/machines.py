"""Machines to change: a tree of files, one that refuses, and the running kernel in a network namespace of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.trees import MAC, PCI
from tuneagent.apply.lookup import Lookup
from tuneagent.apply.machine import Machine
from tuneagent.machine.sysroot import Sysroot
from tuneagent.machine.writable import WritableRoot
from tuneagent.model.plan import Target

REPOSITORY = Path(__file__).parents[2]
BUILD = """
set -e
mount -t sysfs none /sys
ip link add v0 numrxqueues 4 numtxqueues 4 type veth peer name v1 numrxqueues 1 numtxqueues 1
exec "$0" -m "$1"
"""


class Faulty(WritableRoot):
    """Fails to write as the kernel may; ``arrives``: the value stands there all the same."""

    def __init__(self, root: str, faults: Mapping[str, int], *, arrives: bool = False) -> None:
        super().__init__(root)
        self.faults = dict(faults)
        self.arrives = arrives
        self.tried: list[tuple[str, str]] = []

    def write_value(self, path: str, text: str) -> None:
        self.tried.append((path, text))
        if path not in self.faults or self.arrives:
            super().write_value(path, text)
        if path in self.faults:
            raise OSError(self.faults[path], os.strerror(self.faults[path]), path)


def machine(root: Path | str, files: WritableRoot | None = None) -> Machine:
    """The machine whose files lie below ``root``."""
    source = Sysroot(str(root))
    return Machine(source, files or WritableRoot(str(root)), Lookup(source))


def eth0(queue: int | None = None, role: str | None = None) -> Target:
    """The NIC of a tree of tests.trees, or one queue of it, with a name and a number that are out of date."""
    return Target(bus_address=PCI, mac=MAC, queue=queue, queue_role=role, interface="old0", irq=7)


def in_namespace(module: str) -> dict[str, Any]:
    """What a module's main says in a namespace with v0, a veth of four queues, and v1, its peer with one."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    done = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", BUILD, sys.executable, module],
        cwd=REPOSITORY,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode != 0:
        pytest.fail(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def veth(name: str, queue: int | None = None) -> Target:
    """One end of the veth in the namespace, or a queue of it."""
    mac = Path(f"/sys/class/net/{name}/address").read_text().strip()
    return Target(mac=mac, queue=queue, interface=name)
