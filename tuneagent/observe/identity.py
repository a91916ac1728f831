"""Which machine this is: its UUID, boot, kernel and what it runs on or in."""

from __future__ import annotations

from tuneagent.model.errors import ParseError
from tuneagent.model.identity import Identity, Role
from tuneagent.observe.gaps import Gaps
from tuneagent.parse import cpuinfo

DMI = "/sys/class/dmi/id"
CONTAINERS = ("docker", "podman", "lxc", "kubepods", "containerd", "libpod", "machine.slice/systemd-nspawn")
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
        boot_id=gaps.word("identity.boot_id", "/proc/sys/kernel/random/boot_id"),
        kernel_release=gaps.word("identity.kernel_release", "/proc/sys/kernel/osrelease"),
        architecture=gaps.word("identity.architecture", "/proc/sys/kernel/arch"),
        virtualisation=virtualisation,
        container=_container(gaps),
        role=_role(gaps, virtualisation),
    )


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
    return next((kind for kind in CONTAINERS if any(kind in path for path in paths)), None)


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
    links = [(gaps.link(f"/proc/self/ns/{name}") or "").rsplit("/", 1)[-1] for name in ("pid", "cgroup")]
    return links == list(_FIRST_NAMESPACES)


def _role(gaps: Gaps, virtualisation: str | None) -> Role:
    if virtualisation is not None and virtualisation != "none":
        return Role.GUEST
    if gaps.names("identity.role", "/sys/bus/virtio/devices", optional=True):
        return Role.GUEST  # a virtio device is presented by a hypervisor, and a small tree may hold no other sign
    if gaps.names("identity.role", "/sys/module/kvm", optional=True):
        return Role.HYPERVISOR
    return Role.UNKNOWN if virtualisation is None else Role.BARE_METAL
