"""``tuneagent profile`` for programs and for later: the keys are those of json.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Finding, Judgement, Unjudged
from tuneagent.model.profile import FoldedProfile, Profile, ProfileDelta, ProfileDiff, SymbolShare
from tuneagent.report.jsonable import jsonable

PROFILE_SCHEMA = "tuneagent.profile/1"
DIFF_SCHEMA = "tuneagent.profile-diff/1"


def to_json(folded: FoldedProfile, version: str, judgements: Iterable[Judgement] = ()) -> dict[str, Any]:
    """The object of ``profile --json`` and of the file that ``profile -o`` writes."""
    profile = folded.profile
    return {
        "schema": PROFILE_SCHEMA,
        "version": version,
        **about(profile),
        "basis": jsonable(folded.basis),
        "samples": folded.samples,
        "user_samples": profile.user_samples,
        "idle_samples": profile.idle_samples,
        "kernel_percent": jsonable(folded.kernel_percent),
        "user_percent": jsonable(folded.user_percent),
        "idle_percent": jsonable(folded.idle_percent),
        "lost": profile.lost,
        "throttled": profile.throttled,
        "cpu_s": jsonable(profile.cpu_s),
        "limits": list(profile.limits),
        **_judged(judgements),
        "symbols": [_symbol(row) for row in folded.rows],
    }


def diff_to_json(diff: ProfileDiff, version: str, judgements: Iterable[Judgement] = ()) -> dict[str, Any]:
    """The object of ``profile diff --json``."""
    return {
        "schema": DIFF_SCHEMA,
        "version": version,
        "old": None if diff.old is None else about(diff.old),
        "new": None if diff.new is None else about(diff.new),
        "basis": jsonable(diff.basis),
        "remarks": list(diff.remarks),
        **_judged(judgements),
        "symbols": [_delta(one) for one in diff.deltas],
    }


def about(profile: Profile) -> dict[str, Any]:
    """What was sampled, where and when."""
    return {
        "origin": profile.origin,
        "event": profile.event,
        "seconds": jsonable(profile.seconds),
        "cpus": str(CpuSet.of(profile.cpus)),
        "kernel_release": profile.kernel_release,
        "taken_at_ns": profile.taken_at_ns,
    }


def _judged(judgements: Iterable[Judgement]) -> dict[str, Any]:
    told = tuple(judgements)
    unjudged = [one for one in told if isinstance(one, Unjudged)]
    return {
        "findings": [_finding(one) for one in told if isinstance(one, Finding)],
        "not_judged": [{"rule": one.rule, "reason": one.reason} for one in unjudged],
    }


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "rule": one.rule,
        "severity": str(one.severity),
        "title": one.title,
        "explanation": one.explanation,
        "evidence": jsonable(one.evidence),
    }


def _symbol(row: SymbolShare) -> dict[str, Any]:
    told: dict[str, Any] = jsonable(row)
    return told | {"per_cpu": None if row.samples is None else told["per_cpu"]}


def _delta(one: ProfileDelta) -> dict[str, Any]:
    return {
        "symbol": one.symbol,
        "old_percent": jsonable(one.old_percent),
        "new_percent": jsonable(one.new_percent),
        "delta_percent": jsonable(one.delta_percent),
        "error_percent": jsonable(one.error_percent),
        "within_noise": one.within_noise,
    }
