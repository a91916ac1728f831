"""irqbalance-in-guest: irqbalance runs in a guest whose driver has placed every queue already."""

from __future__ import annotations

from tuneagent.diagnose import balancer, sources
from tuneagent.diagnose.subjects import data_irqs, no_interrupts, role, single_cpu, virtio_nics
from tuneagent.diagnose.wording import counted
from tuneagent.model.finding import Clear, Evidence, Finding, Judgement, Severity, Unjudged
from tuneagent.model.identity import Role
from tuneagent.model.irq import IrqLine
from tuneagent.model.nic import Nic
from tuneagent.model.view import View

NAME = "irqbalance-in-guest"


def judge(view: View) -> tuple[Judgement, ...]:
    """One judgement a virtio NIC with several queues, in a guest where irqbalance runs."""
    nics = [nic for nic in virtio_nics(view) if len(nic.pairs_in_use()) > 1]
    runs = balancer.running(view)
    if role(view) is not Role.GUEST or runs is False or single_cpu(view):
        return ()
    if runs is None:
        return tuple(Unjudged(NAME, nic.name, "whether irqbalance runs is not known") for nic in nics)
    return tuple(_nic(view, nic) for nic in nics)


def _nic(view: View, nic: Nic) -> Judgement:
    lines = [line for irq in data_irqs(nic) if (line := view.after.irq(irq.irq)) is not None]
    if not lines:
        return no_interrupts(NAME, nic)
    placed = [line for line in lines if _as_hinted(line)]
    free = [line for line in placed if not balancer.banned(view, line.irq)]
    evidence = (
        Evidence("interrupts_placed_by_driver", len(placed), "interrupts", sources.hint(lines[0].irq)),
        Evidence("queue_interrupts", len(lines), "interrupts", sources.INTERRUPTS),
    )
    if len(placed) == len(lines) and free and _apart(view, nic):
        return _finding(nic, lines, evidence)
    return Clear(NAME, nic.name, evidence)


def _as_hinted(line: IrqLine) -> bool:
    """Whether an interrupt may only go where its driver asked for (virtnet_set_affinity())."""
    return bool(line.affinity_hint) and line.affinity is not None and line.affinity == line.affinity_hint


def _apart(view: View, nic: Nic) -> bool:
    """Whether no two queue pairs were given the same CPU."""
    seen = 0
    for irqs in nic.pairs_in_use().values():
        lines = [line for irq in irqs if (line := view.after.irq(irq.irq)) is not None]
        bits = 0
        for line in lines:
            bits |= line.affinity_hint.bits if line.affinity_hint is not None else 0
        if bits & seen:
            return False
        seen |= bits
    return True


def _finding(nic: Nic, lines: list[IrqLine], evidence: tuple[Evidence, ...]) -> Finding:
    return Finding(
        NAME,
        nic.name,
        Severity.INFO,
        f"irqbalance runs although the driver has placed the queues of {nic.name}",
        f"All {counted(len(lines), 'queue interrupt')} of {nic.name} are where virtio_net put them, each pair on CPUs "
        "of its own; irqbalance can only keep that or undo it.",
        evidence,
        tuple(sorted(line.irq for line in lines)),
        tuple(sorted(nic.pairs_in_use())),
    )
