"""Debian's own kernels, unpacked into the cache: nothing is installed, no boot loader is touched."""

from __future__ import annotations

import lzma
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.vm import cache, packages

SERIES = {"6.1": "linux-image-amd64", "6.12": "linux-image-6.12-amd64"}
# Drivers of hardware that no machine here has: three quarters of the modules.
UNUSED = (
    *("drivers/gpu", "drivers/media", "drivers/net/wireless", "drivers/net/ethernet", "drivers/staging", "sound"),
    *("drivers/infiniband", "drivers/iio", "drivers/scsi", "drivers/usb", "drivers/hwmon", "drivers/isdn"),
    *("drivers/mtd", "drivers/bluetooth", "drivers/video", "drivers/comedi", "drivers/net/usb", "drivers/mfd"),
    *("net/bluetooth", "net/mac80211", "net/wireless", "fs/xfs", "fs/btrfs", "fs/ocfs2", "fs/gfs2", "fs/ceph"),
)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: its release as ``uname -r`` says it, its unpacked image, and /lib/modules/RELEASE."""

    series: str
    release: str
    image: Path
    modules: Path

    def with_needs(self, *names: str) -> list[Path]:
        """Files of the modules ``names`` and of all they need, in the order to insert them.

        A name that the kernel has built in is left out; what is no module at all raises KeyError.
        """
        needs = self._needs()
        builtin = {_name(Path(line)) for line in (self.modules / "modules.builtin").read_text().splitlines()}
        ordered: dict[str, None] = {}
        for name in names:
            if name in builtin:
                continue
            file, below = needs[name]
            ordered.update(dict.fromkeys([*reversed(below), file]))
        return [self.modules / file for file in ordered]

    def _needs(self) -> dict[str, tuple[str, list[str]]]:
        needs: dict[str, tuple[str, list[str]]] = {}
        for line in (self.modules / "modules.dep").read_text().splitlines():
            file, _, below = line.partition(":")
            needs[_name(Path(file))] = (file, below.split())
        return needs


def kernel(series: str = "6.1") -> Kernel:
    """Debian 12's kernel of ``series`` ("6.1" or "6.12"), fetched the first time."""
    metapackage = SERIES[series]

    def build(into: Path) -> None:
        fetcher = packages.apt(into)
        packages.unpack(fetcher.archive(fetcher.alias(metapackage)), into)
        shutil.rmtree(fetcher.directory)
        modules = next((into / "lib/modules").iterdir())
        _trim(modules, into)
        # An emulated machine takes half a minute to unpack what we unpack in a second; QEMU enters an ELF kernel by its
        # PVH note (include/xen/interface/elfnote.h, XEN_ELFNOTE_PHYS32_ENTRY).
        (into / "vmlinux").write_bytes(unpacked((into / "boot" / f"vmlinuz-{modules.name}").read_bytes()))

    tree = cache.made(f"kernel-{series}", ("kernel 2", metapackage, packages.SUITE, *UNUSED), build)
    modules = next((tree / "lib/modules").iterdir())
    return Kernel(series, modules.name, tree / "vmlinux", modules)


def unpacked(image: bytes) -> bytes:
    """The ELF kernel in a bzImage (Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length).

    Raises ValueError where its payload is packed by neither xz nor zstd.
    """
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (image[0x1F1] + 1) * 512 + offset
    payload = image[start : start + length]
    if payload.startswith(b"\xfd7zXZ"):
        return lzma.LZMADecompressor().decompress(payload)
    if payload.startswith(b"\x28\xb5\x2f\xfd"):
        # The kernel's build appends the unpacked size, which zstd(1) would take for a second, broken frame.
        return subprocess.run(["zstd", "-dcq"], input=payload[:-4], capture_output=True, check=True).stdout
    raise ValueError(f"a kernel packed in a way unknown here: {payload[:6].hex()}")


def _trim(modules: Path, into: Path) -> None:
    for unused in UNUSED:
        shutil.rmtree(modules / "kernel" / unused, ignore_errors=True)
    shutil.rmtree(into / "usr/share", ignore_errors=True)
    for packed in modules.rglob("*.ko.xz"):  # the small init has no decompressor
        packed.with_suffix("").write_bytes(lzma.decompress(packed.read_bytes()))
        packed.unlink()
    subprocess.run(["depmod", "--basedir", into, modules.name], check=True, capture_output=True)


def _name(file: Path) -> str:
    return file.name.partition(".ko")[0].replace("-", "_")
