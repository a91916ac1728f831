"""irqbalance: its process, unit, socket and the environment file of the distribution."""

from __future__ import annotations

from functools import partial

from tuneagent.machine.source import Process
from tuneagent.model.errors import SourceError
from tuneagent.model.irqbalance import Irqbalance, IrqbalanceConfig
from tuneagent.model.missing import Reason
from tuneagent.observe.gaps import Gaps
from tuneagent.parse import irqbalance_answers, irqbalance_env, units
from tuneagent.parse.irqbalance_arguments import irqbalance_command

ENVIRONMENT_FILES = (
    "/etc/default/irqbalance",
    "/etc/sysconfig/irqbalance",
    "/etc/conf.d/irqbalance",
    "/etc/irqbalance.env",
    "/usr/lib/irqbalance/irqbalance.env",
)
"""Debian and Ubuntu; RHEL, Fedora and SUSE; Gentoo and Arch; upstream's own, in its two places."""
RUN = "/run/irqbalance"
UNIT = "irqbalance.service"


def observe(gaps: Gaps) -> Irqbalance:
    """What is known; ``running`` is None where neither processes can be seen nor systemd's unit tells."""
    unit = gaps.captured("irqbalance.unit", "units", units.parse)
    state = unit[0].get(UNIT) if unit else None
    by_unit = _by_unit(state)
    seen, process = _process(gaps, "irqbalance.running" if by_unit is None else "irqbalance.command")
    told = irqbalance_command(process.command if process else ())
    return Irqbalance(
        running=process is not None if seen else by_unit,
        pid=process.pid if process else None,
        command=process.command if process else (),
        unit_state=_unit_state(state),
        socket=_socket(gaps, process),
        config=_config(gaps),
        banned_irqs=told.banned_irqs if process is None else _banned(gaps, process, told.banned_irqs),
        banned_modules=told.banned_modules,
    )


def _unit_state(state: units.UnitState | None) -> str | None:
    # A unit that systemd does not have, or that is masked, is "inactive" as well: only its LoadState tells.
    if state is None or state.load in {None, "loaded"}:
        return state.active if state is not None else None
    return state.load


def _by_unit(state: units.UnitState | None) -> bool | None:
    # "activating", "reloading" and the like, and a unit that is not there, leave the question open.
    if state is None or state.load == "not-found":
        return None
    return {"active": True, "inactive": False, "failed": False}.get(state.active or "")


def _process(gaps: Gaps, what: str) -> tuple[bool, Process | None]:
    try:
        found = gaps.source.processes(frozenset({"irqbalance"}))
    except SourceError as error:
        gaps.missing.append(error.missing(what))
        return False, None
    return True, found[0] if found else None


def _socket(gaps: Gaps, process: Process | None) -> str | None:
    # irqbalance.c: SOCKET_TMPFS "/run/irqbalance/irqbalance%d.sock"; the man page's abstract name is stale.
    if process is None:
        return None
    name = f"irqbalance{process.pid}.sock"
    names = gaps.names("irqbalance.socket", RUN, optional=True) or ()
    return f"{RUN}/{name}" if name in names else None


def _banned(gaps: Gaps, process: Process, told: frozenset[int]) -> frozenset[int]:
    """The list as the process has it by now: an order over its socket replaces that of its command line."""
    answer = gaps.captured("irqbalance.banned_irqs", "irqbalance-bans", irqbalance_answers.captured, optional=True)
    if answer is None:
        return told
    (pid, banned), _ = answer
    return banned if pid == process.pid else told


_THERE = frozenset({Reason.PERMISSION, Reason.EMPTY, Reason.MALFORMED, Reason.TOO_LARGE})
"""Reasons that say that a file is there, though it is of no use."""


def _config(gaps: Gaps) -> IrqbalanceConfig | None:
    for path in ENVIRONMENT_FILES:
        before = len(gaps.missing)
        text = gaps.text("irqbalance.config", path, optional=True)
        parse = partial(irqbalance_env.parse, path=path)
        config = gaps.understood("irqbalance.config", path, text.text, parse) if text is not None else None
        if config is None and len(gaps.missing) > before and gaps.missing[-1].reason in _THERE:
            # It is there: whoever would edit it must not be told that there is none.
            return _unusable(path, gaps.missing[-1].detail)
        if config is not None:
            return config
    return None


def _unusable(path: str, detail: str) -> IrqbalanceConfig:
    nothing: frozenset[int] = frozenset()
    return IrqbalanceConfig(path, None, (), nothing, (), None, None, None, (), unreadable=detail)
