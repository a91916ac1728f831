"""/proc/cmdline: the boot options that take CPUs away (Documentation/admin-guide/kernel-parameters.txt)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse import cpulist
from tuneagent.parse.lines import numbered

_OPTION = re.compile(r'(?:"[^"]*"|"[^"]*$|[^\s"])+')
"""lib/cmdline.c next_arg(): blanks within quotes belong to the option, a missing last quote is forgiven."""
_FLAGS = frozenset({"nohz", "domain", "managed_irq"})


@dataclass(frozen=True, slots=True)
class BootOptions:
    """CPU options of the boot; the empty set where one is not given."""

    isolcpus: CpuSet
    isolcpus_flags: tuple[str, ...]
    """``domain`` (also what no flag means), ``managed_irq``, ``nohz``."""
    nohz_full: CpuSet


def parse(text: str, last_cpu: int | None = None) -> BootOptions:
    """The CPU options among the kernel's; those behind ``--`` are for init.

    ``last_cpu`` is the largest possible CPU, for lists that say ``N`` or ``all``. An option given twice counts as
    given first, as in kernel/sched/isolation.c. ParseError for a list of CPUs that is none.
    """
    options: dict[str, str] = {}
    for _, content in numbered(text):
        for word in _OPTION.findall(content):
            if word == "--":
                break
            name, equals, value = word.replace('"', "").partition("=")
            if equals and name in {"isolcpus", "nohz_full"}:
                options.setdefault(name, value)
    flags, isolated = _isolcpus(options.get("isolcpus"), last_cpu)
    return BootOptions(isolated, flags, _cpus("nohz_full", options.get("nohz_full"), last_cpu))


def _isolcpus(value: str | None, last_cpu: int | None) -> tuple[tuple[str, ...], CpuSet]:
    if value is None:
        return (), CpuSet()
    words = value.split(",")
    count = next((index for index, word in enumerate(words) if word not in _FLAGS), len(words))
    return tuple(words[:count]) or ("domain",), _cpus("isolcpus", ",".join(words[count:]), last_cpu)


def _cpus(name: str, value: str | None, last_cpu: int | None) -> CpuSet:
    if value is None:
        return CpuSet()
    try:
        return cpulist.parse(value, last_cpu)
    except ParseError as error:
        raise ParseError(f"{name}=: {error.detail}") from error
