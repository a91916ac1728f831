"""/proc/net/softnet_stat (net/core/net-procfs.c ``softnet_seq_show``)."""

from __future__ import annotations

import re
from dataclasses import replace

from tuneagent.model.counters import Softnet, SoftnetRow
from tuneagent.model.cpuset import MAX_CPUS, CpuSet
from tuneagent.model.errors import ParseError
from tuneagent.parse.lines import numbered, shown

COLUMNS_MIN = 9
"""The oldest form; received_rps, flow_limit_count, the backlog with the CPU id, and the two lengths came one by one."""
COLUMNS_MAX = 64

_RECEIVED_RPS, _FLOW_LIMIT, _BACKLOG, _CPU, _INPUT_QLEN, _PROCESS_QLEN = range(9, 15)
_WORD = re.compile(r"[0-9a-fA-F]{1,8}")


def parse(text: str) -> Softnet:
    """One row an online CPU, in the order printed. The CPU ids are None where they are not printed or not usable.

    ParseError with the line: a word that is no hexadecimal number of 32 bits, fewer than 9 columns, rows that differ
    in their columns. EMPTY for a text with nothing in it.
    """
    rows: list[SoftnetRow] = []
    columns = 0
    for line, content in numbered(text):
        words = _words(content, line)
        columns = columns or len(words)
        if len(words) != columns:
            raise ParseError(f"{len(words)} columns where the rows before have {columns}", line)
        rows.append(_row(words))
    return _with_usable_cpus(Softnet(tuple(rows), columns))


def assign(softnet: Softnet, online: CpuSet) -> Softnet:
    """The same with CPU ids from the online CPUs where none were printed; with a warning where their number differs."""
    if all(row.cpu is not None for row in softnet.rows):
        return softnet
    if len(softnet.rows) != len(online):
        warning = f"{len(softnet.rows)} rows for {len(online)} online CPUs: no row can be given to a CPU"
        return replace(softnet, warning="; ".join(filter(None, (softnet.warning, warning))))
    rows = zip(softnet.rows, online, strict=True)
    return replace(softnet, rows=tuple(replace(row, cpu=cpu) for row, cpu in rows))


def _words(content: str, line: int) -> list[int]:
    words = content.split()
    if not COLUMNS_MIN <= len(words) <= COLUMNS_MAX:
        raise ParseError(f"{len(words)} columns where the kernel prints at least {COLUMNS_MIN}", line)
    for word in words:
        if not _WORD.fullmatch(word):
            raise ParseError(f"{shown(word)} is not a hexadecimal number of 32 bits", line)
    return [int(word, 16) for word in words]


def _row(words: list[int]) -> SoftnetRow:
    def column(index: int) -> int | None:
        return words[index] if index < len(words) else None

    return SoftnetRow(
        cpu=column(_CPU),
        processed=words[0],
        dropped=words[1],
        time_squeeze=words[2],
        received_rps=column(_RECEIVED_RPS),
        flow_limit_count=column(_FLOW_LIMIT),
        backlog_length=column(_BACKLOG),
        input_qlen=column(_INPUT_QLEN),
        process_qlen=column(_PROCESS_QLEN),
    )


def _with_usable_cpus(softnet: Softnet) -> Softnet:
    cpus = [row.cpu for row in softnet.rows if row.cpu is not None]
    if len(set(cpus)) == len(cpus) and all(cpu < MAX_CPUS for cpu in cpus):
        return softnet
    rows = tuple(replace(row, cpu=None) for row in softnet.rows)
    return replace(softnet, rows=rows, warning="the CPU ids printed are of no use: one occurs twice or is out of range")
