"""EMULATOR_PIN: the CPUs of QEMU's own threads, in the running domain and in its stored definition."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from tuneagent.apply.actuator import Defaults, Place, Refusal, Seen, Why
from tuneagent.apply.domains import At, Domains, asked, kept, parsed
from tuneagent.apply.machine import Machine
from tuneagent.machine import thread_affinity
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError, SourceError
from tuneagent.model.hypervisor import QEMU_NAMES, ThreadRole
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect, Lasts
from tuneagent.parse import cpulist, emulator_pin_xml, qemu_command

MOST_TASKS = 4096
_PARTS = re.compile(r"(?:live=(?P<live>\S+))?(?:(?:^| )config=(?P<config>\S*))?")
_REMOVE = "sed '/<emulatorpin /d'"


@dataclass(frozen=True, slots=True)
class Pin:
    """Both places of the pin; None for one that there is not."""

    live: CpuSet | None
    """Where the running emulator may be, whether by a pin or not."""
    config: CpuSet | None
    """As stored; empty where there is no ``<emulatorpin>``."""

    @classmethod
    def of(cls, text: str) -> Pin | None:
        """``live=0-1 config=``, or one of both, or CPUs alone, which are meant for both. None for anything else."""
        match = _PARTS.fullmatch(text) if text else None
        words = (match["live"], match["config"]) if match is not None else (text, text)
        try:
            live, config = (None if word is None else cpulist.parse(word) for word in words)
        except ParseError:
            return None
        if live is not None and not live:
            return None  # nothing runs nowhere
        return cls(live, config)

    def __str__(self) -> str:
        """The text that ``of`` reads."""
        parts = (("live", self.live), ("config", self.config))
        return " ".join(f"{name}={cpus}" for name, cpus in parts if cpus is not None)

    def common(self, other: Pin) -> Iterator[tuple[CpuSet, CpuSet]]:
        """The places that both have."""
        for mine, its in ((self.live, other.live), (self.config, other.config)):
            if mine is not None and its is not None:
                yield mine, its


class EmulatorPin(Defaults):
    """``virsh emulatorpin``; where none was stored, its element is taken out of the stored definition again.

    The stored place is written first: an end in between leaves one of each, which ``half_done`` tells as ours.
    """

    kinds = (TunableKind.EMULATOR_PIN,)
    lasts = Lasts.STORED

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._domains = Domains(machine)

    def locate(self, kind: TunableKind, target: Target) -> Place:  # noqa: ARG002 - there is one kind
        """The domain, running or not."""
        at = self._domains.at(target)
        self._domains.definitions(at)
        return Place(f"{at}: <emulatorpin>", target, at)

    def read(self, place: Place) -> str:
        """``live=0-1 config=``: without ``live`` it does not run, without ``config`` it is transient."""
        return str(self._read(place.handle))

    def check(self, place: Place, value: str) -> str | None:  # noqa: ARG002 - the same of every domain
        """Whether it names CPUs."""
        return None if Pin.of(value) is not None else "no set of CPUs"

    def write(self, place: Place, value: str) -> None:
        """Each place that there is and that differs."""
        at, wanted = place.handle, Pin.of(value)
        if wanted is None:
            raise Refusal(Why.FAILED, f"{value!r} is no set of CPUs")
        now, steps = self._read(at), list[Callable[[], None]]()
        if now.config is not None and wanted.config is not None and now.config != wanted.config:
            steps.append(partial(self._store, at, wanted.config))
        if now.live is not None and wanted.live is not None and now.live != wanted.live:
            steps.append(partial(self._domains.libvirt(at).pin_emulator, at.uuid, wanted.live, live=True))
        for number, step in enumerate(steps):
            try:
                asked(step)
            except Refusal as refusal:
                # One of two written is no fact to be left alone: only a failure is looked at again by the undo.
                why = Why.FAILED if number else refusal.why
                raise Refusal(why, refusal.detail, refusal.remedy) from refusal

    def same(self, one: str, other: str) -> bool:
        """Whether the places that both tell of have the same CPUs."""
        first, second = Pin.of(one), Pin.of(other)
        if first is None or second is None:
            return one == other
        common = list(first.common(second))
        return bool(common) and all(mine == its for mine, its in common)

    def half_done(self, now: str, old: str, new: str) -> bool:
        """Whether each place has the old CPUs or the new ones."""
        present, before, after = Pin.of(now), Pin.of(old), Pin.of(new)
        if present is None or before is None or after is None:
            return False
        return all(
            mine is None or mine in (was, wanted)
            for mine, was, wanted in (
                (present.live, before.live, after.live),
                (present.config, before.config, after.config),
            )
        )

    def rewrites(self, place: Place) -> tuple[tuple[TunableKind, Target], ...]:
        """The affinity of its vhost workers: QEMU's cpuset is that of its threads, and of the kernel's in its group."""
        at = place.handle
        pid = self._process(at)
        if pid is None:
            return ()
        role = str(ThreadRole.VHOST)
        found = [(tid, False) for tid in self._workers(pid)] + [(tid, True) for tid in self._kernel_workers(pid)]
        targets = (Target(domain_uuid=at.uuid, thread_role=role, kernel_thread=own, tid=tid) for tid, own in found)
        return tuple((TunableKind.VHOST_AFFINITY, target) for target in targets)

    def previous(self, place: Place) -> str:
        """The whole stored definition."""
        return kept(self._domains.definitions(place.handle).stored)

    def effect(self, place: Place, value: str, mark: None) -> Seen:  # noqa: ARG002 - nothing is remembered
        """Where the kernel lets QEMU's main thread run."""
        wanted = Pin.of(value)
        if wanted is None or wanted.live is None or self._read(place.handle).live is None:
            return Seen(Effect.VERIFIED, "stored; the domain does not run")
        pid = self._process(place.handle)
        if pid is None:
            return Seen(Effect.NOT_YET, "QEMU's process was not seen")
        try:
            allowed = thread_affinity.affinity(pid)
        except OSError as error:
            return Seen(Effect.NOT_YET, f"QEMU's process {pid}: {error.strerror}")
        verdict = Effect.VERIFIED if allowed == wanted.live else Effect.CONTRADICTED
        return Seen(verdict, f"QEMU's process {pid} may run on CPUs {allowed}")

    def by_hand(self, place: Place, value: str) -> str:
        """``virsh emulatorpin``; or the stored definition without the element."""
        at, pin = place.handle, Pin.of(value)
        if pin is None:
            return ""
        lines = []
        if pin.config:
            lines.append(at.virsh("emulatorpin", str(pin.config), "--config"))
        elif pin.config is not None:
            define = at.virsh("define").rsplit(" ", 1)[0]  # it takes a file and no domain
            dump = at.virsh("dumpxml", "--inactive", "--security-info")
            lines.append(f"{dump} | {_REMOVE} | {define} /dev/stdin")
        if pin.live:
            lines.append(at.virsh("emulatorpin", str(pin.live), "--live"))
        return " && ".join(lines)

    def _read(self, at: At) -> Pin:
        found = self._domains.definitions(at)
        live = config = None
        if found.live is not None:
            live = asked(lambda: self._domains.libvirt(at).emulator_cpus(at.uuid))
        if found.stored is not None:
            config = parsed(at, found.stored, found.state).emulator_pin or CpuSet()
        return Pin(live, config)

    def _store(self, at: At, cpus: CpuSet) -> None:
        libvirt = self._domains.libvirt(at)
        if cpus:
            libvirt.pin_emulator(at.uuid, cpus, live=False)
        else:
            libvirt.redefine(at.uuid, emulator_pin_xml.without)

    def _process(self, at: At) -> int | None:
        try:
            processes = self._machine.source.processes(QEMU_NAMES)
        except SourceError:
            return None
        return next((one.pid for one in processes if qemu_command.parse(one.command).uuid == at.uuid), None)

    def _kernel_workers(self, pid: int) -> Iterator[int]:
        try:
            found = self._machine.source.processes(frozenset({f"vhost-{pid}"}))
        except SourceError:
            return
        yield from (one.pid for one in found if not one.command)

    def _workers(self, pid: int) -> Iterator[int]:
        source = self._machine.source
        try:
            tids = [name for name in islice(source.names(f"/proc/{pid}/task"), MOST_TASKS) if name.isdecimal()]
        except SourceError:
            return
        for tid in tids:
            try:
                name = source.read(f"/proc/{pid}/task/{tid}/comm").text.strip()
            except SourceError:
                continue  # it ended
            if name == f"vhost-{pid}":
                yield int(tid)
