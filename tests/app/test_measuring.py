"""Rounds measured: on trees that change between the looks, through an agent, and on this machine for real."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import trees
from tests.host_trees import Host, Machine, Work
from tests.load.serving import TOKEN, Serving, serving
from tests.machine.guests import EXEC, Guest
from tuneagent import rates
from tuneagent.app.measuring import Measuring, RunLoad
from tuneagent.app.round_guest import RoundGuest
from tuneagent.load import loads
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.machine.live import Live
from tuneagent.machine.source import Captured, Process, Text
from tuneagent.machine.sysroot import Sysroot
from tuneagent.measure.rounds import Measured, RoundError
from tuneagent.measure.scope import Scope
from tuneagent.model.clock import Clock
from tuneagent.model.errors import SourceError
from tuneagent.model.load import LoadKind, LoadResult, LoadSpec
from tuneagent.model.missing import Reason
from tuneagent.observe import snapshot as observe

REPOSITORY = Path(__file__).parents[2]
WEB = Machine("web", 1, Work(100_000, 8_000, 30_000, 40_000, 20_000, dropped=6))
IDLE = Machine("idle", 2, Work(90, 8, 70, 60, 50))
HOST = Scope(domain=WEB.uuid)
ANOTHER = "another device has this name now"
RESULT = LoadResult(2.0, 50_000, client_cpu_s=0.2, server_cpu_s=0.1, client_cpus=(3,))


class Moments:
    """A machine that is another tree from when it is told so on."""

    def __init__(self, *moments: Path) -> None:
        self._moments = [Sysroot(str(one)) for one in moments]
        self.asked: list[str] = []

    def pass_on(self) -> None:
        self._moments = self._moments[1:]

    def read(self, path: str) -> Text:
        self.asked.append(path)
        return self._moments[0].read(path)

    def names(self, path: str) -> tuple[str, ...]:
        self.asked.append(path)
        return self._moments[0].names(path)

    def link(self, path: str) -> str:
        return self._moments[0].link(path)

    def writable_mode(self, path: str) -> bool:
        return self._moments[0].writable_mode(path)

    def captured(self, name: str) -> Captured:
        self.asked.append(name)
        return self._moments[0].captured(name)

    def processes(self, names: frozenset[str]) -> tuple[Process, ...]:
        return self._moments[0].processes(names)

    def clock(self) -> Clock | None:
        return self._moments[0].clock()


def passing(source: Moments, result: LoadResult = RESULT) -> RunLoad:
    """A load in whose measured seconds the machine becomes its next moment."""

    def run(_seconds: float, hooks: Hooks, _cool_down_s: float) -> LoadResult:
        assert hooks.began is not None
        assert hooks.ended is not None
        source.asked.clear()
        hooks.began()
        source.pass_on()
        hooks.ended()
        return result

    return run


def hosts(tmp_path: Path, after: Callable[[Host], Host] = lambda host: host) -> Moments:
    before = Host((WEB, IDLE))
    return Moments(before.write(tmp_path / "before"), after(before.after()).write(tmp_path / "after"))


def refused(source: Moments, scope: Scope) -> str:
    with pytest.raises(RoundError) as error:
        Measuring(source, scope).measure(2.0, passing(source))
    return str(error.value)


def test_a_virtual_machine_is_measured_over_exactly_the_loads_seconds(tmp_path: Path) -> None:
    source = hosts(tmp_path)
    told = Measuring(source, replace(HOST, server_measured=True)).measure(2.0, passing(source))
    assert told.metrics["packets_per_sec"] == 30_000
    assert told.metrics["exits_per_sec"] == pytest.approx(50_000, rel=1e-4)
    assert told.metrics["exits_per_transaction"] == pytest.approx(2.0, rel=1e-4)
    assert told.metrics["drops"] == 6
    assert told.metrics["vhost_cpu_percent"] == pytest.approx(15)
    threads_s = (0.020 + 0.400 + 0.401 + 0.300) / 2
    assert told.metrics["cpu_per_transaction_us"] == pytest.approx((threads_s - 0.05) / 25_000 * 1e6)
    assert told.metrics["run_queue_wait_percent"] == pytest.approx((2 + 3 + 4) / 20)
    assert told.exits_by_kind == {"halt_exits": pytest.approx(15_000), "io_exits": pytest.approx(4_000)}
    assert told.load == RESULT
    assert told.seconds == 2.0


def test_looks_within_the_seconds_ask_for_what_the_metrics_need_only(tmp_path: Path) -> None:
    source = hosts(tmp_path)
    Measuring(source, HOST).measure(2.0, passing(source))
    assert not [path for path in source.asked if IDLE.tap in path or str(IDLE.pid) in path]
    assert not {"domains", "links", "ethtool", "queue-statistics", "units"} & {*source.asked}
    assert f"/sys/class/net/{WEB.tap}/statistics/tx_packets" in source.asked
    assert len(source.asked) < 150


def test_a_guest_is_measured_from_inside(tmp_path: Path) -> None:
    load = trees.Load(
        interrupts={"input.0": {0: 1_000, 1: 3_000}, "input.1": {1: 200}},
        statistics={"rx_packets": 80_000, "tx_packets": 40_000, "rx_dropped": 3, "tx_dropped": 1},
        softnet={0: (900, 0, 12)},
        waits={0: 50, 1: 10},
    )
    before = trees.Guest()
    source = Moments(before.write(tmp_path / "before"), before.after(load).write(tmp_path / "after"))
    told = Measuring(source, Scope(client_measured=True)).measure(2.0, passing(source))
    assert told.metrics["packets_per_sec"] == 60_000
    assert told.metrics["interrupts_per_sec"] == 2_100
    assert told.metrics["interrupts_per_packet"] == 4_200 / 80_000
    assert told.metrics["drops"] == 4
    assert told.metrics["softnet_squeezes_per_sec"] == 6
    assert told.metrics["lock_waits_per_sec"] == 30
    assert told.queue_interrupts["input.0"] == {"0": 500, "1": 1_500}
    assert told.queue_interrupts["output.3"] == {"0": 0, "1": 0}


@pytest.mark.parametrize("change", ["ifindex", "address", "gone"])
def test_an_interface_that_is_another_device_at_the_end_has_no_figures(tmp_path: Path, change: str) -> None:
    before = trees.Guest()
    after = before.after(trees.Load(statistics={"rx_packets": 80_000}))
    source = Moments(before.write(tmp_path / "before"), after.write(tmp_path / "after"))
    interface = tmp_path / "after/sys/class/net/eth0"
    if change == "gone":
        interface.rename(tmp_path / "moved")
    else:
        (interface / change).write_text("77\n" if change == "ifindex" else "52:54:00:77:77:77\n")
    told = Measuring(source, Scope(client_measured=True)).measure(2.0, passing(source))
    why = "nic.eth0.statistics: no counter could be read" if change == "gone" else f"nic.eth0: {ANOTHER}"
    assert told.missing["packets_per_sec"] == why
    assert told.metrics["transactions_per_sec"] == 25_000


def test_a_tap_that_is_another_device_at_the_end_has_no_figures(tmp_path: Path) -> None:
    source = hosts(tmp_path)
    (tmp_path / f"after/sys/class/net/{WEB.tap}/ifindex").write_text("99\n")
    told = Measuring(source, HOST).measure(2.0, passing(source))
    assert told.missing["packets_per_sec"] == f"tap.{WEB.tap}: {ANOTHER}"
    assert told.missing["drops"] == told.missing["packets_per_sec"]


def test_a_virtual_machine_that_ended_in_the_middle_of_it_is_told(tmp_path: Path) -> None:
    why = refused(hosts(tmp_path, lambda host: replace(host, machines=host.machines[1:])), HOST)
    assert why == "virtual machine web ended, or was moved, in the middle of the round"


def test_a_virtual_machine_that_is_not_here_is_told_before_any_load(tmp_path: Path) -> None:
    assert "moved to another host" in refused(hosts(tmp_path), Scope(domain="pid 77"))


def test_a_virtual_machine_that_is_paused_is_told(tmp_path: Path) -> None:
    source = hosts(tmp_path)
    file = tmp_path / "before/captured/domains.json"
    file.write_text(file.read_text().replace('"state": "running"', '"state": "paused"'))
    assert refused(source, HOST) == "virtual machine web does not run: it is paused"


def test_a_clock_that_was_set_is_told(tmp_path: Path) -> None:
    source = hosts(tmp_path)
    file = tmp_path / "after/captured/clock.json"
    clock = json.loads(file.read_text())
    file.write_text(json.dumps(clock | {"realtime_ns": clock["realtime_ns"] - 3 * 10**9}))
    assert refused(source, HOST) == "the clock was set in the middle of the round, by -3 s"


def test_a_suspend_is_told(tmp_path: Path) -> None:
    source = hosts(tmp_path)
    file = tmp_path / "after/captured/clock.json"
    clock = json.loads(file.read_text())
    slept = {name: clock[name] + 9 * 10**9 for name in ("realtime_ns", "boottime_ns")}
    file.write_text(json.dumps(clock | slept))
    assert "suspended" in refused(source, HOST)


def test_a_reboot_is_told(tmp_path: Path) -> None:
    source = hosts(tmp_path)
    (tmp_path / "after/proc/sys/kernel/random/boot_id").write_text("22222222-aaaa-bbbb-cccc-555555555555\n")
    assert refused(source, HOST) == "the machine was rebooted between the samples"


def test_a_load_that_fails_or_says_nothing_of_its_edges_is_told(tmp_path: Path) -> None:
    def dies(*_: object) -> LoadResult:
        raise LoadError("the server ended in the middle of the load")

    measuring = Measuring(hosts(tmp_path), HOST)
    with pytest.raises(RoundError, match=r"^the load: the server ended in the middle"):
        measuring.measure(2.0, dies)
    with pytest.raises(RoundError, match="ended before its measured seconds"):
        measuring.measure(2.0, lambda *_: RESULT)


class AsGuest:
    """An agent that answers on this machine, whose boot id and interrupts a test may change."""

    def __init__(self) -> None:
        self.behind = Guest(allowed=EXEC)
        self.commands = 0
        self.boot = ""

    def ask(self, command: str, arguments: Mapping[str, Any]) -> Any:
        self.commands += command == "guest-exec"
        answer = self.behind.ask(command, arguments)
        if self.boot and command == "guest-exec-status":
            return _rebooted(answer, self.boot)
        return answer


def _rebooted(answer: dict[str, Any], boot: str) -> dict[str, Any]:
    real = Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()
    out = base64.b64decode(answer["out-data"]).replace(real, boot.encode())
    return answer | {"out-data": base64.b64encode(out).decode()}


def test_a_guest_is_looked_at_whole_once_and_then_leanly(tmp_path: Path) -> None:
    agent, source = AsGuest(), hosts(tmp_path)
    measuring = Measuring(source, replace(HOST, guest=True), lambda: agent)
    measuring.prepare()
    whole, agent.commands = agent.commands, 0
    measuring.prepare()
    assert 0 < agent.commands < whole / 2


def test_a_guest_that_is_rebooted_within_the_round_ends_it(tmp_path: Path) -> None:
    agent, source = AsGuest(), hosts(tmp_path)

    def run(_seconds: float, hooks: Hooks, _cool_down_s: float) -> LoadResult:
        assert hooks.began is not None
        assert hooks.ended is not None
        hooks.began()
        source.pass_on()
        agent.boot = "33333333-aaaa-bbbb-cccc-555555555555"
        hooks.ended()
        return RESULT

    with pytest.raises(RoundError, match=r"^the guest of web was rebooted in the middle of the round$"):
        Measuring(source, replace(HOST, guest=True), lambda: agent).measure(2.0, run)


def test_a_guests_own_figures_are_beside_its_hosts(tmp_path: Path) -> None:
    agent, source = AsGuest(), hosts(tmp_path)
    here = next((nic for nic in observe(Live(locks=False)).virtio_nics if nic.bus_address), None)
    if here is None or here.mac is None:
        pytest.skip("this machine has no virtio NIC to be a guest's")
    for file in tmp_path.glob("*/captured/domains.json"):
        file.write_text(file.read_text().replace(WEB.mac, here.mac))
    scope = replace(HOST, guest=True, server_measured=True)
    told = Measuring(source, scope, lambda: agent).measure(2.0, slowly(source))
    assert told.metrics["interrupts_per_sec"] >= 0
    assert told.queue_interrupts
    assert 0 <= told.metrics["rx_cpu_percent"] <= 100
    assert told.metrics["drops"] >= 6
    assert told.metrics["packets_per_sec"] == 30_000  # the taps', over the host's interval


def test_a_guest_that_is_another_machine_is_not_taken_for_the_domains(tmp_path: Path) -> None:
    agent, source = AsGuest(), hosts(tmp_path)
    # The guest that answers is this machine, which is not the domain's: it is told apart, and nothing is joined.
    told = Measuring(source, replace(HOST, guest=True), lambda: agent).measure(2.0, slowly(source))
    assert "none of the MAC addresses of this domain" in told.missing["interrupts_per_sec"]


def slowly(source: Moments) -> RunLoad:
    """As passing(), with time enough between the looks for a guest's rates."""

    def run(_seconds: float, hooks: Hooks, _cool_down_s: float) -> LoadResult:
        assert hooks.began is not None
        assert hooks.ended is not None
        hooks.began()
        source.pass_on()
        time.sleep(0.2)
        hooks.ended()
        return RESULT

    return run


def test_a_guest_that_does_not_answer_costs_its_part_only(tmp_path: Path) -> None:
    def nobody() -> Any:
        raise SourceError("guest agent", Reason.ABSENT, "no agent answers in the guest")

    source = hosts(tmp_path)
    told = Measuring(source, replace(HOST, guest=True), nobody).measure(2.0, passing(source))
    assert told.missing["interrupts_per_sec"] == "no agent answers in the guest"
    assert told.metrics["packets_per_sec"] == 30_000


def test_an_agent_that_came_back_is_asked_again(tmp_path: Path) -> None:
    agents: list[Any] = [AsGuest()]

    def connect() -> Any:
        if agents:
            return agents.pop()
        raise SourceError("guest agent", Reason.FAILED, "it does not answer")

    guest = RoundGuest(connect)
    domain = _domain(hosts(tmp_path))
    for reason in (None, "it does not answer", None):
        guest.prepare(domain)
        guest.look()
        guest._looks = guest._looks * 2  # noqa: SLF001 - a second look would only cost time
        assert guest.seen(2.0).reason == reason
        guest._transport = None  # noqa: SLF001 - the connection broke
        agents += [AsGuest()] if reason else []


def _domain(source: Moments) -> Any:
    host = rates.alone(observe(source)).hypervisor
    assert host is not None
    return host.find("web")


def live(near: Serving, nic: str, seconds: float) -> tuple[Measured, Measuring]:
    """A round over a load of our own on this machine, both ends of which run here."""
    spec = LoadSpec(LoadKind.TCP_RR, near.address, near.port, connections=2)
    scope = Scope(nics=(nic,), client_measured=True, server_measured=True)
    measuring = Measuring(Live(), scope)

    def run(seconds: float, hooks: Hooks, cool_down_s: float) -> LoadResult:
        return loads.run(spec, seconds, token=TOKEN, warm_up_s=0.1, cool_down_s=cool_down_s, hooks=hooks)

    return measuring.measure(seconds, run), measuring


def test_a_real_load_over_loopback(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        told, measuring = live(server, "lo", 1.0)
    transactions, packets = told.metrics["transactions_per_sec"], told.metrics["packets_per_sec"]
    # Two segments each, each received and sent by lo; what else uses it here adds to that.
    assert packets >= 3.6 * transactions > 0
    assert told.metrics.get("cpu_per_transaction_us", 1) > 0
    # On a busy machine the two looks may lie too far from the load's own seconds: then it is told and not guessed.
    assert "cpu_per_transaction_us" in told.metrics or "differ by more than" in told.missing["cpu_per_transaction_us"]
    assert told.metrics["latency_p99_us"] >= told.metrics["latency_p50_us"] > 0
    assert told.load is not None
    assert told.load.client_cpus
    assert 0 < measuring.cost.cpu_s < 0.5
    assert "lo has no interrupts" in told.missing["interrupts_per_packet"]


def test_a_machine_without_a_load(tmp_path: Path) -> None:
    source = Live(locks=False)
    spec = LoadSpec(LoadKind.PASSIVE)
    with serving(tmp_path):
        told = Measuring(source, Scope(nics=("lo",))).measure(
            0.3, lambda seconds, hooks, _: loads.run(spec, seconds, warm_up_s=0, hooks=hooks)
        )
    assert told.metrics["steal_percent"] >= 0
    assert "packets_per_sec" in told.metrics or "no packets passed" in told.missing["packets_per_sec"]
    assert "no load is run" in told.missing["transactions_per_sec"]


BUILD = """
set -e
mount -t sysfs none /sys
mount -t tmpfs none /run
ip netns add far
ip link add near type veth peer name far netns far
ip addr add 10.99.0.1/24 dev near
ip link set near up
ip -n far addr add 10.99.0.2/24 dev far
ip -n far link set far up
exec "$0" -m tests.app.test_measuring "$1"
"""


def measured_over_veth(scratch: Path) -> dict[str, Any]:
    """Runs inside the namespace: a round, with what ethtool's own counters and the kernel's say of it."""
    with (
        serving(scratch, address="10.99.0.2", before=("ip", "netns", "exec", "far")) as far,
        counted("near") as packets,
    ):
        told, _ = live(far, "near", 1.0)
    assert told.load is not None
    return {"metrics": told.metrics, "missing": told.missing, "packets": packets, "seconds": told.load.seconds}


@contextmanager
def counted(nic: str) -> Iterator[list[int]]:
    """Packets by ip -s, before and after."""
    seen: list[int] = []
    seen.append(_packets(nic))
    yield seen
    seen.append(_packets(nic))


def _packets(nic: str) -> int:
    out = subprocess.run(["ip", "-s", "-j", "link", "show", nic], check=True, capture_output=True, text=True).stdout
    stats = json.loads(out)[0]["stats64"]
    return int(stats["rx"]["packets"] + stats["tx"]["packets"])


@pytest.mark.namespaces
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for namespaces")
def test_a_real_load_over_a_veth_pair(tmp_path: Path) -> None:
    command = ["unshare", "--net", "--mount", "sh", "-c", BUILD, sys.executable, str(tmp_path)]
    ran = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=100)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    metrics = told["metrics"]
    # One packet there and one back, and now and then an acknowledgement of its own.
    assert 1.9 <= metrics["packets_per_sec"] / metrics["transactions_per_sec"] <= 4.2
    before, after = told["packets"]
    # The view's seconds and the load's may differ by so much.
    assert 0 < metrics["packets_per_sec"] * told["seconds"] < 1.05 * (after - before)
    assert metrics["drops"] == 0
    assert metrics.get("cpu_per_transaction_us", 1) > 0
    assert told["missing"]["interrupts_per_sec"] == "near has no interrupts of its own"


if __name__ == "__main__":
    json.dump(measured_over_veth(Path(sys.argv[1])), sys.stdout)
