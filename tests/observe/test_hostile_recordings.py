"""A snapshot file that somebody wrote to do harm: every answer in turn replaced by one of the right type."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.trees import Guest
from tuneagent.machine.recording import Recording
from tuneagent.machine.replay import Replay
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.snapshot import Snapshot
from tuneagent.observe import snapshot
from tuneagent.report.jsonable import jsonable

LONG = "9" * 6_000
NAMES = [
    LONG,
    f"node{LONG}",
    "rx-99999",
    "tx-\u0663",
    "lower_\x1b[31m",
    "upper_",
    "virtio\u0663",
    "cpu\u00b2",
    " ",
    "\u202e",
]
TEXTS = [
    "",
    LONG,
    "0-8191",
    "-1",
    "\u0663",
    "\x00",
    "\x1b[31m",
    "a\u2028b",
    "0-" + LONG,
    "CPU0\n" * 50,
    ":" * 5_000,
    "1 " * 50_000,
]
TARGETS = ["/", "//", "/a", "/" + "x/" * 3_000, "/sys/\x1b[31m", "/sys/devices/pci0000:00/0000:00:03.0"]
VALUES: list[Any] = [
    *(None, 0, [], {}, "x", [[]]),
    {"eth0": 5},
    {"eth0": {"channels": {"combined": 2**70}}},
    [{"name": LONG}],
    {"irqbalance.service": {"ActiveState": "\x1b[31m"}},
    {"eth0": [{"type": "rx", "index": 65_535}]},
]
PROCESSES = [
    [{"pid": 2**31 - 1, "name": "irqbalance", "command": ["\x1b[31m", LONG, "--banirq=" + LONG]}],
    [{"pid": pid, "name": "irqbalance", "command": []} for pid in range(1, 500)],
]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = Guest(cpus=2, queues=2, vlan=True, irqbalance=("irqbalance",), irqbalance_env="OPTIONS=-i 5\n").write(
        tmp_path_factory.mktemp("recorded")
    )
    return recorded(root)


def recorded(root: Path) -> dict[str, Any]:
    recording = Recording(Sysroot(str(root)))
    snapshot(recording)
    return recording.sample()


def answers(section: str, key: str, sample: dict[str, Any]) -> Iterator[Any]:
    kept = sample[section][key]
    match section:
        case "files":
            yield from ({"text": text, "read_at_ns": 2**64 - 1} for text in TEXTS)
        case "directories":
            yield from ([*(kept if isinstance(kept, list) else []), name] for name in NAMES)
            yield [f"virtio{number}" for number in range(300)]
        case "links":
            yield from TARGETS
        case "captured":
            yield from ({"value": value, "read_at_ns": 0} for value in VALUES)
        case "processes":
            yield from PROCESSES


def replaced(sample: dict[str, Any], section: str, key: str, answer: Any) -> Snapshot:
    other = copy.copy(sample)
    other[section] = sample[section] | {key: answer}
    return snapshot(Replay(other))


@pytest.mark.parametrize("section", ["files", "directories", "links", "captured", "processes"])
def test_no_answer_raises_and_every_look_can_be_told(sample: dict[str, Any], section: str) -> None:
    every = [(key, answer) for key in sorted(sample[section]) for answer in answers(section, key, sample)]
    chance = random.Random(7)  # noqa: S311 - which of them, not secrets
    for key, answer in chance.sample(every, min(len(every), 120)):
        seen = replaced(sample, section, key, answer)
        json.dumps(jsonable(seen), allow_nan=False)
        for nic in seen.nics or ():
            assert all(name.isprintable() for name in (nic.name, *nic.lower, *nic.upper))
        for gap in seen.missing:
            assert len(gap.detail) < 5_000, (key, str(answer)[:60])
            assert gap.detail.isprintable(), (key, str(answer)[:60])


def test_every_answer_at_once(sample: dict[str, Any]) -> None:
    chance = random.Random(8)  # noqa: S311 - as above
    for _ in range(30):
        other = {section: dict(kept) if isinstance(kept, dict) else kept for section, kept in sample.items()}
        for section in ("files", "directories", "links", "captured"):
            for key in other[section]:
                if chance.random() < 0.3:
                    other[section][key] = chance.choice(list(answers(section, key, sample)))
        json.dumps(jsonable(snapshot(Replay(other))), allow_nan=False)
