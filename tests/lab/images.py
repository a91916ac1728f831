"""Disk images of the hypervisor and of its guests, made of Debian packages alone and kept in the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.lab import recipe
from tests.lab.keys import Keys, keys
from tests.vm import cache, packages
from tests.vm.initramfs import initramfs
from tests.vm.kernel import SERIES, Kernel, kernel

MODULES = ("virtio_pci", "virtio_blk", "virtio_net", "crc32c_generic", "ext4")
INIT = """\
for i in 1 2 3 4 5 6 7 8 9 10; do [ -e /dev/vda ] && break; sleep 1; done
mount -t ext4 /dev/vda /root || exec echo "no root"
for place in dev proc sys; do mount --move /$place /root/$place; done
exec switch_root /root /sbin/init
"""
# In the hypervisor: kernels and first roots of the guests (LAB/SERIES/kernel and /initramfs), files of the running
# domains, and below STATES what is kept of saved domains from one run to the next.
LAB = Path("/var/lib/lab")
STATES = LAB / "states"


class ImageError(Exception):
    """An image could not be made; the message holds the last lines of the tool that refused."""


@dataclass(frozen=True, slots=True)
class Images:
    """All that a lab is booted from; the disks are read-only, to be overlaid."""

    kernels: Mapping[str, Kernel]
    initramfs: Mapping[str, Path]
    hypervisor: Path
    guest: Path
    keys: Keys


def images() -> Images:
    """The images in the cache; what is missing is made, in minutes, as root.

    Raises ImageError, or packages.PackageError where a package cannot be fetched.
    """
    kernels = {series: kernel(series) for series in SERIES}
    first = {series: initramfs(one, MODULES, INIT) for series, one in kernels.items()}
    ours = keys()
    for_guests = {f"{LAB}/{series}/kernel": kernels[series].image for series in SERIES}
    for_guests |= {f"{LAB}/{series}/initramfs": first[series] for series in SERIES}
    hypervisor = _Recipe(
        "hypervisor", recipe.HYPERVISOR, recipe.SERVICES, recipe.FILES_OF_HYPERVISOR, for_guests, kernels, ours
    )
    guest = _Recipe("guest", recipe.GUEST, recipe.SERVICES_OF_GUEST, recipe.FILES_OF_GUEST, {}, kernels, ours)
    return Images(kernels, first, hypervisor.disk(), guest.disk(), ours)


@dataclass(frozen=True, slots=True)
class _Recipe:
    name: str
    packages: tuple[str, ...]
    services: tuple[str, ...]
    files: Mapping[str, str]
    copies: Mapping[str, Path]
    kernels: Mapping[str, Kernel]
    keys: Keys

    def disk(self) -> Path:
        copied = (*map(str, self.copies.values()), *(str(one.modules) for one in self.kernels.values()))
        words = (*self.packages, *self.services, *recipe.UNREAD, *map(str, self.files.items()), *copied)
        identity = ("image 1", packages.SUITE, self.keys.login.with_suffix(".pub").read_text(), *words)
        return cache.made(f"image-{self.name}", identity, self._build) / "disk.img"

    def _build(self, into: Path) -> None:
        root = into / "root"
        self._bootstrap(root)
        self._copy_in(root)
        disk = into / "disk.img"
        # No journal: the image is never written, and what is written over it is thrown away.
        _checked("truncate", "--size=8G", str(disk))
        _checked("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-d", str(root), str(disk))
        shutil.rmtree(root)

    def _bootstrap(self, root: Path) -> None:
        hooks = [f'--customize-hook=chroot "$1" {command}' for command in self.services]
        options = [f"--dpkgopt=path-exclude={pattern}" for pattern in recipe.UNREAD]
        words = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={','.join(self.packages)}"]
        _checked(*words, "--dpkgopt=force-unsafe-io", *options, *hooks, packages.SUITE, str(root), "-", text=_sources())

    def _copy_in(self, root: Path) -> None:
        for one in self.kernels.values():
            shutil.copytree(one.modules, root / "lib/modules" / one.release, symlinks=True)
        for name, content in self.files.items():
            _write(root / name, content)
        for name, source in self.copies.items():
            place = root / name.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)
        _write(root / "root/.ssh/authorized_keys", self.keys.login.with_suffix(".pub").read_text())
        for kind in ("rsa", "ecdsa", "ed25519"):
            for half in ("", ".pub"):
                (root / f"etc/ssh/ssh_host_{kind}_key{half}").unlink(missing_ok=True)
        _write(root / "etc/ssh/ssh_host_ed25519_key", self.keys.host.read_text())


def _sources() -> str:
    """Where the packages of both images come from: no backports, these are Debian 12 as it is."""
    return "".join(row for row in packages.sources().splitlines(keepends=True) if "-backports" not in row)


def _write(place: Path, content: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    place.write_text(content)
    place.chmod(0o600 if "ssh" in place.parts or ".ssh" in place.parts else 0o644)


def _checked(*words: str, text: str = "") -> None:
    environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(words, input=text, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImageError(f"{words[0]} failed:\n" + "\n".join((done.stdout + done.stderr).splitlines()[-15:]))
