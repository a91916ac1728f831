"""Saved domains that outlive a run of the tests: a disk for the hypervisor, kept in the cache."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.images import Images
from tests.vm import cache

SIZE = "16G"


@contextmanager
def disk(images: Images, kernel: str) -> Iterator[Path | None]:
    """The disk with domains saved in hypervisors of these images and ``kernel``; None while another run holds it.

    A state fits only the machine it was saved on, so all that this is made of is in the name.
    """
    parts = (images.hypervisor.parent.name, images.guest.parent.name, images.initramfs[kernel].parent.name)
    place = cache.made(f"states-{kernel}", ("states 1", images.kernels[kernel].release, *parts), _format)
    with (place / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield place / "disk.img"


def _format(into: Path) -> None:
    image = str(into / "disk.img")
    subprocess.run(["truncate", f"--size={SIZE}", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True, capture_output=True)
