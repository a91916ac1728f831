"""irqbalance as it is configured and as it runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from tuneagent.model.cpuset import CpuSet

_DRIVER = "virtio-pci"
"""Of a virtio device on PCI (drivers/virtio/virtio_pci_common.c)."""


@dataclass(frozen=True, slots=True)
class IrqbalanceConfig:
    """The distribution's environment file, in /etc/default, /etc/sysconfig or /etc/conf.d."""

    path: str
    key: str | None
    """The variable that carries the options: IRQBALANCE_ARGS, OPTIONS or IRQBALANCE_OPTS; None if not set."""
    options: tuple[str, ...]
    banned_irqs: frozenset[int]
    """--banirq / -i."""
    banned_modules: tuple[str, ...]
    """--banmod / -m."""
    policy_script: str | None
    banned_cpus: CpuSet | None
    """IRQBALANCE_BANNED_CPULIST, else the deprecated IRQBALANCE_BANNED_CPUS; empty: set to nothing; None: not set.

    An empty one yields to the other. Where both are set, versions differ in which they take.
    """
    banned_cpus_key: str | None
    errors: tuple[str, ...]
    """Faults in it, such as an empty --banirq, each with its line."""
    deprecated_keys: tuple[str, ...] = ()
    """Variables that it sets and irqbalance deprecates, whether or not they are the ones that count."""
    plain_line: str | None = None
    """The one line that sets ``key``, exactly, where it is plain enough to be edited by a command; else None."""
    hand_only: str | None = None
    """Why no command can edit the options in the file or add them to it; None where one can."""
    unreadable: str | None = None
    """Why the file, which is there, could not be read or understood; all else is then empty and means nothing."""

    @property
    def options_key(self) -> str:
        """The variable that carries the options; where the file sets none, the one that the service passes on there:
        OpenRC's differs from systemd's.
        """
        return self.key or ("IRQBALANCE_OPTS" if "/conf.d/" in self.path else "IRQBALANCE_ARGS")


@dataclass(frozen=True, slots=True)
class Irqbalance:
    """What is known of irqbalance on this machine."""

    running: bool | None
    pid: int | None
    command: tuple[str, ...]
    unit_state: str | None
    """systemd's ActiveState, or its LoadState where that is not ``loaded`` (``not-found``, ``masked``); None where
    there is no systemd or it was not asked."""
    socket: str | None
    """/run/irqbalance/irqbalance<pid>.sock where it exists."""
    config: IrqbalanceConfig | None
    banned_irqs: frozenset[int] = frozenset()
    """Those that the process has by number: as it says over its socket, else --banirq of its command line."""
    banned_modules: tuple[str, ...] = ()
    """--banmod of the process itself."""

    def leaves(self, irq: int, actions: tuple[str, ...]) -> bool:
        """Whether it was told to leave this interrupt alone, by number or by a part of a name (--banmod).

        Its file counts where its command line is not known: it may have been started before the file became what it
        is, and its unit may read another. What some versions of it would move is not left alone.
        """
        numbers, modules = self.banned_irqs, self.banned_modules
        if self.config is not None and not self.command:
            numbers, modules = numbers | self.config.banned_irqs, modules + self.config.banned_modules
        return irq in numbers or any(module and _is_named(module, actions) for module in modules)


def _is_named(module: str, actions: tuple[str, ...]) -> bool:
    """Whether every version of irqbalance takes the interrupt of a virtio device for one of this module.

    Versions of it compare the last word of the interrupt's row; later ones, for a device on PCI, the name of its driver
    alone (classify.c ``check_for_irq_ban``). Of a line that several devices share it may see another one's driver.
    """
    return len(actions) == 1 and all(module in name for name in (_DRIVER, *actions[0].split()[-1:]))


def order_by_hand(socket: str, banned: Sequence[int]) -> str:
    """The shell line that gives a running irqbalance its whole list of banned interrupts.

    Interrupt 0 ends the list where it is not the first; the kernel adds the credentials that irqbalance wants.
    """
    numbers = " ".join(map(str, sorted(banned, key=bool))) or "NONE"
    code = (
        f"import socket; s = socket.socket(1); s.connect({socket!r}); s.send(b'settings ban irqs {numbers}'); s.recv(1)"
    )
    return f"python3 -c {shlex.quote(code)}"
