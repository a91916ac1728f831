"""irqbalance-config: faults in irqbalance's environment file."""

from __future__ import annotations

from tuneagent.diagnose import balancer
from tuneagent.diagnose.subjects import MACHINE
from tuneagent.diagnose.wording import SENTENCE_LENGTH, clean, counted
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.irqbalance import IrqbalanceConfig
from tuneagent.model.view import View

NAME = "irqbalance-config"
DEPRECATED_KEY = "IRQBALANCE_BANNED_CPUS"
KEY = "IRQBALANCE_BANNED_CPULIST"
MOST_ERRORS = 20


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement of the machine; nothing where there is no such file."""
    if view.after.irqbalance is None:
        return (Unjudged(NAME, MACHINE, "irqbalance's configuration was not looked at"),)
    config = view.after.irqbalance.config
    if config is None:
        return ()
    if config.unreadable is not None:
        return (Unjudged(NAME, MACHINE, f"{clean(config.path)} could not be read: {clean(config.unreadable)}"),)
    return (_judge(view, config),)


def _judge(view: View, config: IrqbalanceConfig) -> Judgement:
    path = clean(config.path)
    deprecated = DEPRECATED_KEY in config.deprecated_keys
    errors = tuple(
        Evidence("configuration_error", clean(error, SENTENCE_LENGTH), "", path)
        for error in config.errors[:MOST_ERRORS]
    )
    if not errors and not deprecated:
        return Clear(NAME, MACHINE, (Evidence("configuration_errors", 0, "errors", path),))
    old = (Evidence("deprecated_key", DEPRECATED_KEY, "", path),) if deprecated else ()
    unused = balancer.running(view) is False
    return Finding(
        NAME,
        MACHINE,
        Severity.WARNING if errors and not unused else Severity.INFO,
        f"{path} has {'faults' if errors else 'a deprecated key'}",
        " ".join((*_faults(config), *_old(config), *_unused(unused=unused))),
        (*errors, *old),
    )


def _faults(config: IrqbalanceConfig) -> tuple[str, ...]:
    return (
        (f"{counted(len(config.errors), 'fault')}, first: {clean(config.errors[0], SENTENCE_LENGTH)}.",)
        if config.errors
        else ()
    )


def _old(config: IrqbalanceConfig) -> tuple[str, ...]:
    if DEPRECATED_KEY not in config.deprecated_keys:
        return ()
    old = f"{DEPRECATED_KEY} is a mask and deprecated; {KEY} is a list."
    return (old, "Both are set, and versions differ in which they take.") if config.banned_cpus_key == KEY else (old,)


def _unused(*, unused: bool) -> tuple[str, ...]:
    return ("irqbalance does not run, so it has no effect now.",) if unused else ()
