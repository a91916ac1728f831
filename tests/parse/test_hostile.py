"""Whatever a machine says: a noun or a ParseError that can be printed, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.model.errors import ParseError
from tuneagent.parse import (
    captured_domains,
    choice,
    cmdline,
    cpuinfo,
    cpulist,
    cpumask,
    domain_statistics,
    ethtool,
    features,
    interrupts,
    irq_actions,
    irqbalance_env,
    kvm_statistics,
    links,
    lock_contention,
    lock_record,
    perf_profile,
    process_status,
    queue_statistics,
    schedstat,
    snmp,
    softirqs,
    softnet_stat,
    stat,
    task_stat,
    tracepoint_format,
    tun_flags,
    units,
    virtio_id,
    virtio_status,
)

TEXT_PARSERS: tuple[Callable[[str], Any], ...] = (
    choice.parse,
    cmdline.parse,
    cpuinfo.parse,
    cpulist.parse,
    partial(cpulist.parse, last_cpu=7),
    cpumask.parse,
    features.parse,
    interrupts.parse,
    irq_actions.parse,
    partial(irqbalance_env.parse, path="/etc/default/irqbalance"),
    process_status.parse,
    process_status.thread_group,
    schedstat.parse,
    snmp.parse,
    softirqs.parse,
    softnet_stat.parse,
    stat.parse,
    task_stat.parse,
    tracepoint_format.parse,
    tun_flags.parse,
    virtio_id.parse,
)
VALUE_PARSERS: tuple[Callable[[Any], Any], ...] = (
    captured_domains.parse,
    domain_statistics.parse,
    ethtool.parse,
    kvm_statistics.parse,
    links.parse,
    links.taps,
    lock_contention.parse,
    lock_record.parse,
    perf_profile.parse,
    queue_statistics.parse,
    units.parse,
    virtio_status.parse,
)

WORDS = st.sampled_from(
    [
        "CPU0", "CPU1", "cpu0", "cpu1", "0", "7", "-1", "9" * 25, "0x1", "ffffffff", "0-3", "0-31:2/8", "N", "all",
        "1-edge", "-event", "Level", "PCI-MSI", "31:", "LOC:", "ERR:", "Tcp:", "InSegs", "flags", ":", "::", ",", "=",
        "Cpus_allowed_list:", "OPTIONS=", "IRQBALANCE_BANNED_CPUS=", "--banirq=", "-i", "'", '"', "\\", "#", "export",
        "isolcpus=", "--", "\x00", "\udcff", "\u2028", "\x1c", "\u0663", "\u00b2", "00000001 " * 13,
    ]
)  # fmt: skip
LINES = st.lists(WORDS, max_size=16).flatmap(
    lambda words: st.sampled_from([" ", "", "\t", "   "]).map(lambda blank: blank.join(words))
)
TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(LINES, max_size=6).map("\n".join),
    st.lists(LINES, max_size=6).map(lambda lines: "\n".join(["CPU0 CPU1", *lines])),
)
KEYS = st.sampled_from(
    ["eth0", "channels", "rings", "coalesce", "features", "statistics", "combined", "error", "detail", "type", "index",
     "name", "ifindex", "monotonic_ns", "ActiveState", "connections", "uri",
     "domains", "xml", "state", "7", "vcpus", "0", "exits", "vcpu.0.exits.sum", "alias",
     "opened_at_ns", "per_cpu", "spin", "events", "stacks", "tasks", "\x00", ""]
) | st.text(max_size=5)  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["unsupported", "rx", "tx", 10**400])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=20
)


def noun_or_error(parse: Callable[[Any], Any], value: Any) -> None:
    try:
        parse(value)
    except ParseError as error:
        assert str(error).isprintable()  # noqa: PT017  # that it is raised is not the point
        assert len(str(error)) < 5000  # noqa: PT017


@pytest.mark.parametrize("parse", TEXT_PARSERS)
@given(text=TEXTS)
def test_no_text_breaks_a_parser(parse: Callable[[str], Any], text: str) -> None:
    noun_or_error(parse, text)


@pytest.mark.parametrize("parse", VALUE_PARSERS)
@given(value=VALUES)
def test_no_value_breaks_a_parser(parse: Callable[[Any], Any], value: Any) -> None:
    noun_or_error(parse, value)


@given(text=TEXTS, earlier=TEXTS)
def test_what_was_read_before_changes_nothing_that_is_read(text: str, earlier: str) -> None:
    try:
        previous = interrupts.parse(earlier)
        alone = interrupts.parse(text)
    except ParseError:
        return
    assert interrupts.parse(text, previous) == alone


@given(st.text(max_size=60))
def test_no_action_breaks_the_look_for_its_queue(action: str) -> None:
    irq_actions.queue_role(action, "virtio0")
    irq_actions.queue_role(f"virtio0-{action}", "virtio0")


@given(st.dictionaries(st.text(max_size=20) | st.from_regex(r"[rt]x(_queue_)?[0-9]{1,6}_[a-z]{1,6}"), st.integers(0)))
def test_no_statistic_breaks_the_look_for_its_queue(statistics: dict[str, int]) -> None:
    ethtool.queue_statistics(statistics)
