"""Which machine this is, and what kind."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """Which side of the virtual machine boundary something is on."""

    GUEST = "guest"
    HYPERVISOR = "hypervisor"
    BARE_METAL = "bare-metal"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Identity:
    """product_uuid joins a guest to its libvirt domain; boot_id tells whether two samples are of one boot."""

    product_uuid: str | None
    boot_id: str | None
    kernel_release: str | None
    architecture: str | None
    virtualisation: str | None
    """``kvm``, ``qemu``, ``xen``, ``microsoft``, ``none``…: systemd-detect-virt's words."""
    container: str | None
    """``docker``, ``lxc``, ``systemd-nspawn``… where the agent runs in a container; None where it does not."""
    role: Role
    read_only: tuple[str, ...] = ()
    """Of /proc/irq and /sys, those that this process sees mounted read-only: a sandbox in which nothing can be set."""
