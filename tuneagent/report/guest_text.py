"""What a guest says of itself, beside what its host saw of it: the joined figures, each unknown with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from tuneagent.model.domain_view import Guest, JoinedRates
from tuneagent.report.document import Block, Gap, Heading, Paragraph, Table, Tone
from tuneagent.report.safe import safe
from tuneagent.report.values import UNKNOWN, number

_UNITS = {
    "exits_per_packet": "",
    "guest_interrupts_per_delivered_packet": "",
    "injections_per_interrupt": "",
    "kicks_per_io_exit": "",
    "vhost_cpu_us_per_packet": " µs",
}
"""Of each joined rate."""


def guest_blocks(name: str, guest: Guest) -> Iterator[Block]:
    """How it was seen, or why not and what would help, and the figures that only both sides give."""
    yield Gap()
    if guest.view is None:
        yield Paragraph(safe(guest.reason or UNKNOWN), 0, Tone.INFO, f"The guest of {safe(name)} was not seen:")
        if guest.remedy:
            yield Paragraph(safe(guest.remedy), 2, Tone.PLAIN, "What would help:")
        return
    joined = f", joined by {safe(guest.joined_by)}" if guest.joined_by else ""
    yield Heading(f"The guest of {safe(name)}, by its own word: {safe(guest.origin)}{joined}")
    if guest.reason:
        yield Paragraph(safe(guest.reason), 2, Tone.WARNING)
        if guest.remedy:
            yield Paragraph(safe(guest.remedy), 2, Tone.PLAIN, "What would help:")
    for nic in guest.nics:
        place = safe(nic.interface.target or nic.interface.mac or UNKNOWN)
        yield Paragraph(f"{safe(nic.nic.name)} in the guest is {place} of the host", 2)
    if guest.rates is not None:
        yield from _joined(guest.rates)


def _joined(rates: JoinedRates) -> Iterator[Block]:
    values = {field.name: getattr(rates, field.name) for field in fields(rates) if field.name != "reasons"}
    known = tuple((name, number(value) + _UNITS[name]) for name, value in values.items() if value is not None)
    if known:
        yield Table(("from both sides", "value"), known, frozenset({"value"}))
    for name, value in values.items():
        if value is None:
            yield Paragraph(safe(rates.reasons.get(name, "")), 2, Tone.PLAIN, f"{name} unknown:")
