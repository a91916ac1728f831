"""The moment of a sample, on three clocks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """clock_gettime(2): MONOTONIC stands still over a suspend, BOOTTIME does not; their difference shows one."""

    monotonic_ns: int
    boottime_ns: int
    realtime_ns: int
