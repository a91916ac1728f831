"""Which machine this is, and what kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.observe.looking import Refusing, gaps_at, look, put
from tests.trees import BOOT, UUID, guest
from tuneagent.model.identity import Identity, Role
from tuneagent.model.missing import Reason
from tuneagent.observe import snapshot

CLOCKS = "sys/devices/system/clocksource/clocksource0/available_clocksource"


def identity(root: Path) -> Identity:
    found = look(root).identity
    assert found is not None
    return found


def without_clock_and_vendor(root: Path) -> Path:
    for path in (CLOCKS, "sys/class/dmi/id/product_name", "sys/class/dmi/id/sys_vendor"):
        (root / path).unlink()
    return root


def test_a_kvm_guest(tmp_path: Path) -> None:
    assert identity(guest(tmp_path)) == Identity(UUID, BOOT, "6.12.9", "x86_64", "kvm", None, Role.GUEST)


@pytest.mark.parametrize(
    ("clocks", "kind"),
    [
        ("tsc kvm-clock ", "kvm"),
        ("xen tsc", "xen"),
        ("tsc hyperv_clocksource_tsc_page hyperv_clocksource_msr", "microsoft"),
        ("tsc hpet", "qemu"),
    ],
)
def test_the_paravirtual_clock_tells(tmp_path: Path, clocks: str, kind: str) -> None:
    put(guest(tmp_path), f"/{CLOCKS}", f"{clocks}\n")
    assert identity(tmp_path).virtualisation == kind


@pytest.mark.parametrize(
    ("vendor", "kind"), [("QEMU", "qemu"), ("Amazon EC2", "amazon"), ("Xen", "xen"), ("Acme", "unknown-hypervisor")]
)
def test_the_vendor_tells_where_no_clock_does(tmp_path: Path, vendor: str, kind: str) -> None:
    without_clock_and_vendor(guest(tmp_path))
    put(tmp_path, "/sys/class/dmi/id/sys_vendor", f"{vendor}\n")
    assert identity(tmp_path).virtualisation == kind


def test_an_arm_guest_by_its_device_tree(tmp_path: Path) -> None:
    without_clock_and_vendor(guest(tmp_path))
    put(tmp_path, "/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n")
    put(tmp_path, "/proc/device-tree/hypervisor/compatible", "linux,kvm\0")
    assert identity(tmp_path).virtualisation == "kvm"


def test_bare_metal_and_hypervisor(tmp_path: Path) -> None:
    without_clock_and_vendor(guest(tmp_path))
    (tmp_path / "sys/bus/virtio/devices/virtio0").unlink()
    put(tmp_path, "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu msr\n")
    assert (identity(tmp_path).virtualisation, identity(tmp_path).role) == ("none", Role.BARE_METAL)
    put(tmp_path, "/sys/module/kvm/refcnt", "3\n")
    assert identity(tmp_path).role is Role.HYPERVISOR


def test_an_empty_tree_claims_nothing(tmp_path: Path) -> None:
    assert identity(tmp_path) == Identity(None, None, None, None, None, None, Role.UNKNOWN)


def test_the_uuid_needs_root_and_says_so(tmp_path: Path) -> None:
    path = "/sys/class/dmi/id/product_uuid"
    seen = snapshot(Refusing(guest(tmp_path), path))
    assert seen.identity is not None
    assert seen.identity.product_uuid is None
    assert [(gap.what, gap.remedy) for gap in gaps_at(seen, path)] == [("identity.product_uuid", "run as root")]


@pytest.mark.parametrize("text", ["", "\n", "a\nb\n", "\x1b[31m\n", "x" * 5000])
@pytest.mark.parametrize("path", ["/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/osrelease"])
def test_what_is_no_word_is_unknown_and_named(tmp_path: Path, path: str, text: str) -> None:
    put(guest(tmp_path), path, text)
    seen = look(tmp_path)
    assert seen.identity is not None
    assert None in (seen.identity.boot_id, seen.identity.kernel_release)
    (gap,) = gaps_at(seen, path)
    assert gap.reason is (Reason.MALFORMED if text.strip() else Reason.EMPTY)


@pytest.mark.parametrize(
    ("cgroup", "kind"),
    [
        ("0::/\n", None),
        ("0::/system.slice/docker-0123.scope\n", "docker"),
        ("4:memory:/docker/0123456789ab\n", "docker"),
        ("0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-0a1b.scope/container\n", "podman"),
        ("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod7.slice/crio-9f.scope\n", "kubepods"),
        ("0::/system.slice/containerd.service/pod7.slice:cri-containerd:0a1b\n", "containerd"),
        ("0::/lxc.payload.web/init.scope\n", "lxc"),
        ("0::/machine.slice/systemd-nspawn@web.service/payload\n", "systemd-nspawn"),
        ("0::/machine.slice/systemd-nspawn@web.service/supervisor\n", None),
        ("0::/system.slice/docker.service\n", None),
        ("0::/system.slice/containerd.service\n", None),
        ("0::/system.slice/podman.service\n", None),
        ("0::/system.slice/lxcfs.service\n", None),
        ("0::/lxc.monitor.web\n", None),
        ("0::/user.slice/libpod-conmon-0a1b.scope\n", None),
        ("0::/system.slice/docker-proxy.service/docker\n", None),
        ("12:pids:/kubepods/besteffort/pod7\n0::/\n", "kubepods"),
        ("1:name=systemd:/lxc/web\n", "lxc"),
    ],
)
def test_containers_by_their_control_group(tmp_path: Path, cgroup: str, kind: str | None) -> None:
    put(guest(tmp_path), "/proc/self/cgroup", cgroup)
    assert identity(tmp_path).container == kind


def test_a_marker_file_in_the_first_namespaces_is_no_container(tmp_path: Path) -> None:
    """A virtual machine whose root file system was made of a container image keeps the image's marker."""
    put(guest(tmp_path), "/.dockerenv", "")
    assert identity(tmp_path).container == "docker"
    ns = tmp_path / "proc/self/ns"
    ns.mkdir()
    (ns / "pid").symlink_to("pid:[4026531836]")
    (ns / "cgroup").symlink_to("cgroup:[4026531835]")
    assert identity(tmp_path).container is None


def in_namespaces(root: Path, pid: int, cgroup: int) -> Path:
    ns = root / "proc/self/ns"
    ns.mkdir(parents=True, exist_ok=True)
    (ns / "pid").symlink_to(f"pid:[{pid}]")
    (ns / "cgroup").symlink_to(f"cgroup:[{cgroup}]")
    return root


@pytest.mark.parametrize(
    ("pid", "cgroup", "kind"),
    [
        (4026532999, 4026533000, "unknown"),
        (4026531836, 4026533000, None),
        (4026532999, 4026531835, None),
        (4026531836, 4026531835, None),
    ],
)
def test_namespaces_of_its_own_are_those_of_a_container(
    tmp_path: Path, pid: int, cgroup: int, kind: str | None
) -> None:
    assert identity(in_namespaces(guest(tmp_path), pid, cgroup)).container == kind


@pytest.mark.parametrize(
    ("environment", "kind"),
    [
        ("HOME=/\0container=lxc\0TERM=linux\0", "lxc"),
        ("container=oci", "oci"),
        ("xcontainer=lxc\0container=\0", None),
        ("container=\x1b[31m\0", None),
        ("container=" + "x" * 33, None),
    ],
)
def test_the_first_process_may_know_its_container(tmp_path: Path, environment: str, kind: str | None) -> None:
    put(guest(tmp_path), "/proc/1/environ", environment)
    assert identity(tmp_path).container == kind


def test_what_only_root_may_ask_the_first_process_is_not_asked_outside_a_container(tmp_path: Path) -> None:
    path = "/proc/1/environ"
    put(guest(tmp_path), path, "container=lxc\0")
    assert gaps_at(snapshot(Refusing(tmp_path, path)), path)[0].remedy == "run as root"
    in_namespaces(tmp_path, 4026531836, 4026531835)
    assert gaps_at(snapshot(Refusing(tmp_path, path)), path) == []


def test_a_control_group_file_that_is_none_is_named(tmp_path: Path) -> None:
    put(guest(tmp_path), "/proc/self/cgroup", "0::/\nnonsense\n")
    (gap,) = gaps_at(look(tmp_path), "/proc/self/cgroup")
    assert (gap.what, gap.line) == ("identity.container", 2)


def test_places_that_a_sandbox_closes_are_named(tmp_path: Path) -> None:
    root = guest(tmp_path)
    put(root, "/proc/self/mounts", "proc /proc proc rw 0 0\nproc /proc/irq proc ro 0 0\nsysfs /sys sysfs rw 0 0\n")
    assert identity(root).read_only == ("/proc/irq",)
