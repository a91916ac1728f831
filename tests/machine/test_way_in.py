"""Sessions over ssh, and the interfaces of a namespace that hold their address."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tuneagent.machine import way_in

REPOSITORY = Path(__file__).parents[2]
SESSION = "192.0.2.9 50022 192.0.2.1 22"
ASK = "from tuneagent.machine import way_in; import os; print(way_in.ssh_address(os.environ))"
BUILD = """
set -e
ip link set lo up
ip link add br0 type bridge
ip link add port0 type veth peer name far0
ip link add port1 type veth peer name far1
ip link add other0 type veth peer name other1
ip link set port0 master br0
ip link set port1 master br0
ip link add link br0 name over0 type macvlan
ip address add 192.0.2.1/24 dev over0
ip address add 198.51.100.7/24 dev other0
ip address add 203.0.113.1 peer 203.0.113.2 dev far1
ip -6 address add 2001:db8::1/64 dev br0 nodad
ip -6 address add fe80::77/64 dev other0 nodad
ip -6 address add fe80::77/64 dev other1 nodad
exec "$0" -c "$1" 192.0.2.1 ::ffff:192.0.2.1 198.51.100.7 203.0.113.1 203.0.113.2 2001:db8::1 \
    fe80::77 fe80::77%other1 fe80::77%nosuch 192.0.2.200 127.0.0.1 nonsense ''
"""
LOOK = """
import json, sys
from tuneagent.machine import way_in
print(json.dumps({address: sorted(way_in.interfaces(address)) for address in sys.argv[1:]}))
"""


def environment(**more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key != way_in.VARIABLE}
    return kept | more


def ask(*command: str, **more: str) -> str:
    done = subprocess.run(
        [*command, sys.executable, "-c", ASK],
        cwd=REPOSITORY,
        env=environment(**more),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_environment_tells_the_address_of_this_side() -> None:
    assert ask(SSH_CONNECTION=SESSION) == "192.0.2.1"


def test_what_sudo_takes_away_is_found_where_it_was_run() -> None:
    # Two processes without the variable between the session and us, as sudo and a shell below it.
    through = f'env -u SSH_CONNECTION sh -c \'"$@"; true\' sh env -u SSH_CONNECTION {sys.executable} -c "$0"; true'
    done = subprocess.run(
        ["/bin/sh", "-c", through, ASK],
        cwd=REPOSITORY,
        env=environment(SSH_CONNECTION="2001:db8::9 50023 fe80::1%eth0 22"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "fe80::1%eth0"


@pytest.mark.parametrize("nonsense", ["", " ", "192.0.2.9 50022 192.0.2.1", "a b c d e"])
def test_no_session(nonsense: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(way_in, "MOST_ANCESTORS", 0)
    assert way_in.ssh_address({way_in.VARIABLE: nonsense}) is None


def test_ancestors_end_somewhere() -> None:
    if b"SSH_CONNECTION=" in Path("/proc/self/environ").read_bytes():
        pytest.skip("these tests are themselves run over ssh")
    assert way_in.ssh_address({}) is None


@pytest.mark.namespaces
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_an_address_and_what_lies_below_it() -> None:
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", BUILD, sys.executable, LOOK],
        cwd=REPOSITORY,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    stack = ["br0", "far0", "far1", "over0", "port0", "port1"]
    both = ["other0", "other1"]
    assert json.loads(done.stdout) == {
        "192.0.2.1": stack,
        "::ffff:192.0.2.1": stack,
        "198.51.100.7": both,
        "203.0.113.1": ["far1", "port1"],
        "203.0.113.2": [],
        "2001:db8::1": [name for name in stack if name != "over0"],
        "fe80::77": both,
        "fe80::77%other1": both,
        "fe80::77%nosuch": [],
        "192.0.2.200": [],
        "127.0.0.1": ["lo"],
        "nonsense": [],
        "": [],
    }
