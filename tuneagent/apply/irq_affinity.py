"""Where an interrupt may go: /proc/irq/N/smp_affinity_list (kernel/irq/proc.c, kernel/irq/manage.c)."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tuneagent.apply import irq_counts, values
from tuneagent.apply.actuator import Place, Refusal, Seen, Why
from tuneagent.apply.irq_counts import Counts
from tuneagent.apply.kernel_file import Answer, KernelFile, fault_of
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.irq import IrqLine
from tuneagent.model.irqbalance import Irqbalance
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect
from tuneagent.observe import irqbalance
from tuneagent.observe.gaps import Gaps, some_cpus
from tuneagent.parse import cpulist
from tuneagent.parse.lines import shown

FEW = 4
"""Interrupts that may still come to an old CPU after the write: the one that moves the vector, and those under way."""
_ONLINE = "/sys/devices/system/cpu/online"
_FIXED: Answer = (Why.FACT, "the kernel fixes its place (a managed or per-CPU interrupt)", None)
_FREED = "its handler has gone"
_DRIVER = "the driver set it anew (its affinity hint)"
_BALANCER = "irqbalance runs and was not told to leave it"


@dataclass(frozen=True, slots=True)
class Mark:
    """An interrupt at one moment."""

    counts: Counts | None
    """None where they cannot be read."""
    effective: CpuSet
    """Where it went; empty where the kernel does not tell."""


@dataclass(slots=True)
class _Irq:
    """An interrupt, and how it was right after its last write: what came between mark and write proves nothing."""

    line: IrqLine
    written: Mark | None = None


class IrqAffinity(KernelFile):
    """The CPUs that a queue's interrupt may go to, as a list."""

    kinds = (TunableKind.IRQ_AFFINITY,)
    answers: Mapping[int, Answer] = {
        # write_irq_affinity(): EIO before, EPERM since kernel commit eb29369fa543
        errno.EIO: _FIXED,
        errno.EPERM: _FIXED,
        # arch/x86/kernel/apic/vector.c
        errno.ENOSPC: (Why.ELSEWHERE, "there is no free vector on these CPUs", None),
    }

    def locate(self, kind: TunableKind, target: Target) -> Place:  # noqa: ARG002 - one kind
        """The file of the interrupt that serves the target's queue now."""
        line = self._machine.lookup.irq(target)
        return Place(
            f"/proc/irq/{line.irq}/smp_affinity_list",
            replace(self._machine.lookup.known(target), irq=line.irq),
            _Irq(line),
        )

    def fault(self, value: str) -> str | None:
        """Whatever is no list of CPUs, and the empty one: the architecture would choose for itself."""
        return fault_of(values.cpu_list, value)

    def check(self, place: Place, value: str) -> str | None:  # noqa: ARG002 - the protocol has the place
        """Also CPUs of which none is online: the kernel refuses them."""
        wrong = self.fault(value)
        if wrong:
            return wrong
        cpus, online = values.cpu_list(value), self._machine.lookup.online()
        return f"CPUs {cpus} are not online" if online and not cpus & online else None

    def write(self, place: Place, value: str) -> None:
        """One write; a mode of 0444 is the kernel's word that the interrupt is a managed one, and nothing is tried."""
        super().write(place, value)
        place.handle.written = self.mark(place)

    def refused(self, place: Place, value: str, error: OSError) -> Refusal:
        """The kernel's errno, which for an interrupt that was freed may be any of three."""
        if error.errno not in {errno.EINVAL, errno.EIO, errno.EPERM}:
            return super().refused(place, value, error)
        if not irq_counts.has_handler(self._machine.source, place.handle.line.irq):
            return Refusal(Why.GONE, f"{place.where}: {_FREED}")
        if error.errno == errno.EINVAL:
            return Refusal(
                Why.FAILED, f"{place.where}: the kernel does not take {shown(value)}: {self._offline(value)}"
            )
        if self._stands(place, value):
            return Refusal(Why.FAILED, f"{place.where}: {error.strerror}, and yet {value} stands there")
        return super().refused(place, value, error)

    def absent(self, place: Place) -> Refusal:
        """An interrupt without its file is gone."""
        return Refusal(Why.GONE, f"{place.where} is not there any more")

    def fixed(self, place: Place) -> Refusal:
        """Read-only since kernel commit c7718e5c76d4 for interrupts that user space cannot place."""
        return Refusal(_FIXED[0], f"{place.where}: {_FIXED[1]}")

    def same(self, one: str, other: str) -> bool:
        """The same CPUs among those online: bits of others are no difference."""
        try:
            ours, theirs = values.cpu_list(one.strip()), values.cpu_list(other.strip())
        except ParseError:
            return one.strip() == other.strip()
        used = ours & self._machine.lookup.online()
        return ours == theirs or (bool(used) and used == theirs & self._machine.lookup.online())

    def mark(self, place: Place) -> Mark:
        """How often it came to which CPU, and where it goes now."""
        irq = place.handle.line.irq
        return Mark(irq_counts.counts(self._machine.source, irq), self._effective(irq))

    def effect(self, place: Place, value: str, mark: Any) -> Seen:
        """Where it goes now; a message-signalled vector moves with its next interrupt only."""
        if self.fault(value):
            raise Refusal(Why.FAILED, f"{place.where}: {self.fault(value)}")
        cpus, now = values.cpu_list(value), self.mark(place)
        since = place.handle.written or mark
        grown = None
        if since is not None and since.counts is not None and now.counts is not None:
            grown = irq_counts.growth(since.counts, now.counts)
        seen = _judged(cpus, now.effective, grown)
        if seen.effect is Effect.VERIFIED or place.handle.written is None:
            return seen
        there = self.read(place)
        return seen if self.same(there, value) else self._changed_since(place, value, there)

    def _changed_since(self, place: Place, value: str, there: str) -> Seen:
        """Somebody was faster than the look at the effect, and would be again."""
        who = self.meddler(place, value, there)
        detail = f"{shown(there)} was set there after {value} was written"
        return Seen(Effect.CONTRADICTED, f"{detail}: {who}" if who else detail)

    def meddler(self, place: Place, value: str, now: str) -> str:  # noqa: ARG002 - it does not matter what it was
        """The driver, where its hint stands there, or irqbalance, where it runs and may move this interrupt."""
        line: IrqLine = place.handle.line
        driver = line.affinity_hint is not None and self.same(str(line.affinity_hint), now)
        balancer = bool(self._irqbalance.running) and not self._irqbalance.leaves(line.irq, line.actions)
        who = [_DRIVER] * driver + [_BALANCER] * balancer
        return ", or ".join(who)

    @cached_property
    def _irqbalance(self) -> Irqbalance:
        # Asked once: of 64 drifted interrupts each would ask systemd again.
        return irqbalance.observe(Gaps(self._machine.source))

    def _effective(self, irq: int) -> CpuSet:
        try:
            return cpulist.parse(self._machine.source.read(f"/proc/irq/{irq}/effective_affinity_list").text)
        except (SourceError, ParseError):
            return CpuSet()

    def _stands(self, place: Place, value: str) -> bool:
        try:
            return self.same(self.read(place), value)
        except Refusal:
            return False

    def _offline(self, value: str) -> str:
        """What an EINVAL is about, by the CPUs that are online at this moment."""
        try:
            online = some_cpus(self._machine.source.read(_ONLINE).text)
        except (SourceError, ParseError):
            return "which CPUs are online is not known"
        offline = values.cpu_list(value) - online
        return f"CPUs {offline} are offline" if offline else "though all of these CPUs are online"


def _judged(cpus: CpuSet, effective: CpuSet, grown: Counts | None) -> Seen:
    if effective and effective <= cpus:
        return Seen(Effect.VERIFIED, f"it goes to CPU {effective}")
    if grown is None:
        return Seen(Effect.NOT_YET, _pending(effective))
    inside, outside = irq_counts.parted(grown, cpus)
    if outside > FEW:
        others = CpuSet.of(cpu for cpu in grown if cpu not in cpus)
        return Seen(Effect.CONTRADICTED, f"{outside} interrupts since the write came to CPU {others}")
    if not effective and inside and outside <= 1:
        return Seen(Effect.VERIFIED, f"{inside} of {inside + outside} interrupts since the write came to CPU {cpus}")
    if not inside and not outside:
        return Seen(Effect.NOT_YET, f"no interrupt since the write; {_pending(effective)}")
    return Seen(Effect.NOT_YET, f"{inside + outside} interrupts since the write; {_pending(effective)}")


def _pending(effective: CpuSet) -> str:
    if not effective:
        return "this kernel does not tell where it goes"
    return f"it goes to CPU {effective} until its next one"
