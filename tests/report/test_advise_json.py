"""The keys that ``tuneagent explain json`` promises, held against real reports: every key, its type, and null."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests import make
from tests.app.command import run
from tests.report import reports
from tests.trees import Guest, Load
from tuneagent.model.policy import Expectation
from tuneagent.report.advise_json import to_json

MAPS = re.compile(
    r"machine\.cpus\.nodes|nics\[\]\.interrupts\[\]\.per_cpu_per_sec"
    r"|samples\[\]\.(files|directories|links|modes|captured|processes)"
    r"|contention\.per_cpu_per_sec|contention\.rows\[\]\.(per_cpu|contexts)|hypervisor\.parameters|symbols\[\]\.per_cpu"
    r"|hypervisor\.domains\[\]\.(kvm\.per_sec|kvm\.vcpus(\{\})?|kvm_totals\.counters|definition\.vcpu_pins|guest\.rates\.reasons)"
)
SAME = (
    (re.compile(r"^guests\[\]\.report\."), ""),
    (re.compile(r"\.definition\.pending\."), ".definition."),
    (re.compile(r"^hypervisor\.stray_taps\[\]\."), "hypervisor.domains[].taps[]."),
)
"""Keys that are documented as being those of another place."""
NOT_PROMISED = re.compile(
    r"(observed\[\]|samples\[\]\.captured\{\}\.value).+|samples\[\]\.\w+\{\}\.(error|detail|remedy)"
)
ROW = re.compile(r"\| `(?P<key>[^`]+)` \| (?P<type>[^|]+) \| (?P<text>[^|]*)\|")
KINDS = {
    "string": str, "integer": int, "number": int | float, "boolean": bool, "array": list, "object": dict,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Key:
    """A documented key."""

    kinds: str
    text: str

    def allows(self, value: Any) -> bool:
        """Whether a value is of the documented type."""
        if value is None:
            return self.kinds.endswith("or null")
        if isinstance(value, bool):
            return self.kinds.startswith("boolean")
        return any(isinstance(value, kind) for name, kind in KINDS.items() if re.search(rf"\b{name}\b", self.kinds))


@cache
def documented(schema: str) -> dict[str, Key]:
    page = resources.files("tuneagent.report").joinpath("json.md").read_text("utf-8")
    part = page.split(f"\n## {schema}\n")[1].split("\n## ")[0]
    rows = [match for line in part.splitlines() if (match := ROW.fullmatch(line))]
    assert len(rows) == sum(line.startswith("| `") for line in part.splitlines())
    keys = {row["key"]: Key(row["type"], row["text"]) for row in rows}
    assert len(keys) == len(rows)
    return keys


def at(path: str) -> str:
    """The place where a key is documented."""
    for same, there in SAME:
        path = same.sub(there, path)
    return path


def walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every key path with its value; [] for the elements of an array, {} for the values of a map."""
    if isinstance(value, dict):
        for key, entry in value.items():
            inner = f"{path}{{}}" if MAPS.fullmatch(at(path)) else f"{path}.{key}".removeprefix(".")
            if "error" in value and path.startswith("samples[]"):
                return
            yield inner, entry
            yield from walk(entry, inner)
    elif isinstance(value, list):
        for entry in value:
            yield from walk(entry, f"{path}[]")


def assert_documented(schema: str, found: Iterator[tuple[str, Any]]) -> set[str]:
    keys = documented(schema)
    seen = set()
    for place, value in found:
        path = at(place)
        if NOT_PROMISED.fullmatch(path):
            continue
        assert path in keys, f"{path} is not documented"
        assert "error" in (value if isinstance(value, dict) else ()) or keys[path].allows(value), (path, value)
        seen.add(path)
    return seen


def guests(root: Path) -> list[list[str]]:
    """Pairs of trees that together show every part of a report."""
    busy = Load(
        interrupts={"input.0": {0: 2001, 1: 900}, "input.1": {0: 1807}},
        statistics={"rx_packets": 80_000, "tx_packets": 40_000},
        kicks={0: (11, 20_000), 1: (12, 19_000)},
        softirq_ticks={0: 197},
    )
    env = "IRQBALANCE_ARGS=--banirq=40\nIRQBALANCE_BANNED_CPULIST=1\n"
    shared = Guest(cpus=4, queues=2, effective={"input.1": "0", "output.1": "0"}, irqbalance_env=env)
    running = replace(
        shared, irqbalance=("/usr/sbin/irqbalance", "-fi41", "-m", "ahci"), features=Guest().features - {29}
    )
    made = []
    for number, guest in enumerate((shared, running)):
        pair = guest.write(root / f"{number}-0"), guest.after(busy).write(root / f"{number}-1")
        made.append([word for tree in pair for word in ("--sysroot", str(tree))])
    return made


def test_every_key_of_advise_is_documented_and_every_documented_key_is_there(tmp_path: Path) -> None:
    made = [run("advise", "--json", *pair) for pair in guests(tmp_path)]
    (tmp_path / "proc").mkdir()
    made += [run("advise", "--json", "--sysroot", tmp_path), run("advise", "--json", "--interval", "0.2")]
    values = [json.loads(done.out) for done in made]
    values += [json.loads(json.dumps(to_json(one))) for one in (reports.everything(), reports.hypervisor())]

    seen = set().union(*(assert_documented("tuneagent.advise/1", walk(value)) for value in values))

    assert documented("tuneagent.advise/1").keys() - seen == set()


def test_every_key_of_doctor_is_documented_and_every_documented_key_is_there(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    value = json.loads(run("doctor", "--json", "--sysroot", tmp_path).out)

    seen = assert_documented("tuneagent.doctor/1", walk(value))

    expected = documented("tuneagent.doctor/1").keys()
    assert {path for path in expected - seen if not path.startswith("identity.")} == set()


def test_every_key_of_a_snapshot_is_documented_and_every_documented_key_is_there(tmp_path: Path) -> None:
    values = [json.loads(run("snapshot", *pair).out) for pair in guests(tmp_path)]
    values.append(json.loads(run("snapshot", "--interval", "0.1").out))

    seen = set().union(*(assert_documented("tuneagent.snapshot/1", walk(value)) for value in values))

    assert documented("tuneagent.snapshot/1").keys() - seen == set()


@pytest.mark.parametrize("schema", ["tuneagent.advise/1", "tuneagent.doctor/1", "tuneagent.snapshot/1"])
def test_the_first_key_is_the_schema_and_every_type_is_a_json_type(schema: str) -> None:
    keys = documented(schema)

    assert next(iter(keys)) == "schema"
    assert schema in keys["schema"].text
    for key in keys.values():
        assert key.kinds.split(",")[0].split()[0] in KINDS


# Meaning


def test_the_report_as_values() -> None:
    value = to_json(reports.everything())

    assert (value["schema"], value["state"], value["worst_severity"]) == ("tuneagent.advise/1", "findings", "critical")
    assert [one["id"] for one in value["findings"]] == ["receive-drops:machine", "interrupt-spread:eth0"]
    (advice,) = value["advice"]
    assert advice["findings"] == ["interrupt-spread:eth0"]
    assert advice["do"] == ["echo 2 > /proc/irq/31/smp_affinity_list", "echo 3 > /proc/irq/32"]
    assert advice["undo"] == [None, "echo 0-3 > /proc/irq/31/smp_affinity_list"]
    assert value["cost"]["peak_rss_bytes"] == 41_000_000
    json.dumps(value, allow_nan=False)


def test_virtual_machines_come_in_the_order_of_what_there_is_to_gain_and_without_their_xml() -> None:
    value = to_json(reports.hypervisor())

    web1, quiet, db2, old = value["hypervisor"]["domains"]
    assert (db2["name"], quiet["name"]) == ("db2", "quiet")
    assert web1["findings"] == ["domain-event-index-off:domain web1 vnet0"]
    assert web1["advice"] == ["event-index-on:domain web1 vnet0"]
    assert (web1["kvm"]["exits_per_sec"], web1["exits_per_packet"]) == (60_000.0, 1.0)
    assert [one["role"] for one in web1["threads"]] == ["emulator", "vcpu", "vcpu", "vhost"]
    assert web1["taps"][0]["interface"] == 0
    assert (db2["kvm"], db2["kvm_reason"]) == (None, "it started within the interval")
    assert db2["guest"]["seen"] is False
    assert "<interface" not in json.dumps(value["hypervisor"])
    assert [one["running"] for one in (web1, db2, old)] == [True, True, False]


def test_what_a_guest_says_is_kept_apart() -> None:
    value = to_json(reports.hypervisor())

    (guest,) = value["guests"]
    assert (guest["name"], guest["report"]["worst_severity"]) == ("web1", "critical")
    assert [one["id"] for one in guest["report"]["findings"]] == ["interrupt-spread:eth0"]
    assert "interrupt-spread:eth0" not in [one["id"] for one in value["findings"]]


def test_waits_for_locks_have_their_interrupt_and_classes_their_places() -> None:
    value = to_json(reports.everything())

    assert (value["contention"]["per_sec"], value["contention"]["per_cpu_per_sec"]) == (750.0, {"0": 450.0, "1": 300.0})
    (row,) = value["contention"]["rows"]
    assert (row["group"], row["irq"], row["per_cpu"]) == ("interrupt-descriptor", 31, {"0": 500, "1": 400})
    assert row["contexts"] == {"hardirq": 890, "task": 10}
    (kind,) = value["lock_stat"]["classes"]
    assert kind["points"][0] == ["handle_edge_irq+0x1e", 800]
    assert kind["holders"] == [["show_interrupts+0x9c", 7]]
    assert value["cost"]["locks_cpu_s"] == 0.031


def test_what_is_no_hypervisor_has_none() -> None:
    assert to_json(reports.everything())["hypervisor"] is None
    assert to_json(reports.everything())["guests"] == []


def test_an_interrupt_has_its_place_and_its_rate() -> None:
    value = to_json(reports.report(view=make.view(irqs={31: make.irq_rate(31, {0: 1000, 2: 500})})))

    first, second = value["nics"][0]["interrupts"][:2]
    assert first == {
        "irq": 31,
        "role": "input",
        "queue": 0,
        "affinity": "0",
        "effective_affinity": "0",
        "movable": True,
        "movable_reason": None,
        "per_sec": 750.0,
        "per_cpu_per_sec": {"0": 500.0, "2": 250.0},
    }
    assert (second["per_sec"], second["per_cpu_per_sec"]) == (None, None)


def test_what_is_unknown_is_null_and_never_zero() -> None:
    nothing = replace(make.snapshot(), clock=None, identity=None, cpus=None, irqs=None, virtio=None, irqbalance=None)
    view = make.view(nothing, irqs={}, nics={}, cpus={}, interval_s=None, rates_reason="one sample only")

    value = to_json(reports.report(view=view, cost=None))

    assert set(value["machine"].values()) == {None}
    assert (value["interval_s"], value["protocols"], value["cost"], value["worst_severity"]) == (None,) * 4
    (nic,) = value["nics"]
    for key in ("event_index", "features", "link", "rings", "coalesce", "rates", "node"):
        assert nic[key] is None, key
    for interrupt in nic["interrupts"]:
        unknown = {key: entry for key, entry in interrupt.items() if key not in {"irq", "role", "queue"}}
        assert set(unknown.values()) == {None}


def test_a_rate_that_is_unknown_is_null_beside_one_that_is_zero() -> None:
    view = make.view(nics={"eth0": make.nic_rate(rx_drops_per_sec=None, tx_drops_per_sec=0.0)})

    rates = to_json(reports.report(view=view))["nics"][0]["rates"]

    assert (rates["rx_drops_per_sec"], rates["tx_drops_per_sec"]) == (None, 0.0)


def test_interfaces_without_a_bus_are_left_out() -> None:
    snapshot = make.snapshot(nics=(make.nic(), make.nic(name="lo", virtio=None, bus_address=None)))

    assert [nic["name"] for nic in to_json(reports.report(view=make.view(snapshot)))["nics"]] == ["eth0"]


def test_figures_stay_numbers() -> None:
    advice = reports.advice(expects=(Expectation("x", "up", 1.0, 2.5, "s"),))
    value = to_json(replace(reports.everything(), plan=replace(reports.everything().plan, advice=(advice,))))

    assert value["advice"][0]["expects"][0]["percent_high"] == 2.5
