"""What the lab needs from the machine that runs it."""

from __future__ import annotations

from tests.vm.prerequisites import VM, Needs

LAB = Needs(
    programs={
        **VM.programs,
        "mkfs.ext4": "e2fsprogs",
        "mmdebstrap": "mmdebstrap",
        "ssh": "openssh-client",
        "ssh-keygen": "openssh-client",
        "tar": "tar",
        "truncate": "coreutils",
    },
    root=True,  # a root file system has files of many owners
)


def missing_packages() -> list[str]:
    """Debian packages that the lab needs and this machine lacks; QEMU and kernels are fetched into the cache."""
    return LAB.missing_packages()
