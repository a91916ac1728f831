"""Which machine this is: its UUID, boot, kernel and what it runs on or in."""

from __future__ import annotations

import re

from tuneagent.model.errors import ParseError
from tuneagent.model.identity import Identity, Role
from tuneagent.observe.gaps import Gaps
from tuneagent.parse import cpuinfo, mounts

SET_BELOW = ("/proc/irq", "/sys")
"""Where changes are written: systemd's ProtectKernelTunables and containers mount them read-only."""
DMI = "/sys/class/dmi/id"
INIT_ENVIRONMENT = "/proc/1/environ"
_KIND = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
_CONTAINERS = tuple(
    (kind, re.compile(rf"/(?:{parts})(?=/|$)"))
    for kind, parts in (
        ("docker", r"docker-[0-9a-f]+\.scope|docker/[0-9a-f]{12,64}"),
        ("podman", r"libpod-[0-9a-f]+(?:\.scope)?"),
        ("lxc", r"lxc\.payload(?:\.[^/]+|/[^/]+)|lxc/[^/]+"),
        ("kubepods", r"kubepods(?:[.-][^/]*)?"),
        ("cri-o", r"crio-[0-9a-f]+(?:\.scope)?"),
        ("containerd", r"(?:[^/]*:)?(?:cri-containerd|nerdctl)[-:][0-9a-f]+(?:\.scope)?"),
        ("systemd-nspawn", r"systemd-nspawn@[^/]+\.service(?!/supervisor)"),
    )
)
"""The control groups that each puts its containers in. Those of its own services and monitors are none of them:
docker.service, lxcfs.service, lxc.monitor.web and libpod-conmon-0a1b.scope are the host's."""
_CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
_BY_CLOCKSOURCE = (
    ("kvm-clock", "kvm"),
    ("hyperv_clocksource_tsc_page", "microsoft"),
    ("hyperv_clocksource_msr", "microsoft"),
    ("xen", "xen"),
)
"""A guest's paravirtual clock is registered only by the hypervisor that it is of: arch/x86/kernel/kvmclock.c,
drivers/clocksource/hyperv_timer.c, arch/x86/xen/time.c."""
_BY_VENDOR = (
    ("QEMU", "qemu"),
    ("KVM", "kvm"),
    ("Amazon EC2", "amazon"),
    ("Google", "google"),
    ("VMware", "vmware"),
    ("innotek", "oracle"),
    ("Microsoft", "microsoft"),
    ("Xen", "xen"),
)


_FIRST_NAMESPACES = ("pid:[4026531836]", "cgroup:[4026531835]")
"""PROC_PID_INIT_INO and PROC_CGROUP_INIT_INO (include/linux/proc_ns.h): the namespaces that the kernel booted with."""


def observe(gaps: Gaps) -> Identity:
    """The identity; each part None where the machine does not tell."""
    virtualisation = _virtualisation(gaps)
    return Identity(
        product_uuid=_uuid(gaps),
        boot_id=boot_id(gaps),
        kernel_release=gaps.word("identity.kernel_release", "/proc/sys/kernel/osrelease"),
        architecture=gaps.word("identity.architecture", "/proc/sys/kernel/arch"),
        virtualisation=virtualisation,
        container=_container(gaps),
        role=_role(gaps, virtualisation),
        read_only=_read_only(gaps),
    )


def boot_id(gaps: Gaps) -> str | None:
    """What tells one boot from another."""
    return gaps.word("identity.boot_id", "/proc/sys/kernel/random/boot_id")


def _uuid(gaps: Gaps) -> str | None:
    uuid = gaps.word("identity.product_uuid", f"{DMI}/product_uuid", optional=False)
    return uuid.lower() if uuid else None


def _virtualisation(gaps: Gaps) -> str | None:
    flagged = gaps.parsed("identity.virtualisation", "/proc/cpuinfo", cpuinfo.parse, optional=True)
    clocks = (gaps.word("identity.virtualisation", _CLOCKSOURCE, blank=True) or "").split()
    for clock, kind in _BY_CLOCKSOURCE:
        if clock in clocks:
            return kind
    if xen := gaps.word("identity.virtualisation", "/sys/hypervisor/type"):
        return xen[:16]
    # Strings of a device tree end in a NUL (Devicetree Specification, 2.2.4).
    tree = gaps.text("identity.virtualisation", "/proc/device-tree/hypervisor/compatible", optional=True)
    if tree is not None and "linux,kvm" in tree.text.split("\0"):
        return "kvm"
    vendor = _vendor(gaps)
    if vendor is not None and flagged is not False:
        return vendor
    if flagged is None:
        return None
    return "unknown-hypervisor" if flagged else "none"


def _vendor(gaps: Gaps) -> str | None:
    for name in ("product_name", "sys_vendor"):
        text = gaps.word("identity.virtualisation", f"{DMI}/{name}", blank=True) or ""
        for start, kind in _BY_VENDOR:
            if text.startswith(start):
                return kind
    return None


def _container(gaps: Gaps) -> str | None:
    if kind := gaps.word("identity.container", "/run/systemd/container"):
        return kind[:32]
    for path, kind in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if gaps.text("identity.container", path, optional=True) is not None and not _in_first_namespaces(gaps):
            return kind
    paths = gaps.parsed("identity.container", "/proc/self/cgroup", _cgroups, optional=True) or ()
    for kind, group in _CONTAINERS:
        if any(group.search(path) for path in paths):
            return kind
    return None if _in_first_namespaces(gaps) else _told_to_init(gaps) or _by_namespaces(gaps)


def _told_to_init(gaps: Gaps) -> str | None:
    # The manager's word to the first process (systemd's container interface); only root may read it.
    text = gaps.text("identity.container", INIT_ENVIRONMENT, optional=True)
    entries = text.text.split("\0") if text is not None else []
    kind = next((entry for entry in entries if entry.startswith("container=")), "").removeprefix("container=")
    return kind if _KIND.fullmatch(kind) else None


def _by_namespaces(gaps: Gaps) -> str | None:
    own = all(found and found != first for found, first in zip(_namespaces(gaps), _FIRST_NAMESPACES, strict=True))
    return "unknown" if own else None


def _cgroups(text: str) -> tuple[str, ...]:
    """The paths of ``hierarchy:controllers:path`` (cgroups(7)); none in a kernel without control groups."""
    paths: list[str] = []
    for number, line in enumerate(filter(None, text.split("\n")), 1):
        parts = line.split(":", 2)
        if len(parts) < 3 or not parts[0].isdecimal():  # noqa: PLR2004 - the three fields of a line
            raise ParseError("expected hierarchy:controllers:path", number)
        paths.append(parts[2])
    return tuple(paths)


def _in_first_namespaces(gaps: Gaps) -> bool:
    # A virtual machine whose root file system was made from a container image keeps the image's marker files.
    return _namespaces(gaps) == _FIRST_NAMESPACES


def _namespaces(gaps: Gaps) -> tuple[str, ...]:
    return tuple((gaps.link(f"/proc/self/ns/{name}") or "").rsplit("/", 1)[-1] for name in ("pid", "cgroup"))


def _read_only(gaps: Gaps) -> tuple[str, ...]:
    table = gaps.parsed("identity.read_only", "/proc/self/mounts", mounts.parse, optional=True)
    return tuple(place for place in SET_BELOW if mounts.read_only(table, place)) if table else ()


def _role(gaps: Gaps, virtualisation: str | None) -> Role:
    if virtualisation is not None and virtualisation != "none":
        return Role.GUEST
    if gaps.names("identity.role", "/sys/bus/virtio/devices", optional=True):
        return Role.GUEST  # a virtio device is presented by a hypervisor, and a small tree may hold no other sign
    if gaps.names("identity.role", "/sys/module/kvm", optional=True):
        return Role.HYPERVISOR
    return Role.UNKNOWN if virtualisation is None else Role.BARE_METAL
