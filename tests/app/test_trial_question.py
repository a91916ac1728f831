"""What a trial asks where nobody says it, and where its load runs."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest

from tests import make_hypervisor as made
from tests.trees import Guest
from tuneagent.app import policy_files, trial_load, trial_place, trial_question
from tuneagent.app.trial_options import Wishes
from tuneagent.load.errors import LoadError
from tuneagent.load.hooks import Hooks
from tuneagent.machine.sysroot import Sysroot
from tuneagent.measure.scope import Scope
from tuneagent.model.cpuset import CpuSet
from tuneagent.model.load import LoadKind, LoadResult, LoadSpec
from tuneagent.model.plan import Change, Target, TunableKind
from tuneagent.model.snapshot import Snapshot
from tuneagent.model.trial import Better
from tuneagent.observe import snapshot as observe

WISHES = Wishes(2.0, 0.5, 7, None, None, 12, 6, 2.0)
RR = LoadSpec(LoadKind.TCP_RR, "192.0.2.2", 7777, connections=8)
NOTHING = trial_place.Avoided(CpuSet(), "")
DOMAIN, HERE = Scope(domain="1234"), Scope(nics=("eth0",))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """A guest of four CPUs, the interrupts of whose queues 0 and 1 go to CPUs 0 and 3."""
    homes = {"input.0": "0", "output.0": "0", "input.1": "3", "output.1": "3"}
    guest = Guest(queues=2, affinity=homes, effective=homes)
    return observe(Sysroot(str(guest.write(tmp_path_factory.mktemp("guest") / "tree"))), None)


@pytest.mark.parametrize(
    ("policy", "scope", "spec", "primary", "better"),
    [
        ("event-index-on", DOMAIN, RR, "exits_per_transaction", Better.DOWN),
        ("vhost-affinity", DOMAIN, RR, "exits_per_transaction", Better.DOWN),
        ("event-index-on", DOMAIN, LoadSpec(LoadKind.PASSIVE), "exits_per_packet", Better.DOWN),
        ("emulator-pin", DOMAIN, RR, "transactions_per_sec", Better.UP),
        ("pin-queue-interrupts", HERE, RR, "transactions_per_sec", Better.UP),
        ("pin-queue-interrupts", HERE, LoadSpec(LoadKind.PASSIVE), "interrupts_per_packet", Better.DOWN),
        ("rps-spread", HERE, LoadSpec(LoadKind.COMMAND, command=("x",)), "value", Better.UP),
        ("rps-spread", HERE, LoadSpec(LoadKind.IPERF3, "192.0.2.2"), "bits_per_sec", Better.UP),
    ],
)
def test_what_decides(policy: str, scope: Scope, spec: LoadSpec, primary: str, better: Better) -> None:
    asked = trial_question.question(policy_files.named((policy,)), (), ("eth0", ""), (scope, spec), WISHES)

    assert (asked.policy, asked.primary, asked.better) == (policy, primary, better)
    assert (asked.threshold_percent, asked.pairs_min, asked.pairs_max, asked.seed) == (2.0, 6, 12, 7)


def test_the_user_decides_otherwise_and_says_which_way_where_nobody_knows() -> None:
    ask = replace(WISHES, primary="exits_per_sec")
    assert trial_question.question((), (), ("vm", "x"), (DOMAIN, RR), ask).better is Better.DOWN
    ask = replace(WISHES, primary="tx_cpu_percent", better="down")
    assert trial_question.question((), (), ("eth0", "x"), (HERE, RR), ask).better is Better.DOWN
    with pytest.raises(click.UsageError, match="--primary tx_cpu_percent: say by --better"):
        trial_question.question((), (), ("eth0", "x"), (HERE, RR), replace(ask, better=None))


@pytest.mark.parametrize(
    ("primary", "spec", "scope", "said"),
    [
        ("transaction_per_sec", RR, HERE, "no metric of such a trial; there are: cpu_per_transaction_us, drops, "),
        ("exits_per_packet", RR, DOMAIN, "no metric of such a trial"),
        ("exits_per_transaction", RR, HERE, "only a hypervisor sees it"),
        ("vhost_cpu_percent", RR, HERE, "only a hypervisor sees it"),
        ("exits_per_packet", LoadSpec(LoadKind.PASSIVE), HERE, "only a hypervisor sees it"),
        ("latency_p99_us", LoadSpec(LoadKind.IPERF3, "192.0.2.2"), HERE, "no metric of such a trial"),
        ("interrupts_per_packet", LoadSpec(LoadKind.PASSIVE), DOMAIN, "only the guest tells it"),
        ("packets_per_sec", LoadSpec(LoadKind.PASSIVE), Scope(), "no virtio NIC here"),
        (
            "interrupts_per_packet",
            LoadSpec(LoadKind.PASSIVE),
            Scope(nics=("v0",), interrupts=False),
            "the interface has no interrupts of its own: let --primary packets_per_sec decide",
        ),
        ("bits_per_sec", LoadSpec(LoadKind.PASSIVE), Scope(), "no virtio NIC here"),
        ("transactions_per_sec", LoadSpec(LoadKind.COMMAND, command=("x",)), HERE, "no metric of such a trial"),
    ],
)
def test_what_no_round_can_have_is_refused_before_the_first(
    primary: str, spec: LoadSpec, scope: Scope, said: str
) -> None:
    ask = replace(WISHES, primary=primary, better="down")
    with pytest.raises(click.UsageError, match=f"--primary {primary}: {said}"):
        trial_question.question((), (), ("eth0", "x"), (scope, spec), ask)


def test_what_needs_a_load_cannot_decide_without_one() -> None:
    none = LoadSpec(LoadKind.PASSIVE)
    for primary in ("packets_per_sec", "bits_per_sec"):
        ask = replace(WISHES, primary=primary)
        assert trial_question.question((), (), ("eth0", "x"), (HERE, none), ask).better is Better.UP
    with pytest.raises(click.UsageError, match="--primary latency_p99_us: no metric of such a trial; there"):
        trial_question.question((), (), ("eth0", "x"), (HERE, none), replace(WISHES, primary="latency_p99_us"))


def test_the_strictest_guard_of_several_policies_holds() -> None:
    policies = policy_files.named(("rps-spread", "pin-queue-interrupts"))
    limits = {guard.metric: guard.worse_percent_max for guard in trial_question.guards(policies)}
    each = [guard for policy in policies for guard in policy.guards]

    assert limits == {
        one.metric: min(other.worse_percent_max for other in each if other.metric == one.metric) for one in each
    }


def test_the_load_keeps_away_from_the_interrupts_of_both_states(seen: Snapshot) -> None:
    pin = Change(TunableKind.IRQ_AFFINITY, Target(), "", "0", "1", "", "", None)

    before = trial_place.interrupted(seen, ("eth0",), ())
    both = trial_place.interrupted(seen, ("eth0",), (pin,))

    assert (before.cpus, both.cpus) == (CpuSet.of((0, 3)), CpuSet.of((0, 1, 3)))
    assert trial_place.placed(RR, seen, both)[0].cpus == (2,)
    assert trial_place.placed(replace(RR, processes=2), seen, before)[0].cpus == (1, 2)


def test_where_it_cannot_keep_away_that_is_said(seen: Snapshot) -> None:
    every = trial_place.Avoided(CpuSet.of(range(4)), "the measured interrupts")
    assert trial_place.placed(RR, seen, every) == (
        replace(RR, cpus=(3,)),
        "on CPUs 3, where the measured interrupts may be too",
    )
    assert seen.cpus is not None
    two = replace(seen, cpus=replace(seen.cpus, online=CpuSet.of((0, 1))))
    spec, told = trial_place.placed(RR, two, replace(every, cpus=CpuSet.of((0,))))
    assert (spec.cpus, told.endswith("for it has 2 CPUs")) == ((1,), True)


def test_the_load_keeps_away_from_a_virtual_machines_threads() -> None:
    """web1's vCPUs are pinned to CPUs 2 and 3, its vhost worker and its emulator may run on 0 and 1."""
    domain, host = made.domain_view(), made.host(8)
    move = Change(TunableKind.VHOST_AFFINITY, Target(), "", "0-1", "5", "", "", None)
    emulator = Change(TunableKind.EMULATOR_PIN, Target(), "", "0-1", "7", "", "", None)

    assert trial_place.serving(host, domain, ()).cpus == CpuSet.of(range(4))
    assert trial_place.serving(host, domain, (move,)).cpus == CpuSet.of((0, 1, 2, 3, 5))
    assert trial_place.serving(host, domain, (emulator,)).cpus == CpuSet.of((0, 1, 2, 3, 7))
    spec, told = trial_place.placed(replace(RR, processes=3), host, trial_place.serving(host, domain, (move,)))
    assert (spec.cpus, told) == ((4, 6, 7), "on CPUs 4,6-7, away from the virtual machine's threads")


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (replace(RR, processes=2), 2),
        (LoadSpec(LoadKind.SOCKPERF, "192.0.2.2", connections=5), 5),
        (LoadSpec(LoadKind.NETPERF, "192.0.2.2", connections=3), 3),
        (LoadSpec(LoadKind.IPERF3, "192.0.2.2", connections=4), 4),
        (LoadSpec(LoadKind.NEPER, "192.0.2.2", connections=64, processes=3), 3),
        (LoadSpec(LoadKind.COMMAND, command=("x",)), 1),
    ],
)
def test_a_load_gets_a_cpu_for_each_process_or_thread(spec: LoadSpec, wanted: int) -> None:
    host = made.host(16)
    placed, _ = trial_place.placed(spec, host, NOTHING)
    assert placed.cpus == tuple(range(16 - wanted, 16))


def test_threads_that_may_be_anywhere_leave_no_cpu_free() -> None:
    host, roaming = made.host(8), made.thread_rate(made.domain_thread(affinity=None))
    for domain in (made.domain_view(threads=(roaming,)), made.domain_view(threads=())):
        spec, told = trial_place.placed(RR, host, trial_place.serving(host, domain, ()))
        assert (spec.cpus, told) == ((7,), "on CPUs 7, where the virtual machine's threads may be too")


def test_what_was_asked_for_is_where_it_runs(seen: Snapshot) -> None:
    assert trial_place.placed(replace(RR, cpus=(0, 2)), seen, NOTHING) == (
        replace(RR, cpus=(0, 2)),
        "on CPUs 0,2, as was asked for",
    )
    assert trial_place.placed(LoadSpec(LoadKind.PASSIVE), seen, NOTHING)[1] == "no load is run"


def test_a_server_that_is_not_there_yet_is_waited_for_and_one_that_dies_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries: list[str] = []

    def run(_spec: LoadSpec, seconds: float, *, hooks: Hooks, **_more: object) -> LoadResult:
        tries.append("dialled")
        if len(tries) < 3:
            raise LoadError("no route to host")
        assert hooks.began is not None
        hooks.began()
        if len(tries) == 3:
            raise LoadError("the server died")
        return LoadResult(seconds, 5)

    began: list[int] = []
    hooks = Hooks(began=lambda: began.append(1))
    monkeypatch.setattr("tuneagent.load.loads.run", run)
    monkeypatch.setattr(trial_load, "_AGAIN_S", 0.0)
    with pytest.raises(LoadError, match="no route"):
        trial_load.runner(RR, "token")(1.0, hooks, 0.0)
    with pytest.raises(LoadError, match="the server died"):
        trial_load.runner(RR, "token", patience_s=60)(1.0, hooks, 0.0)
    assert trial_load.runner(RR, "token", patience_s=60)(1.0, hooks, 0.0).transactions == 5
    assert len(began) == 2
