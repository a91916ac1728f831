"""What ip and ethtool say, for comparison: two programs that are not ours."""

from __future__ import annotations

import json
import subprocess
from typing import Any

LEGACY = {  # names of groups in ethtool -k for what the kernel names otherwise
    "rx-checksumming": "rx-checksum",
    "generic-receive-offload": "rx-gro",
    "large-receive-offload": "rx-lro",
    "generic-segmentation-offload": "tx-generic-segmentation",
    "receive-hashing": "rx-hashing",
    "rx-vlan-offload": "rx-vlan-hw-parse",
    "tx-vlan-offload": "tx-vlan-hw-insert",
}
COALESCE = {"rx_usecs": "rx-usecs", "rx_max_frames": "rx-frames", "tx_usecs": "tx-usecs", "tx_max_frames": "tx-frames"}


def run(*command: str) -> str | None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=20, env={"LC_ALL": "C"})
    return done.stdout if done.returncode == 0 else None


def links() -> list[dict[str, Any]]:
    rows = json.loads(run("/usr/sbin/ip", "-j", "-d", "link") or "[]")
    return [
        {
            "ifindex": row["ifindex"],
            "name": row["ifname"],
            "kind": row.get("linkinfo", {}).get("info_kind"),
            "qdisc": row["qdisc"],
            "tx_queues": row["num_tx_queues"],
            "rx_queues": row["num_rx_queues"],
        }
        for row in rows
    ]


def ethtool(option: str, name: str) -> list[tuple[str, str]] | None:
    """The "key: value" lines in their order; None where ethtool says that it is not supported."""
    text = run("/usr/sbin/ethtool", option, name)
    if text is None:
        return None
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return [(key.strip(), value.strip()) for key, _, value in pairs if value.strip()]


def number(value: str) -> int | None:
    return None if value == "n/a" else int(value)


def twice(option: str, name: str, keys: dict[str, str]) -> dict[str, int | None] | None:
    """Tables that print the maxima first, then what is set."""
    pairs = ethtool(option, name)
    if pairs is None:
        return None
    found: dict[str, int | None] = {}
    for field, key in keys.items():
        most, now = [number(value) for shown, value in pairs if shown == key]
        found |= {field: now, f"{field}_max": most}
    return found


def channels(name: str) -> dict[str, int | None] | None:
    return twice("-l", name, {"combined": "Combined", "rx": "RX", "tx": "TX", "other": "Other"})


def rings(name: str) -> dict[str, int | None] | None:
    return twice("-g", name, {"rx": "RX", "tx": "TX"})


def coalesce(name: str) -> dict[str, int | bool | None] | None:
    pairs = ethtool("-c", name)
    if pairs is None:
        return None
    shown = dict(pairs)
    on = {"on": True, "off": False, "n/a": None}
    receive, _, transmit = shown["Adaptive RX"].partition("TX:")
    found: dict[str, int | bool | None] = {field: number(shown[key]) for field, key in COALESCE.items()}
    return found | {"adaptive_rx": on[receive.strip()], "adaptive_tx": on[transmit.strip()]}


def features(name: str) -> dict[str, bool]:
    pairs = ethtool("-k", name) or []
    return {LEGACY.get(key, key): value.split()[0] == "on" for key, value in pairs}


def statistics(name: str) -> dict[str, int] | None:
    pairs = ethtool("-S", name)
    return None if pairs is None else {key: int(value) for key, value in pairs}


def driver(name: str) -> dict[str, str]:
    return dict(ethtool("-i", name) or [])
