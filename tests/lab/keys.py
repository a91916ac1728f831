"""The ssh keys of the lab: one to log in with, one that its machines show; made once, for loopback only."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.vm import cache

NAME_OF_HOST_KEY = "tuneagent-lab"


@dataclass(frozen=True, slots=True)
class Keys:
    """Private key files; each has its public half beside it with the suffix .pub."""

    login: Path
    host: Path
    known_hosts: Path


def keys() -> Keys:
    """The keys in the cache, generated the first time."""
    place = cache.made("keys", ("keys 1", NAME_OF_HOST_KEY), _generate)
    return Keys(place / "login", place / "host", place / "known_hosts")


def _generate(into: Path) -> None:
    for name in ("login", "host"):
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"tuneagent-lab {name}", "-f", str(into / name)]
        subprocess.run(words, check=True, capture_output=True)
    kind, public, *_ = (into / "host.pub").read_text().split()
    (into / "known_hosts").write_text(f"{NAME_OF_HOST_KEY} {kind} {public}\n")
