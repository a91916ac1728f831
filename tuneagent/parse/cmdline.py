"""/proc/cmdline: the boot options that take CPUs away (Documentation/admin-guide/kernel-parameters.txt)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import dropwhile

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse import cpulist
from tuneagent.parse.lines import numbered

_OPTION = re.compile(r'(?:"[^"]*"|"[^"]*$|[^\s"])+')
"""lib/cmdline.c next_arg(): blanks within quotes belong to the option, a missing last quote is forgiven."""
_FLAGS = frozenset({"nohz", "domain", "managed_irq"})
"""Of isolcpus=, before its list (kernel/sched/isolation.c)."""


@dataclass(frozen=True, slots=True)
class BootOptions:
    """CPU options of the boot; the empty set where one is not given."""

    isolcpus: CpuSet
    nohz_full: CpuSet
    faults: tuple[ParseError, ...] = ()
    """Options whose list of CPUs is none, each with its line; their set is empty, and the other option stands."""


def parse(text: str, last_cpu: int | None = None) -> BootOptions:
    """The CPU options among the kernel's; those behind ``--`` are for init.

    ``last_cpu`` is the largest possible CPU, for lists that say ``N`` or ``all``. An option given twice counts as
    given first, as in kernel/sched/isolation.c. ParseError for a text that is no command line.
    """
    options: dict[str, tuple[int, str]] = {}
    for line, content in numbered(text):
        for word in _OPTION.findall(content):
            if word == "--":
                break
            name, equals, value = word.replace('"', "").partition("=")
            if equals and name in {"isolcpus", "nohz_full"}:
                options.setdefault(name, (line, value))
    lists = {
        name: (line, _without_flags(value) if name == "isolcpus" else value) for name, (line, value) in options.items()
    }
    faults: list[ParseError] = []
    sets = {name: _cpus(name, *found, last_cpu, faults) for name, found in lists.items()}
    return BootOptions(sets.get("isolcpus", CpuSet()), sets.get("nohz_full", CpuSet()), tuple(faults))


def _without_flags(value: str) -> str:
    """The list of CPUs behind the flags of isolcpus=."""
    return ",".join(dropwhile(_FLAGS.__contains__, value.split(",")))


def _cpus(name: str, line: int, value: str, last_cpu: int | None, faults: list[ParseError]) -> CpuSet:
    try:
        return cpulist.parse(value, last_cpu)
    except ParseError as error:
        faults.append(ParseError(f"{name}=: {error.detail}", line))
        return CpuSet()
