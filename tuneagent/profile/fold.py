"""Samples → shares of each kernel symbol, largest first."""

from __future__ import annotations

from tuneagent.model.profile import Basis, FoldedProfile, Profile, SymbolSamples, SymbolShare


def fold(profile: Profile, most: int | None = None) -> FoldedProfile:
    """The symbols with their shares in percent, at most ``most`` of them.

    Of the busy samples where there are samples, of all where the profile holds somebody's shares only.
    """
    rows = _sampled(profile) if has_samples(profile) else _reported(profile)
    shown = rows if most is None else rows[:most]
    samples = total(profile, Basis.ALL) if has_samples(profile) else None
    kernel = sum(one.samples for one in profile.kernel)
    busy = kernel + profile.user_samples
    return FoldedProfile(
        profile=profile,
        basis=Basis.BUSY if has_samples(profile) else Basis.ALL,
        rows=tuple(shown),
        left_out=len(rows) - len(shown),
        samples=samples,
        kernel_percent=_percent(kernel, busy) if samples else None,
        user_percent=_percent(profile.user_samples, busy) if samples else None,
        idle_percent=_percent(profile.idle_samples, samples) if samples else None,
    )


def has_samples(profile: Profile) -> bool:
    """Whether samples are known, and not only somebody's shares of them."""
    return bool(profile.kernel) or not profile.shares_percent


def total(profile: Profile, basis: Basis) -> int:
    """Samples that make 100 %."""
    busy = sum(one.samples for one in profile.kernel) + profile.user_samples
    return busy + profile.idle_samples if basis is Basis.ALL else busy


def shares(profile: Profile, basis: Basis) -> dict[str, float]:
    """Percent by symbol; the same name in two modules is one symbol. Somebody's shares are as they were given."""
    if not has_samples(profile):
        return dict(profile.shares_percent)
    whole = total(profile, basis)
    found: dict[str, int] = {}
    for one in profile.kernel:
        found[one.symbol] = found.get(one.symbol, 0) + one.samples
    return {symbol: 100 * samples / whole for symbol, samples in found.items() if samples}


def _sampled(profile: Profile) -> list[SymbolShare]:
    ranked = sorted(profile.kernel, key=lambda one: (-one.samples, one.symbol, one.module or ""))
    kernel = sum(one.samples for one in ranked)
    return [_share(one, kernel, kernel + profile.user_samples) for one in ranked if one.samples]


def _share(one: SymbolSamples, kernel: int, busy: int) -> SymbolShare:
    percent, of_kernel = 100 * one.samples / busy, 100 * one.samples / kernel
    return SymbolShare(one.symbol, one.module, percent, of_kernel, one.samples, dict(one.per_cpu))


def _reported(profile: Profile) -> list[SymbolShare]:
    listed = sum(profile.shares_percent.values())
    ranked = sorted(profile.shares_percent.items(), key=lambda item: (-item[1], item[0]))
    return [
        SymbolShare(symbol, None, percent, 100 * percent / listed if listed else None, None)
        for symbol, percent in ranked
    ]


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None
