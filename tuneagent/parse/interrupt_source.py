"""The text behind the counts of an interrupt in /proc/interrupts: chip, hardware number, trigger, handlers.

kernel/irq/proc.c ``show_interrupts`` prints, in this order: the chip's name (it may hold single blanks); the hardware
number where the interrupt has a domain; ``Level`` or ``Edge`` with CONFIG_GENERIC_IRQ_SHOW_LEVEL; a dash and the flow
handler's name where it has one; two blanks and the handlers' names, parted by comma and blank. Kernels that print no
place for the hardware number have chip and flow handler as one word, ``PCI-MSI-edge``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_NUMBER = re.compile(r"0x[0-9a-fA-F]+|[0-9]+")
_NUMBER_TRIGGER = re.compile(r"(?P<hwirq>0x[0-9a-fA-F]+|[0-9a-fA-F]+)-(?P<trigger>[A-Za-z][\w-]*)")
_DASH_TRIGGER = re.compile(r"-(?P<trigger>[A-Za-z][\w-]*)")
_CHIP_TRIGGER = re.compile(
    r"(?P<chip>.*[^-])-(?P<trigger>edge|level|fasteoi|fasteoi-ack|edge_eoi|simple|percpu|percpu_devid|none|noprobe|nmi"
    r"|event|lateeoi|virq|ipi|pirq|XT-PIC)"
)
_XEN_PIRQ = re.compile(r"(?P<chip>xen-pirq)-(?P<trigger>(?:pcifront-)?msi(?:-x)?|ioapic-(?:edge|level))")
"""drivers/xen/events/events_base.c and arch/x86/pci/xen.c name the flow handler, and with two words."""
_TRIGGER_WORDS = frozenset({"edge", "level", "fasteoi", "event", "none", "percpu"})
_WIDE = re.compile(r"\s{2,}|\t")
_COMMA = re.compile(r",\s+")
_PCI = re.compile(r"(?:^|-)([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])$")


class InterruptSource(NamedTuple):
    """Where an interrupt comes from and who handles it; a part is None or empty where it is not printed."""

    chip: str | None
    hwirq: str | None
    trigger: str | None
    actions: tuple[str, ...]


def pci_address(chip: str | None) -> str | None:
    """The PCI address at the end of a chip name: ``PCI-MSIX-0000:00:03.0`` since kernel 6.2, not before."""
    match = _PCI.search(chip or "")
    return match[1].lower() if match else None


def split_source(text: str) -> InterruptSource:
    """Chip, hardware number, trigger and handlers of the text behind the counts."""
    words = text.split()
    if not words:
        return InterruptSource(None, None, None, ())
    glued = _XEN_PIRQ.fullmatch(words[0]) or _CHIP_TRIGGER.fullmatch(words[0])
    # A chip may be called ``ARMCTRL-level``: then number and trigger follow.
    if glued and (len(words) == 1 or _marker(words, 1) is None):
        return InterruptSource(glued["chip"], None, glued["trigger"], _actions(text, 1))
    # A wide gap ends the chip's name, so a marker can stand no further than just behind it.
    last = len(_WIDE.split(text, 1)[0].split())
    for index in range(1, min(last + 1, len(words))):
        marked = _marker(words, index)
        if marked is not None and not (index < last and _numbers_the_chip(words, index)):
            hwirq, trigger, used = marked
            return InterruptSource(" ".join(words[:index]), hwirq, trigger, _actions(text, index + used))
    return _unmarked(text, words)


def _marker(words: list[str], index: int) -> tuple[str | None, str | None, int] | None:
    """Hardware number and trigger if they begin at this word, and how many words they take."""
    word = words[index]
    both = _NUMBER_TRIGGER.fullmatch(word)
    if both and (word[0].isdigit() or both["trigger"].lower() in _TRIGGER_WORDS):
        return both["hwirq"], both["trigger"], 1
    if _NUMBER.fullmatch(word):
        trigger = _trigger(words, index + 1)
        return (word, None, 1) if trigger is None else (word, trigger[0], 1 + trigger[1])
    trigger = _trigger(words, index)
    return None if trigger is None else (None, *trigger)


def _numbers_the_chip(words: list[str], index: int) -> bool:
    """``MPIC 1      16 Level``: of two numbers the one with the trigger is the hardware's, the other the chip's."""
    follows = words[index + 1] if index + 1 < len(words) else ""
    if not _NUMBER.fullmatch(words[index]):
        return False
    if _NUMBER.fullmatch(follows):
        return _trigger(words, index + 2) is not None
    return bool(follows[:1].isdigit() and _NUMBER_TRIGGER.fullmatch(follows))


def _trigger(words: list[str], index: int) -> tuple[str, int] | None:
    """``Level``, ``-event`` or both; the flow handler's name adds nothing to ``Level``."""
    word = words[index] if index < len(words) else ""
    dashed = _DASH_TRIGGER.fullmatch(word)
    if dashed:
        return dashed["trigger"], 1
    if word.lower() not in _TRIGGER_WORDS:
        return None
    follows = index + 1 < len(words) and _DASH_TRIGGER.fullmatch(words[index + 1])
    return word, 2 if follows else 1


def _unmarked(text: str, words: list[str]) -> InterruptSource:
    """``GIC  eth0``: neither number nor trigger, as chips without domain print on kernels without Level and Edge."""
    field = _WIDE.split(text, 1)[0]
    chip = field if field != text else words[0]
    return InterruptSource(chip, None, None, _actions(text, len(chip.split())))


def _actions(text: str, skip: int) -> tuple[str, ...]:
    rest = text.split(None, skip)
    return tuple(name.strip() for name in _COMMA.split(rest[skip]) if name.strip()) if len(rest) > skip else ()
