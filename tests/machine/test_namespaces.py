"""A network namespace with queues, driven by ip, read by us, compared with ip and ethtool."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]

BUILD = """
set -e
mount -t sysfs none /sys
ip link add veth0 numtxqueues 4 numrxqueues 3 type veth peer name veth1 numtxqueues 3 numrxqueues 4
ip link add many type ifb
ip link add link veth0 name tagged type vlan id 7 2>/dev/null || true
ip link set veth0 up
ip link set veth1 up
ip tuntap add vnet0 mode tap multi_queue vnet_hdr 2>/dev/null || true
ip link set vnet0 txqueuelen 777 2>/dev/null || true
ethtool -K veth1 gro on
ethtool -L veth1 rx 2 tx 3
exec "$0" -m tests.machine.test_namespaces
"""


def look() -> dict[str, Any]:
    """Runs inside the namespace: what we say beside what the oracles say."""
    # They are imported here because this function runs in a process of its own.
    from tests.machine import oracle  # noqa: PLC0415 - as above
    from tuneagent.machine import ethtool, ethtool_statistics, links, queue_statistics  # noqa: PLC0415 - as above

    said = ethtool.read()
    ethtool.MANY_INTERFACES = 0
    return {
        "without_taps": [sorted(said), sorted(ethtool.read())],
        "links": [links.read(), oracle.links()],
        "channels": [{name: said[name]["channels"] for name in said}, {name: oracle.channels(name) for name in said}],
        "rings": [{name: said[name]["rings"] for name in said}, {name: oracle.rings(name) for name in said}],
        "coalesce": [{name: said[name]["coalesce"] for name in said}, {name: oracle.coalesce(name) for name in said}],
        "features": [{name: said[name]["features"] for name in said}, {name: oracle.features(name) for name in said}],
        "drivers": [
            {name: said[name]["driver"] for name in said},
            {name: oracle.driver(name).get("driver") for name in said},
        ],
        "statistics": [
            {name: ethtool_statistics.read(name, statistics=True)["statistics"] for name in said},
            {name: oracle.statistics(name) for name in said},
        ],
        "unasked": [said[name]["statistics"] for name in said],
        "queues": queue_statistics.read(),
    }


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    done = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", BUILD, sys.executable],
        cwd=REPOSITORY,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode != 0:
        pytest.fail(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.namespaces
def test_links(seen: dict[str, Any]) -> None:
    ours, ip = seen["links"]
    assert [{key: value for key, value in link.items() if key != "tap"} for link in ours] == ip
    by_name = {link["name"]: link for link in ours}
    veth = by_name["veth0"]
    assert (veth["kind"], veth["tx_queues"], veth["rx_queues"]) == ("veth", 4, 3)
    assert by_name["many"]["kind"] == "ifb"
    assert by_name["lo"]["kind"] is None


@pytest.mark.namespaces
def test_a_tap_is_told_in_full(seen: dict[str, Any]) -> None:
    taps = {link["name"]: link["tap"] for link in seen["links"][0] if "tap" in link}
    if not taps:
        pytest.skip("this machine lets nobody make a tap")
    tap = taps["vnet0"]
    assert (tap["type"], tap["vnet_hdr"], tap["multi_queue"], tap["queues"]) == (2, True, True, 0)
    assert (tap["tx_queue_len"], tap["master"]) == (777, None)
    assert tap["statistics"]["tx_dropped"] == 0


@pytest.mark.namespaces
def test_ethtool_is_not_asked_about_very_many_taps(seen: dict[str, Any]) -> None:
    every, asked = seen["without_taps"]
    assert asked == [name for name in every if name != "vnet0"]
    assert "veth0" in asked


@pytest.mark.namespaces
def test_a_vlan_where_the_kernel_has_them(seen: dict[str, Any]) -> None:
    kinds = {link["name"]: link["kind"] for link in seen["links"][0]}
    if "tagged" not in kinds:
        pytest.skip("this kernel has no VLANs")
    assert kinds["tagged"] == "vlan"


@pytest.mark.namespaces
@pytest.mark.parametrize("section", ["channels", "rings", "coalesce", "statistics"])
def test_sections(seen: dict[str, Any], section: str) -> None:
    ours, shown = seen[section]
    for name, expected in shown.items():
        if expected is None:
            assert ours[name]["error"] == "unsupported"
        else:
            assert ours[name] == expected


@pytest.mark.namespaces
def test_channels_apart(seen: dict[str, Any]) -> None:
    channels = seen["channels"][0]["veth1"]
    assert (channels["rx"], channels["rx_max"], channels["tx"], channels["tx_max"]) == (2, 4, 3, 3)
    assert channels["combined"] is None


@pytest.mark.namespaces
def test_features(seen: dict[str, Any]) -> None:
    ours, shown = seen["features"]
    for name, expected in shown.items():
        common = ours[name].keys() & expected.keys()
        assert len(common) >= 40
        assert {key: ours[name][key] for key in common} == {key: expected[key] for key in common}
    assert ours["veth1"]["rx-gro"] is True


@pytest.mark.namespaces
def test_drivers(seen: dict[str, Any]) -> None:
    ours, shown = seen["drivers"]
    assert ours == shown
    assert ours["veth0"] == "veth"


@pytest.mark.namespaces
def test_what_is_not_asked(seen: dict[str, Any]) -> None:
    assert set(seen["unasked"]) == {None}
    assert seen["queues"].keys() <= {"veth0", "veth1", "many"}


if __name__ == "__main__":
    json.dump(look(), sys.stdout)
