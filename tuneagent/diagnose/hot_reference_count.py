"""hot-reference-count: CPUs share a counter of references, which is no lock and shows in a profile only.

Judged from a profile, or from the difference of two, and not from a view.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tuneagent.diagnose import sources
from tuneagent.diagnose.subjects import MACHINE
from tuneagent.diagnose.thresholds import (
    HOT_REFERENCE_GROWTH_PERCENT,
    HOT_REFERENCE_PERCENT,
    PROFILE_MIN_SAMPLES,
)
from tuneagent.diagnose.wording import clean, listed
from tuneagent.model.figure import figure
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.profile import UNNAMED, Profile, ProfileDelta

NAME = "hot-reference-count"
SHOWN = 8
COUNTS = re.compile(
    r"dst_release(_immediate)?|dst_hold(_safe)?|dst_clone|"
    r"(raw_|arch_)?atomic(64)?_(long_)?(inc|dec|add|sub)(_return|_not_zero|_and_test|_unless)?\w*|"
    r"refcount_\w+|percpu_ref_\w+|kref_\w+|lockref_\w+|rcuref_\w+|"
    r"neigh_release|neigh_destroy|fib6_info_release|fib_info_put|in6_dev_put|dev_put|dev_hold"
)
"""include/net/dst.h, net/core/dst.c, include/linux/atomic, lib/refcount.c, percpu-refcount.c, lockref.c, rcuref.c."""
HOLDS = frozenset({"ip6_pol_route", "ip6_pol_route_lookup", "ip_route_output_key_hash_rcu", "ip_rt_get_source"})
"""Functions with such a count inlined: their growth beside the others' is of it."""
COMPANIONS = HOLDS | frozenset(
    {
        "fib_table_lookup",
        "fib6_table_lookup",
        "__dev_queue_xmit",
        "ip_finish_output2",
        "ip6_finish_output2",
        "vlan_dev_hard_start_xmit",
        "skb_dst_force",
        "ipv4_dst_check",
        "ip6_dst_check",
    }
)
"""What stands beside them on the forwarding path, for showing."""
_SUFFIX = re.compile(r"(\.(constprop|isra|part|cold|llvm|[0-9]+))+$")


def judge_profile(profile: Profile) -> tuple[Judgement, ...]:
    """One judgement of the machine, by the share of all that is not idle."""
    if profile.kernel:
        busy = sum(one.samples for one in profile.kernel) + profile.user_samples
        if busy < PROFILE_MIN_SAMPLES:
            reason = f"too few samples to judge: {busy} that are not idle, needs {PROFILE_MIN_SAMPLES}"
            return (Unjudged(NAME, MACHINE, reason, idle=True),)
        shares = _summed((one.symbol, 100.0 * one.samples / busy) for one in profile.kernel)
    elif profile.shares_percent:
        shares = _summed(profile.shares_percent.items())
    else:
        return (Unjudged(NAME, MACHINE, "no symbol of the kernel is in the profile"),)
    counts = {name: share for name, share in shares.items() if COUNTS.fullmatch(name)}
    share, unnamed = sum(counts.values()), shares.get(UNNAMED, 0.0)
    if share < HOT_REFERENCE_PERCENT <= share + unnamed:
        return (Unjudged(NAME, MACHINE, f"{figure(unnamed)} % of the samples are of functions without a name"),)
    if share < HOT_REFERENCE_PERCENT:
        return (Clear(NAME, MACHINE, (Evidence("reference_counts_percent", share, "%", sources.PROFILE),)),)
    return (_hot(shares, counts, share),)


def judge_delta(deltas: Iterable[ProfileDelta]) -> tuple[Judgement, ...]:
    """One judgement of the machine, by what grew from the old profile to the new; none where there is nothing."""
    rows = tuple(deltas)
    if not rows:
        return ()
    growth = _summed((row.symbol, row.delta_percent) for row in rows if row.symbol != UNNAMED)
    counts = {name: points for name, points in growth.items() if COUNTS.fullmatch(name)}
    grown = sum(counts.values())
    if reason := _hidden(rows, grown):
        return (Unjudged(NAME, MACHINE, reason),)
    if grown < HOT_REFERENCE_GROWTH_PERCENT:
        return (Clear(NAME, MACHINE, (Evidence("reference_counts_growth_points", grown, "points", sources.PROFILE),)),)
    return (_grown(growth, counts, grown),)


def _hidden(rows: Iterable[ProfileDelta], grown: float) -> str | None:
    """Why the functions without a name forbid to say whether the counts grew; None where they do not matter."""
    unnamed = [row for row in rows if row.symbol == UNNAMED]
    old, new = sum(row.old_percent or 0.0 for row in unnamed), sum(row.new_percent or 0.0 for row in unnamed)
    if grown < HOT_REFERENCE_GROWTH_PERCENT <= grown + new:
        return f"{figure(new)} % of the new samples are of functions without a name"
    if grown - max(0.0, old - new) < HOT_REFERENCE_GROWTH_PERCENT <= grown:
        return f"{figure(old)} % of the old samples are of functions without a name: what grew may only have got one"
    return None


def _hot(shares: dict[str, float], counts: dict[str, float], share: float) -> Finding:
    return Finding(
        NAME,
        MACHINE,
        Severity.WARNING,
        f"{figure(share)} % of the samples count references",
        f"{_named(counts, ' %')}{_beside(shares, ' %')}. Each of these changes a counter that all CPUs share; it is no "
        "lock, so no lock statistics show it.",
        (
            Evidence("reference_counts_percent", share, "%", sources.PROFILE),
            *(Evidence(f"{clean(name)}_percent", value, "%", sources.PROFILE) for name, value in _largest(counts)),
        ),
    )


def _grown(growth: dict[str, float], counts: dict[str, float], grown: float) -> Finding:
    return Finding(
        NAME,
        MACHINE,
        Severity.WARNING,
        f"Counting references grew by {figure(grown)} points of the samples",
        f"{_named(counts, ' points')}{_beside(growth, ' points')}. A shared counter costs the more, the more CPUs "
        "touch it; it is no lock, so no lock statistics show it.",
        (
            Evidence("reference_counts_growth_points", grown, "points", sources.PROFILE),
            *(
                Evidence(f"{clean(name)}_growth_points", value, "points", sources.PROFILE)
                for name, value in _largest(counts)
            ),
        ),
    )


def _summed(shares: Iterable[tuple[str, float]]) -> dict[str, float]:
    """By the name as in the source: ppc64's leading dot and what compilers put behind are left out."""
    sums: dict[str, float] = {}
    for symbol, share in shares:
        plain = symbol.lstrip(".")
        name = _SUFFIX.sub("", plain) or symbol
        sums[name] = sums.get(name, 0.0) + share
    return sums


def _largest(values: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))[:SHOWN]


def _named(values: dict[str, float], unit: str) -> str:
    return listed(f"{name} {figure(value)}{unit}" for name, value in _largest(values))


def _beside(values: dict[str, float], unit: str) -> str:
    companions = {name: value for name, value in values.items() if name in COMPANIONS}
    return f"; beside them {_named(companions, unit)}" if companions else ""
