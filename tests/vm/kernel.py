"""Debian's own kernels, unpacked into the cache: nothing is installed, no boot loader is touched."""

from __future__ import annotations

import lzma
import shutil
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
    """One kernel: its release as ``uname -r`` says it, its image, and /lib/modules/RELEASE."""

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
        _trim(next((into / "lib/modules").iterdir()), into)

    tree = cache.made(f"kernel-{series}", ("kernel 1", metapackage, packages.SUITE, *UNUSED), build)
    modules = next((tree / "lib/modules").iterdir())
    return Kernel(series, modules.name, tree / "boot" / f"vmlinuz-{modules.name}", modules)


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
