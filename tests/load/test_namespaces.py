"""Two machines that are two network namespaces, with a link between them that goes down in the middle of a load."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.app.command import environment
from tests.apply.namespace import sh
from tests.load.serving import TOKEN, Serving, serving

pytestmark = [
    pytest.mark.namespaces,
    pytest.mark.skipif(os.geteuid() != 0, reason="builds network namespaces"),
]
CLIENT = """
import sys, time, subprocess
from tuneagent.load import loads
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.model.load import LoadKind, LoadSpec

kind, port, token, seconds, down_s = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4]), float(sys.argv[5])

def cut():
    subprocess.run(["ip", "link", "set", "here", "down"], check=True)
    if down_s:
        time.sleep(down_s)
        subprocess.run(["ip", "link", "set", "here", "up"], check=True)
        subprocess.run(["ip", "address", "replace", "198.51.100.1/24", "dev", "here"], check=True)

spec = LoadSpec(LoadKind(kind), "198.51.100.2", port, connections=3)
try:
    result = loads.run(spec, seconds, token=token, warm_up_s=0.2, hooks=Hooks(began=cut))
    print("got", result.transactions, result.lost)
except LoadError as error:
    print("failed", error)
"""


@dataclass(frozen=True, slots=True)
class Machines:
    here: str
    there: str

    def run(self, kind: str, server: Serving, seconds: float, down_s: float) -> str:
        """What the client says; ``down_s`` 0: the link stays down."""
        words = [kind, str(server.port), TOKEN, str(seconds), str(down_s)]
        done = subprocess.run(
            ["ip", "netns", "exec", self.here, sys.executable, "-c", CLIENT, *words],
            capture_output=True, text=True, check=False, timeout=100, env=environment(),
        )  # fmt: skip
        assert done.stderr == ""
        return done.stdout


@pytest.fixture
def machines() -> Iterator[Machines]:
    made = Machines(f"load-here-{os.getpid()}", f"load-there-{os.getpid()}")
    try:
        sh(
            f"ip netns add {made.here}; ip netns add {made.there};"
            f"ip -n {made.here} link add here type veth peer name there netns {made.there};"
            f"ip -n {made.here} address add 198.51.100.1/24 dev here; ip -n {made.here} link set here up;"
            f"ip -n {made.there} address add 198.51.100.2/24 dev there; ip -n {made.there} link set there up"
        )
        yield made
    finally:
        sh(f"ip netns del {made.here}; ip netns del {made.there}")


@pytest.fixture
def server(machines: Machines, tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path, address="198.51.100.2", before=("ip", "netns", "exec", machines.there)) as one:
        yield one


@pytest.mark.parametrize("kind", ["tcp-rr", "udp-rr"])
def test_a_link_that_goes_down_ends_the_load_with_the_reason(kind: str, machines: Machines, server: Serving) -> None:
    said = machines.run(kind, server, 60, 0)

    # The kernel's keepalive finds out within seconds, long before the 60 s are over; which of its errors depends on
    # what was under way.
    assert said.startswith("failed ")
    assert said.count("\n") == 1
    assert "in the middle of the load" in said or "198.51.100.2" in said


@pytest.mark.parametrize("kind", ["tcp-rr", "udp-rr"])
def test_a_link_that_comes_back_goes_on(kind: str, machines: Machines, server: Serving) -> None:
    said = machines.run(kind, server, 3.0, 0.3)

    assert said.startswith("got ")
    assert int(said.split()[1]) > 10


def test_the_server_is_free_again_after_a_client_whose_link_went_down(machines: Machines, server: Serving) -> None:
    assert machines.run("tcp-rr", server, 60, 0).startswith("failed ")
    sh(f"ip -n {machines.here} link set here up; ip -n {machines.here} address replace 198.51.100.1/24 dev here")

    assert machines.run("tcp-rr", server, 2.0, 0.1).startswith("got ")
