"""Profiles built in memory, for tests of pure code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tuneagent.model.profile import Profile, SymbolSamples


def reported(**shares: float) -> Profile:
    """Somebody's shares, without samples."""
    return profile(event="samples", shares_percent=shares)


def sampled(samples: Mapping[str, Mapping[int, int]], user: int = 0, idle: int = 0, **fields: Any) -> Profile:
    """Samples by symbol and CPU; ``module:symbol`` is a module's."""
    kernel = []
    for name, per_cpu in samples.items():
        module, _, symbol = name.rpartition(":")
        kernel.append(SymbolSamples(symbol, module or None, dict(per_cpu)))
    return profile(kernel=tuple(kernel), user_samples=user, idle_samples=idle, **fields)


def profile(**fields: Any) -> Profile:
    """A profile of cycles over two seconds."""
    given: dict[str, Any] = {
        "origin": "this machine",
        "event": "cycles",
        "seconds": 2.0,
        "cpus": (0, 1),
        "kernel": (),
        "user_samples": 0,
        "idle_samples": 0,
        "lost": 0,
        "throttled": 0,
        "shares_percent": {},
        "limits": (),
    }
    return Profile(**(given | fields))
