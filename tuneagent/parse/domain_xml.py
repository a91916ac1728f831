"""A libvirt domain's definition (libvirt's docs/formatdomain.rst). What is not understood in it is passed over."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from xml.etree.ElementTree import Element

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain import Domain, DomainInterface
from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse import domain_interface
from tuneagent.parse.lines import natural, shown
from tuneagent.parse.xml_fields import Fields, printable
from tuneagent.parse.xml_text import root

MAX_INTERFACES = 512
MAX_VCPUS = 4096
"""Also of pins and of NUMA cells. KVM_MAX_VCPUS of x86 with CONFIG_KVM_MAX_NR_VCPUS at its highest."""
GUEST_AGENT = "org.qemu.guest_agent.0"
INACTIVE = frozenset({"shut off", "crashed", "no state"})
"""virsh(1)'s words for domains without a QEMU process."""

_CACHED = 2048
_CACHED_LENGTH = 65_536
_UUID = re.compile(r"[0-9a-f]{32}")
_UNIT = re.compile(r"(?P<scale>[kmgtpe])(?:ib|(?P<decimal>b))?", re.IGNORECASE)
_SCALES = "kmgtpe"


@dataclass(frozen=True, slots=True)
class Definition:
    """A domain together with what could not be read of it: that part is None in it, or left out."""

    domain: Domain
    faults: tuple[ParseError, ...]


def parse(text: str, uri: str, state: str) -> Definition:
    """The domain of an XML text that the connection ``uri`` gave, in libvirt's word for its state.

    ParseError, with the line where there is one, for a text that is no domain, that tells neither a name nor a UUID,
    or that goes beyond the bounds; every other fault becomes one of ``faults``. A domain that only lacks its name is
    called by its UUID; one that lacks the UUID has "" there, and one that lacks the type too. Answers for texts of
    usual length are kept, as definitions hardly ever change between two looks.
    """
    return _remembered(text, uri, state) if len(text) <= _CACHED_LENGTH else _definition(text, uri, state)


def _definition(text: str, uri: str, state: str) -> Definition:
    domain = root(text)
    if domain.tag != "domain":
        raise ParseError(f"the root is {shown(domain.tag)}, not <domain>")
    faults: list[ParseError] = []
    name, uuid = _names(domain, faults)
    vcpus = _vcpus(domain, faults)
    tune = domain.findall("cputune")
    pins = [pin for one in tune for pin in one.findall("vcpupin")]
    found = Domain(
        uuid=uuid,
        name=name,
        uri=uri,
        running=state not in INACTIVE,
        state=state,
        type=_type(domain, faults),
        vcpus=vcpus.now,
        vcpus_max=vcpus.most,
        vcpu_cpus=Fields(domain.find("vcpu"), "<vcpu>", faults).ids("cpuset"),
        vcpu_pins=_vcpu_pins(_bounded(pins, "vcpupin", MAX_VCPUS), faults),
        emulator_pin=_emulator_pin(tune, faults),
        memory_kib=_memory(domain, faults),
        memory_nodes=_memory_nodes(domain, faults),
        hugepages=any(one.find("hugepages") is not None for one in domain.findall("memoryBacking")),
        numa_cells=_numa_cells(domain),
        guest_agent=_guest_agent(domain),
        interfaces=_interfaces(domain, faults),
        vcpu_numbers=vcpus.numbers,
    )
    return Definition(found, tuple(faults))


_remembered = lru_cache(maxsize=_CACHED)(_definition)


@dataclass(frozen=True, slots=True)
class _Vcpus:
    now: int | None
    most: int | None
    numbers: tuple[int, ...] | None


def _bounded(elements: list[Element], tag: str, limit: int) -> list[Element]:
    if len(elements) > limit:
        raise ParseError(f"more than {limit} <{tag}>", reason=Reason.TOO_LARGE)
    return elements


def _names(domain: Element, faults: list[ParseError]) -> tuple[str, str]:
    uuid, name = _uuid(domain.findtext("uuid"), faults), _name(domain.findtext("name"), faults)
    if not (uuid or name):
        raise ParseError("; ".join(fault.detail for fault in faults))
    return name or uuid, uuid


def _uuid(text: str | None, faults: list[ParseError]) -> str:
    digits = (text or "").strip().replace("-", "").lower()
    if _UUID.fullmatch(digits):
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    faults.append(ParseError("no <uuid>" if text is None else f"<uuid>: {shown(text)} is no UUID"))
    return ""


def _name(text: str | None, faults: list[ParseError]) -> str:
    try:
        return printable((text or "").strip())
    except ParseError as error:
        faults.append(ParseError("no <name>" if text is None else f"<name>: {error.detail}"))
        return ""


def _type(domain: Element, faults: list[ParseError]) -> str:
    kind = Fields(domain, "<domain>", faults).word("type")
    if kind is None:
        faults.append(ParseError("<domain> type: is not told"))
    return kind or ""


def _vcpus(domain: Element, faults: list[ParseError]) -> _Vcpus:
    element = domain.find("vcpu")
    most = None if element is None else _text_number(element, "<vcpu>", faults)
    fields = Fields(element, "<vcpu>", faults)
    now = fields.natural("current", MAX_VCPUS)
    if now is not None and most is not None and now > most:
        fields.note("current", f"{now} of {most}")
        return _Vcpus(None, most, None)
    numbers = _enabled(domain, faults)
    if now is None:
        now = len(numbers) if numbers else most
    have_holes = now == len(numbers) and numbers != tuple(range(len(numbers)))
    return _Vcpus(now, most, numbers if have_holes else None)


def _enabled(domain: Element, faults: list[ParseError]) -> tuple[int, ...]:
    """Numbers of the vCPUs that are there, where the definition lists them one by one."""
    listed = [one for each in domain.findall("vcpus") for one in each.findall("vcpu")]
    there = [one for one in _bounded(listed, "vcpu", MAX_VCPUS) if one.get("enabled") == "yes"]
    numbers = (Fields(one, "<vcpus><vcpu>", faults).natural("id", MAX_VCPUS) for one in there)
    return tuple(sorted({number for number in numbers if number is not None}))


def _text_number(element: Element, place: str, faults: list[ParseError], highest: int = MAX_VCPUS) -> int | None:
    try:
        return natural((element.text or "").strip(), None, highest)
    except ParseError as error:
        faults.append(ParseError(f"{place}: {error.detail}"))
        return None


def _vcpu_pins(pins: list[Element], faults: list[ParseError]) -> dict[int, CpuSet]:
    found: dict[int, CpuSet] = {}
    for pin in pins:
        fields = Fields(pin, "<vcpupin>", faults)
        vcpu, cpus = fields.natural("vcpu", MAX_VCPUS), fields.ids("cpuset")
        if vcpu is not None and cpus is not None:
            found[vcpu] = cpus
    return found


def _emulator_pin(tune: list[Element], faults: list[ParseError]) -> CpuSet | None:
    element = next((pin for one in tune if (pin := one.find("emulatorpin")) is not None), None)
    return Fields(element, "<emulatorpin>", faults).ids("cpuset")


def _memory(domain: Element, faults: list[ParseError]) -> int | None:
    for tag in ("currentMemory", "memory"):
        element = domain.find(tag)
        if element is not None:
            return _kib(element, f"<{tag}>", faults)
    return None


def _kib(element: Element, place: str, faults: list[ParseError]) -> int | None:
    amount = _text_number(element, place, faults, (1 << 64) - 1)
    scale = _scale(element.get("unit", "KiB"))
    if scale is None:
        faults.append(ParseError(f"{place} unit: {shown(element.get('unit', ''))} is no unit"))
    return None if amount is None or scale is None else -(-amount * scale // 1024)


def _scale(unit: str) -> int | None:
    """Bytes in a unit, as libvirt's virScaleInteger() has them: KB is 1000, k and KiB are 1024."""
    if unit.lower() in {"b", "byte", "bytes"}:
        return 1
    match = _UNIT.fullmatch(unit)
    if match is None:
        return None
    power = _SCALES.index(match["scale"].lower()) + 1
    return int((1000 if match["decimal"] else 1024) ** power)


def _memory_nodes(domain: Element, faults: list[ParseError]) -> CpuSet | None:
    found = CpuSet()
    for tune in domain.findall("numatune"):
        places = tune.findall("memory") + _bounded(tune.findall("memnode"), "memnode", MAX_VCPUS)
        for place in places:
            found |= Fields(place, f"<numatune><{place.tag}>", faults).ids("nodeset") or CpuSet()
    return found or None


def _numa_cells(domain: Element) -> int:
    return sum(len(numa.findall("cell")) for cpu in domain.findall("cpu") for numa in cpu.findall("numa"))


def _guest_agent(domain: Element) -> bool | None:
    targets = [
        target
        for devices in domain.findall("devices")
        for channel in devices.findall("channel")
        if (target := channel.find("target")) is not None and target.get("name") == GUEST_AGENT
    ]
    states = {target.get("state") for target in targets}
    if not targets or states == {"disconnected"}:
        return False
    return True if "connected" in states else None


def _interfaces(domain: Element, faults: list[ParseError]) -> tuple[DomainInterface, ...]:
    elements = [one for devices in domain.findall("devices") for one in devices.findall("interface")]
    found = (
        domain_interface.parse(element, position, faults)
        for position, element in enumerate(_bounded(elements, "interface", MAX_INTERFACES))
    )
    return tuple(one for one in found if one is not None)
