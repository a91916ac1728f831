"""What is to be seen of spinlocks, from what kernels say when they boot."""

from __future__ import annotations

import pytest

from tuneagent.model.contention import SpinVisibility
from tuneagent.parse.spinlocks import visibility

BOOT = "Linux version 6.1.0\nBooting paravirtualized kernel on KVM\n"


@pytest.mark.parametrize(
    ("log", "seen"),
    [
        (f"{BOOT}kvm-guest: PV spinlocks enabled\n", SpinVisibility.EVERY),
        ("kvm-guest: PV spinlocks enabled\n", SpinVisibility.EVERY),
        (f"{BOOT}Hyper-V: PV spinlocks enabled\n", SpinVisibility.EVERY),
        (f"{BOOT}xen: PV spinlocks enabled\n", SpinVisibility.EVERY),
        (f"{BOOT}kvm-guest: PV spinlocks disabled, no host support\n", SpinVisibility.NONE),
        (f"{BOOT}kvm-guest: PV spinlocks disabled with KVM_HINTS_REALTIME hints\n", SpinVisibility.FROM_THIRD),
        (f"{BOOT}kvm-guest: PV spinlocks disabled, single CPU\n", SpinVisibility.FROM_THIRD),
        (f'{BOOT}kvm-guest: PV spinlocks disabled, forced by "nopvspin" parameter\n', SpinVisibility.FROM_THIRD),
        (f"{BOOT}xen: PV spinlocks disabled\n", SpinVisibility.FROM_THIRD),
        (f"{BOOT}Hyper-V: PV spinlocks disabled\n", SpinVisibility.NONE),
        (BOOT, SpinVisibility.NONE),
        ("Linux version 6.1.0\nx86: no paravirtualization\n", SpinVisibility.UNKNOWN),
        ("eth0: link becomes ready\n", SpinVisibility.UNKNOWN),
        ("", SpinVisibility.UNKNOWN),
        (None, SpinVisibility.UNKNOWN),
    ],
)
def test_a_guest_by_its_log(log: str | None, seen: SpinVisibility) -> None:
    assert visibility("x86_64", hypervisor=True, boot_log=log) is seen


def test_a_machine_without_a_hypervisor() -> None:
    assert visibility("x86_64", hypervisor=False, boot_log=None) is SpinVisibility.FROM_THIRD


def test_a_machine_that_hides_it() -> None:
    assert visibility("x86_64", hypervisor=None, boot_log=BOOT) is SpinVisibility.UNKNOWN


@pytest.mark.parametrize(
    ("architecture", "seen"),
    [
        ("aarch64", SpinVisibility.FROM_THIRD),
        ("riscv64", SpinVisibility.UNKNOWN),
        ("s390x", SpinVisibility.UNKNOWN),
        ("ppc64le", SpinVisibility.UNKNOWN),
    ],
)
def test_other_architectures(architecture: str, seen: SpinVisibility) -> None:
    assert visibility(architecture, hypervisor=True, boot_log=BOOT) is seen
