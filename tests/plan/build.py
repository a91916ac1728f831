"""Policies, findings and situations for tests of the plan, on the machines of tests.make."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests import make
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.finding import Finding, Severity
from tuneagent.model.identity import Role
from tuneagent.model.irq import IrqLine
from tuneagent.model.irqbalance import Irqbalance, IrqbalanceConfig
from tuneagent.model.nic import Nic
from tuneagent.model.plan import Change, Declined
from tuneagent.model.policy import Action, Disruption, Policy
from tuneagent.model.snapshot import Snapshot
from tuneagent.plan.registry import solver_of
from tuneagent.plan.situation import Situation, Solution


def policy(*actions: Action, name: str = "a-policy", rules: tuple[str, ...] = ("a-rule",), **changes: Any) -> Policy:
    base = Policy(
        name=name,
        title="A policy",
        rules=rules,
        role=Role.GUEST,
        actions=actions,
        parameters={},
        why="because",
        source="a document",
        requires=(),
        disruption=Disruption.NONE,
        expects=(),
        guards=(),
        path=f"policies/{name}.yaml",
    )
    return replace(base, **changes)


def finding(
    rule: str = "a-rule", subject: str = "eth0", severity: Severity = Severity.WARNING, **changes: Any
) -> Finding:
    return replace(Finding(rule, subject, severity, "title", "explanation", ()), **changes)


def balance(config: IrqbalanceConfig | None = None, **changes: Any) -> Irqbalance:
    """Irqbalance running under systemd."""
    return replace(Irqbalance(True, 612, ("irqbalance", "--foreground"), "active", None, config), **changes)


def config(*options: str, **changes: Any) -> IrqbalanceConfig:
    base = IrqbalanceConfig(
        "/etc/sysconfig/irqbalance", "IRQBALANCE_ARGS", options, frozenset(), (), None, None, None, ()
    )
    changed = replace(base, **changes)
    line = None if changed.key is None else f'{changed.key}="{" ".join(options)}"'
    return replace(changed, plain_line=changes.get("plain_line", line))


def solve(
    action: Action, now: Snapshot, *, nic: str | None = "eth0", pinning: bool = False, **parameters: int
) -> Solution | Declined:
    """One action's answer on one snapshot."""
    subject = now.nic(nic) if nic else None
    situation = Situation(policy(action, parameters=parameters), nic or "machine", make.view(now), subject, pinning)
    return solver_of(action)(situation)


def changes(answer: Solution | Declined) -> tuple[Change, ...]:
    assert isinstance(answer, Solution), answer
    return answer.changes


def reason(answer: Solution | Declined) -> str:
    assert isinstance(answer, Declined), answer
    return answer.reason


def spread(now: Snapshot, *cpus: int) -> Snapshot:
    """The same machine with every interrupt allowed on these CPUs and going to the first of them."""
    lines = tuple(
        replace(line, affinity=CpuSet.of(cpus), effective_affinity=CpuSet.of(cpus[:1])) for line in now.irqs or ()
    )
    return replace(now, irqs=lines)


def with_nic(now: Snapshot, **fields: Any) -> Snapshot:
    """The same machine with other values in its first NIC."""
    assert now.nics is not None
    return replace(now, nics=(replace(now.nics[0], **fields), *now.nics[1:]))


def with_line(now: Snapshot, irq: int, **fields: Any) -> Snapshot:
    """The same machine with other values in one interrupt."""
    lines: list[IrqLine] = [replace(line, **fields) if line.irq == irq else line for line in now.irqs or ()]
    return replace(now, irqs=tuple(lines))


def second_nic(name: str, first_irq: int, queues: int, bus_address: str) -> Nic:
    """Another virtio NIC whose interrupts begin at ``first_irq``."""
    shift = first_irq - make.FIRST_QUEUE_IRQ
    irqs = tuple(replace(irq, irq=irq.irq + shift) for irq in make.queue_irqs(queues))
    return make.nic(queues, name=name, bus_address=bus_address, virtio="virtio7", queue_irqs=irqs)


def notes(answer: Solution | Declined) -> str:
    assert isinstance(answer, Solution), answer
    return "\n".join(answer.notes)
