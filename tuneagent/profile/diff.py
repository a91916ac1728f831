"""Two profiles → what grew and what shrank, and whether sampling alone could have made it look so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import sqrt
from statistics import NormalDist

from tuneagent.model.profile import Basis, Profile, ProfileDelta, ProfileDiff
from tuneagent.profile.fold import has_samples, shares, total
from tuneagent.profile.symbols import common_names

CONFIDENCE = 0.95
"""That not one of the symbols that did not change is called changed."""
UNNAMED = "samples"
"""The event of a text that does not name it."""
ONE_OF_ALL = (
    "one has shares of all samples only, idle ones included, so those of the other are of all samples too: "
    "how busy the CPUs were makes a difference"
)
OTHER_EVENT = "they sampled different events ({old}, {new}): a share means something else in each"
OTHER_KERNEL = "they ran different kernels ({old}, {new}): code may have moved between functions"


def diff(old: Profile, new: Profile) -> tuple[ProfileDelta, ...]:
    """The symbols of both, largest absolute difference first. Shares are of what :func:`basis` says.

    The error is that of the difference of two proportions of independent samples (binomial; Agresti and Caffo 2000, The
    American Statistician 54:4, which holds for few samples and for a symbol in one profile only), for all symbols at
    once (Bonferroni): of hundreds of symbols some differ by twice their own error.
    """
    shared = basis(old, new)
    before, after = shares(old, shared), shares(new, shared)
    names = common_names(before, after)
    older, newer = _renamed(before, names), _renamed(after, names)
    sizes = _sizes(old, new, shared)
    symbols = older.keys() | newer.keys()
    z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / max(1, len(symbols)))
    return by_delta(_delta(symbol, older.get(symbol), newer.get(symbol), sizes, z) for symbol in symbols)


def compared(old: Profile, new: Profile) -> ProfileDiff:
    """:func:`diff` with what makes it hard to read."""
    return ProfileDiff(old, new, basis(old, new), diff(old, new), tuple(_remarks(old, new)))


def basis(old: Profile, new: Profile) -> Basis:
    """Of busy samples where both have samples; of all where one has somebody's shares only."""
    return Basis.BUSY if has_samples(old) and has_samples(new) else Basis.ALL


def by_delta(deltas: Iterable[ProfileDelta]) -> tuple[ProfileDelta, ...]:
    """Largest absolute difference first, as perf diff has it."""
    return _ordered(deltas, lambda one: abs(one.delta_percent))


def by_baseline(deltas: Iterable[ProfileDelta]) -> tuple[ProfileDelta, ...]:
    """Largest old share first, as ``perf diff -o 0`` has it."""
    return _ordered(deltas, lambda one: one.old_percent or 0.0)


def _ordered(deltas: Iterable[ProfileDelta], size: Callable[[ProfileDelta], float]) -> tuple[ProfileDelta, ...]:
    # Rounded: differences of printed shares that are equal on paper differ in their last binary digit.
    return tuple(sorted(deltas, key=lambda one: (-round(size(one), 6), one.symbol)))


def _renamed(given: Mapping[str, float], names: Mapping[str, str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for symbol, percent in given.items():
        found[names[symbol]] = found.get(names[symbol], 0.0) + percent
    return found


def _sizes(old: Profile, new: Profile, shared: Basis) -> tuple[int, int] | None:
    """Numbers of samples; None where one of them is not known."""
    if not (has_samples(old) and has_samples(new)):
        return None
    return total(old, shared), total(new, shared)


def _delta(symbol: str, old: float | None, new: float | None, sizes: tuple[int, int] | None, z: float) -> ProfileDelta:
    bare = ProfileDelta(symbol, old, new)
    if sizes is None:
        return bare
    before, after = _corrected(old, sizes[0]), _corrected(new, sizes[1])
    variance = before * (1 - before) / (sizes[0] + 2) + after * (1 - after) / (sizes[1] + 2)
    # The interval lies around the corrected difference; around the one that is shown it is a little wider.
    half = 100 * z * sqrt(variance) + abs(100 * (after - before) - bare.delta_percent)
    return replace(bare, error_percent=half, within_noise=abs(bare.delta_percent) <= half)


def _corrected(percent: float | None, samples: int) -> float:
    """The proportion with one success and one failure more."""
    return ((percent or 0.0) / 100 * samples + 1) / (samples + 2)


def _remarks(old: Profile, new: Profile) -> Iterable[str]:
    if has_samples(old) != has_samples(new):
        yield ONE_OF_ALL
    if old.event != new.event and UNNAMED not in {old.event, new.event}:
        yield OTHER_EVENT.format(old=old.event, new=new.event)
    kernels = old.kernel_release, new.kernel_release
    if None not in kernels and kernels[0] != kernels[1]:
        yield OTHER_KERNEL.format(old=kernels[0], new=kernels[1])
