"""A first root of a few files: busybox, the modules that reach the real root, and an init."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.vm import cache, packages
from tests.vm.kernel import Kernel

DIRECTORY, FILE, CHARACTER_DEVICE = 0o040755, 0o100755, 0o020600
HEADER = """\
#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for module in /modules/*; do insmod "$module" || echo "cannot insert $module"; done
"""


def initramfs(kernel: Kernel, modules: tuple[str, ...], init: str) -> Path:
    """An initramfs that inserts ``modules`` with their needs and goes on with the busybox script ``init``."""
    files = kernel.with_needs(*modules)

    def build(into: Path) -> None:
        members = {f"modules/{place:02}-{file.name}": file.read_bytes() for place, file in enumerate(files)}
        members |= {"bin/busybox": busybox().read_bytes(), "init": (HEADER + init).encode()}
        (into / "initramfs").write_bytes(archive(members))

    recipe = ("initramfs 1", kernel.release, *modules, HEADER, init)
    return cache.made(f"initramfs-{kernel.series}", recipe, build) / "initramfs"


def busybox() -> Path:
    """A busybox that needs no library."""

    def build(into: Path) -> None:
        fetcher = packages.apt(into)
        packages.unpack(fetcher.archive("busybox-static"), into)
        shutil.rmtree(fetcher.directory)

    return cache.made("busybox", ("busybox 1", packages.SUITE), build) / "bin/busybox"


def archive(members: Mapping[str, bytes]) -> bytes:
    """A cpio archive as the kernel reads it (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    below = {str(parent) for name in members for parent in Path(name).parents} - {"."}
    directories = sorted(below | {"dev", "proc", "sys", "root", "rw"})
    entries = [_entry(name, DIRECTORY, b"") for name in directories]
    entries.append(_entry("dev/console", CHARACTER_DEVICE, b"", device=(5, 1)))
    entries += [_entry(name, FILE, content) for name, content in members.items()]
    return b"".join([*entries, _entry("TRAILER!!!", 0, b"")])


def _entry(name: str, mode: int, content: bytes, device: tuple[int, int] = (0, 0)) -> bytes:
    fields = (0, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    return _padded(head) + _padded(content)


def _padded(part: bytes) -> bytes:
    return part + b"\0" * (-len(part) % 4)
