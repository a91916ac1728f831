"""Every kind of load behind one function with one result."""

from __future__ import annotations

import time
from dataclasses import replace

from tuneagent.load import client, command, iperf3, limits, neper, netperf, sockperf
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import NO_HOOKS, Hooks
from tuneagent.model.load import WHOLE_SECONDS, LoadKind, LoadResult, LoadSpec

OWN = frozenset({LoadKind.TCP_RR, LoadKind.UDP_RR})
"""Kinds that need `tuneagent load serve` on the other side, and its token."""
_ADAPTERS = {
    LoadKind.SOCKPERF: sockperf.run,
    LoadKind.NETPERF: netperf.run,
    LoadKind.NEPER: neper.run,
    LoadKind.IPERF3: iperf3.run,
    LoadKind.COMMAND: command.run,
}


def run(
    spec: LoadSpec,
    seconds: float,
    *,
    token: str = "",
    warm_up_s: float = client.WARM_UP_S,
    cool_down_s: float = 0.0,
    hooks: Hooks = NO_HOOKS,
) -> LoadResult:
    """Runs a load of any kind; LoadError with one line where that fails.

    ``hooks`` are called at both edges of the measured seconds: exactly for our own kinds and without a load, while the
    program runs for the adapters, at its start and its end for a user's command.
    """
    if spec.kind in OWN:
        return client.run(spec, seconds, token=token, warm_up_s=warm_up_s, cool_down_s=cool_down_s, hooks=hooks)
    if not 0 < seconds <= limits.LONGEST_S:
        raise LoadError(f"{seconds:g} s: a load runs for more than 0 and at most {limits.LONGEST_S:g} s")
    if spec.kind is LoadKind.PASSIVE:
        return _passive(seconds, warm_up_s, hooks)
    if spec.kind is not LoadKind.COMMAND and not spec.host:
        raise LoadError(f"{spec.kind} needs the address of its server")
    result = _ADAPTERS[spec.kind](spec, seconds, warm_up_s, hooks)
    return replace(result, wider=spec.kind in WHOLE_SECONDS)


def _passive(seconds: float, warm_up_s: float, hooks: Hooks) -> LoadResult:
    """No load: the machine's own work goes on, and its counters are the measurer's business."""
    time.sleep(warm_up_s)
    if hooks.began is not None:
        hooks.began()
    began = time.monotonic()
    time.sleep(seconds)
    measured_s = time.monotonic() - began
    if hooks.ended is not None:
        hooks.ended()
    return LoadResult(seconds=measured_s, transactions=None, unit="")
