"""/sys/kernel/irq/N/per_cpu_count (kernel/irq/irqdesc.c ``per_cpu_count_show``)."""

from __future__ import annotations

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import U64_MAX, natural, single


def parse(text: str, possible: CpuSet) -> dict[int, int]:
    """How often an interrupt came to each CPU since boot, ``1,0``: a number for each possible CPU, online or not.

    ParseError for as many numbers as there are not CPUs, and for what is no number.
    """
    words = single(text).split(",", len(possible))
    if len(words) != len(possible):
        raise ParseError(f"{len(words)} numbers or more for {len(possible)} possible CPUs", 1)
    return {cpu: natural(word, 1, U64_MAX) for cpu, word in zip(possible, words, strict=True)}
