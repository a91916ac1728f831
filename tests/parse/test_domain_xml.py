from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneagent.model.cpuset import CpuSet
from tuneagent.model.domain import Domain
from tuneagent.model.errors import ParseError
from tuneagent.model.missing import Reason
from tuneagent.parse import domain_xml
from tuneagent.parse.domain_xml import Definition, parse

UUID = "4dea22b3-1d52-d8f3-2516-782e98ab3fa0"
NAMES = f"<name>web1</name><uuid>{UUID}</uuid>"
URI = "qemu:///system"

FULL = f"""<!-- WARNING: edited by hand -->
<domain type='kvm' id='3' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>web1</name>
  <uuid>{UUID.upper()}</uuid>
  <metadata><x:y xmlns:x='http://example.org'><x:name>other</x:name></x:y></metadata>
  <memory unit='GiB'>8</memory>
  <currentMemory unit='MiB'>4097</currentMemory>
  <memoryBacking><hugepages><page size='2048' unit='KiB'/></hugepages></memoryBacking>
  <vcpu placement='static' cpuset='2-7,^5' current='3'>4</vcpu>
  <vcpus><vcpu id='0' enabled='yes'/><vcpu id='1' enabled='no'/><vcpu id='2' enabled='yes'/>
    <vcpu id='3' enabled='yes'/></vcpus>
  <iothreads>1</iothreads>
  <cputune><shares>7</shares><vcpupin vcpu='0' cpuset='2'/><vcpupin vcpu='3' cpuset='6-7'/>
    <emulatorpin cpuset='0-1'/><iothreadpin iothread='1' cpuset='9'/></cputune>
  <numatune><memory mode='strict' nodeset='1'/><memnode cellid='0' mode='strict' nodeset='3'/></numatune>
  <cpu mode='host-passthrough'><numa><cell id='0' cpus='0-1'/><cell id='1' cpus='2-3'/></numa></cpu>
  <devices>
    <disk type='file'><driver name='qemu' queues='8' event_idx='off'/><mac address='52:54:00:00:00:99'/></disk>
    <controller type='scsi'><driver queues='5'/></controller>
    <interface type='bridge'><mac address='52:54:00:00:00:01'/><model type='virtio'/></interface>
    <interface type='bridge'><mac address='52:54:00:00:00:01'/><model type='e1000e'/></interface>
    <channel type='unix'><target type='virtio' name='com.redhat.spice.0' state='disconnected'/></channel>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0' state='connected'/></channel>
  </devices>
  <qemu:commandline><qemu:arg value='-name'/></qemu:commandline>
  <later><interface type='bridge'/></later>
</domain>"""


def domain(inside: str, names: str = NAMES, kind: str = "kvm") -> Definition:
    return parse(f"<domain type='{kind}'>{names}{inside}</domain>", URI, "running")


def clean(inside: str) -> Domain:
    found = domain(inside)
    assert not found.faults
    return found.domain


def faults(definition: Definition) -> list[str]:
    return [fault.detail for fault in definition.faults]


def test_reads_everything_that_is_written() -> None:
    found = parse(FULL, URI, "paused")
    assert not found.faults
    interfaces = found.domain.interfaces
    assert [(one.position, one.mac, one.model) for one in interfaces] == [
        (0, "52:54:00:00:00:01", "virtio"),
        (1, "52:54:00:00:00:01", "e1000e"),
    ]
    assert [one.queues for one in interfaces] == [None, None]
    assert found.domain == Domain(
        uuid=UUID,
        name="web1",
        uri=URI,
        running=True,
        state="paused",
        type="kvm",
        vcpus=3,
        vcpus_max=4,
        vcpu_cpus=CpuSet.of([2, 3, 4, 6, 7]),
        vcpu_pins={0: CpuSet.of([2]), 3: CpuSet.of([6, 7])},
        emulator_pin=CpuSet.of([0, 1]),
        memory_kib=4097 * 1024,
        memory_nodes=CpuSet.of([1, 3]),
        hugepages=True,
        numa_cells=2,
        guest_agent=True,
        interfaces=interfaces,
        vcpu_numbers=(0, 2, 3),
    )


def test_what_is_not_written_is_none() -> None:
    assert clean("") == Domain(
        UUID, "web1", URI, True, "running", "kvm", None, None, None, {}, None, None, None, False, 0, False, ()
    )


@pytest.mark.parametrize(
    ("state", "running"),
    [("running", True), ("idle", True), ("paused", True), ("in shutdown", True), ("pmsuspended", True),
     ("shut off", False), ("crashed", False), ("no state", False)],
)  # fmt: skip
def test_a_domain_runs_while_it_has_a_process(state: str, *, running: bool) -> None:
    found = parse(f"<domain type='qemu'>{NAMES}</domain>", URI, state).domain
    assert (found.running, found.state, found.type) == (running, state, "qemu")


@pytest.mark.parametrize(
    ("vcpus", "now", "most", "numbers"),
    [
        ("<vcpu>4</vcpu>", 4, 4, None),
        ("<vcpu current='2'>8</vcpu>", 2, 8, None),
        ("<vcpu>3</vcpu><vcpus><vcpu id='0' enabled='yes'/><vcpu id='1' enabled='no'/></vcpus>", 1, 3, None),
        ("<vcpu>3</vcpu><vcpus><vcpu id='2' enabled='yes'/><vcpu id='0' enabled='yes'/></vcpus>", 2, 3, (0, 2)),
        ("<vcpu>\n 5 \n</vcpu>", 5, 5, None),
    ],
)
def test_vcpus_that_are_there_and_that_may_be(vcpus: str, now: int, most: int, numbers: tuple[int, ...] | None) -> None:
    found = clean(vcpus)
    assert (found.vcpus, found.vcpus_max, found.vcpu_numbers) == (now, most, numbers)


def test_pins_of_vcpus_with_holes_count_as_pins_of_all() -> None:
    listed = "<vcpus><vcpu id='0' enabled='yes'/><vcpu id='1' enabled='no'/><vcpu id='2' enabled='yes'/></vcpus>"
    pins = "<cputune><vcpupin vcpu='0' cpuset='4'/><vcpupin vcpu='2' cpuset='5'/></cputune>"
    assert clean(f"<vcpu current='2'>3</vcpu>{listed}{pins}").vcpus_are_pinned
    assert not clean(f"<vcpu current='2'>3</vcpu>{pins}").vcpus_are_pinned


@pytest.mark.parametrize(
    ("memory", "kib"),
    [
        ("<memory>2048</memory>", 2048),
        ("<memory unit='bytes'>2049</memory>", 3),
        ("<memory unit='KB'>2048</memory>", 2000),
        ("<memory unit='k'>7</memory>", 7),
        ("<memory unit='M'>3</memory>", 3072),
        ("<memory unit='MB'>3</memory>", 2930),
        ("<memory unit='g'>2</memory>", 2 << 20),
        ("<memory unit='TiB'>1</memory>", 1 << 30),
        ("<memory>9</memory><currentMemory>5</currentMemory>", 5),
    ],
)
def test_memory_in_every_unit(memory: str, kib: int) -> None:
    assert clean(memory).memory_kib == kib


@pytest.mark.parametrize(
    ("states", "connected"),
    [(["connected"], True), (["disconnected"], False), ([None], None), ([], False), (["disconnected", None], None),
     (["disconnected", "connected"], True)],
)  # fmt: skip
def test_the_agent_is_connected_as_its_channel_says(states: list[str | None], *, connected: bool | None) -> None:
    told = [f"state='{state}'" if state else "" for state in states]
    channels = "".join(
        f"<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0' {state}/></channel>"
        for state in told
    )
    assert clean(f"<devices><channel type='pty'/>{channels}</devices>").guest_agent is connected


@pytest.mark.parametrize(
    ("tune", "nodes"),
    [
        ("<numatune><memory mode='strict' nodeset='0-1'/></numatune>", [0, 1]),
        ("<numatune><memnode cellid='0' nodeset='2'/><memnode cellid='1' nodeset='4'/></numatune>", [2, 4]),
        ("<numatune><memory mode='strict' placement='auto'/></numatune>", []),
    ],
)
def test_memory_is_on_the_nodes_of_both_elements(tune: str, nodes: list[int]) -> None:
    assert clean(tune).memory_nodes == (CpuSet.of(nodes) if nodes else None)


@pytest.mark.parametrize(
    ("inside", "fault"),
    [
        ("<vcpu cpuset='x'>4</vcpu>", "<vcpu> cpuset: 'x' is not a number"),
        ("<vcpu current='5'>4</vcpu>", "<vcpu> current: 5 of 4"),
        ("<vcpu>four</vcpu>", "<vcpu>: 'four' is not a number"),
        ("<vcpu/>", "<vcpu>: '' is not a number"),
        ("<vcpu>1</vcpu><vcpus><vcpu id='x' enabled='yes'/></vcpus>", "<vcpus><vcpu> id: 'x' is not a number"),
        ("<cputune><vcpupin vcpu='1' cpuset=''/></cputune>", "<vcpupin> cpuset: '' names nothing"),
        ("<cputune><vcpupin vcpu='a' cpuset='1'/></cputune>", "<vcpupin> vcpu: 'a' is not a number"),
        ("<cputune><emulatorpin cpuset='9-1'/></cputune>", "<emulatorpin> cpuset: '9-1' runs backwards"),
        ("<numatune><memory nodeset='z'/></numatune>", "<numatune><memory> nodeset: 'z' is not a number"),
        ("<memory unit='stone'>4</memory>", "<memory> unit: 'stone' is no unit"),
        ("<currentMemory>-4</currentMemory>", "<currentMemory>: '-4' is not a number"),
        ("<devices><interface/></devices>",
         "interface 0: <interface> type: is not told, so the interface is left out"),
    ],
)  # fmt: skip
def test_a_wrong_value_costs_itself_only(inside: str, fault: str) -> None:
    rest = "<devices><interface type='bridge'><model type='virtio'/></interface></devices>"
    found = domain(inside + rest)
    assert faults(found) == [fault]
    assert found.domain.name == "web1"
    assert [one.model for one in found.domain.interfaces] == ["virtio"]
    assert found.domain.vcpu_pins == {}


def test_a_domain_needs_a_name_or_a_uuid() -> None:
    unnamed = domain("", f"<uuid>{UUID.replace('-', '')}</uuid>")
    assert (unnamed.domain.name, unnamed.domain.uuid, faults(unnamed)) == (UUID, UUID, ["no <name>"])
    odd = domain("", f"<name>a&#x202e;b</name><uuid>{UUID}</uuid>")
    assert odd.domain.name == UUID
    new = domain("", "<name> new </name>")
    assert (new.domain.name, new.domain.uuid, faults(new)) == ("new", "", ["no <uuid>"])
    with pytest.raises(ParseError, match="<uuid>: 'x' is no UUID; <name>: nothing in it"):
        domain("", "<uuid>x</uuid><name/>")


def test_a_domain_without_a_type_is_kept() -> None:
    found = parse(f"<domain>{NAMES}</domain>", URI, "running")
    assert (found.domain.type, faults(found)) == ("", ["<domain> type: is not told"])


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("<network><name>a</name></network>", Reason.MALFORMED, None),
        ("<domain>\n<name>a</nam>", Reason.MALFORMED, 2),
        ("<!DOCTYPE domain><domain><name>a</name></domain>", Reason.MALFORMED, 1),
        ("", Reason.EMPTY, None),
        (f"<domain>{NAMES}<devices>{'<interface/>' * 513}</devices></domain>", Reason.TOO_LARGE, None),
        (f"<domain>{NAMES}<cputune>{'<vcpupin/>' * 4097}</cputune></domain>", Reason.TOO_LARGE, None),
        (f"<domain>{NAMES}<vcpus>{'<vcpu/>' * 4097}</vcpus></domain>", Reason.TOO_LARGE, None),
        (f"<domain>{NAMES}<numatune>{'<memnode/>' * 4097}</numatune></domain>", Reason.TOO_LARGE, None),
    ],
)
def test_what_is_no_domain_is_refused(text: str, reason: Reason, line: int | None) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text, URI, "running")
    assert (caught.value.reason, caught.value.line) == (reason, line)


def test_an_unchanged_definition_is_not_parsed_again() -> None:
    assert parse(FULL, URI, "running") is parse(FULL, URI, "running")
    assert parse(FULL, URI, "paused").domain.state == "paused"
    long = f"<domain type='kvm'>{NAMES}<description>{'x' * 70_000}</description></domain>"
    assert parse(long, URI, "running") == parse(long, URI, "running")
    assert parse(long, URI, "running") is not parse(long, URI, "running")


VALUES = st.sampled_from(
    ["", "on", "off", "1", "many", "-1", "9" * 30, "0-3,^2", "^", "0-99999", "52:54:00:00:00:01", "0x1f", "&#x202e;",
     "pci", "hostdev", "bridge", "virtio", "yes", "&amp;", "&lol;", "KiB", "{a}", "org.qemu.guest_agent.0", "\ud800"]
)  # fmt: skip
ATTRIBUTES = st.sampled_from(
    ["type", "name", "queues", "event_idx", "cpuset", "vcpu", "current", "unit", "address", "dev", "bus", "slot",
     "state", "id", "enabled", "nodeset", "q:x", "xmlns:q", "port"]
)  # fmt: skip
TAGS = st.sampled_from(
    ["domain", "name", "uuid", "vcpu", "vcpus", "cputune", "vcpupin", "emulatorpin", "numatune", "memory", "memnode",
     "currentMemory", "devices", "interface", "driver", "mac", "source", "target", "address", "channel", "q:tag", "cpu",
     "numa", "cell", "memoryBacking", "hugepages", "link", "teaming"]
)  # fmt: skip


def _element(tag: str, attributes: dict[str, str], inner: list[str]) -> str:
    told = "".join(f" {name}='{value}'" for name, value in attributes.items())
    return f"<{tag}{told}>{''.join(inner)}</{tag}>"


TOLD = st.dictionaries(ATTRIBUTES, VALUES, max_size=4)
PROLOGUES = st.sampled_from(["", "<!DOCTYPE a>", "\ufeff", "<!--", "<?xml version='1.0'?>"])
ELEMENTS = st.recursive(
    VALUES,
    lambda inner: st.builds(_element, TAGS, TOLD, st.lists(inner, max_size=4)),
    max_leaves=25,
)


@given(st.lists(ELEMENTS, max_size=6), PROLOGUES)
def test_no_definition_breaks_the_parser(inner: list[str], before: str) -> None:
    for text in (before + "".join(inner), f"{before}<domain type='kvm'>{NAMES}{''.join(inner)}</domain>"):
        try:
            found = domain_xml.parse(text, URI, "running")
        except ParseError as error:
            assert str(error).isprintable()  # noqa: PT017 - that it is raised is not the point
            continue
        assert all(str(fault).isprintable() and len(str(fault)) < 5000 for fault in found.faults)
        assert all(one.xml.isprintable() for one in found.domain.interfaces)
        assert found.domain.name.isprintable()


@given(st.text(max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        domain_xml.parse(text, URI, "running")
    except ParseError as error:
        assert str(error).isprintable()  # noqa: PT017 - that it is raised is not the point


@given(st.integers(0, len(FULL)), st.integers(0, len(FULL)), st.text(max_size=3))
def test_a_damaged_definition_breaks_nothing(start: int, end: int, put: str) -> None:
    text = FULL[: min(start, end)] + put + FULL[max(start, end) :]
    try:
        domain_xml.parse(text, URI, "running")
    except ParseError as error:
        assert str(error).isprintable()  # noqa: PT017 - that it is raised is not the point
