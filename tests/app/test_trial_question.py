"""What a trial asks where nobody says it, and where its load runs."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest

from tests.trees import Guest
from tuneagent.app import policy_files, trial_load, trial_question
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
        ("rps-spread", HERE, LoadSpec(LoadKind.IPERF3, "192.0.2.2"), "packets_per_sec", Better.UP),
    ],
)
def test_what_decides(policy: str, scope: Scope, spec: LoadSpec, primary: str, better: Better) -> None:
    asked = trial_question.question(policy_files.named((policy,)), (), ("eth0", ""), (scope, spec), WISHES)

    assert (asked.policy, asked.primary, asked.better) == (policy, primary, better)
    assert (asked.threshold_percent, asked.pairs_min, asked.pairs_max, asked.seed) == (2.0, 6, 12, 7)


def test_the_user_decides_otherwise_and_says_which_way_where_nobody_knows() -> None:
    ask = replace(WISHES, primary="exits_per_sec")
    assert trial_question.question((), (), ("eth0", "x"), (HERE, RR), ask).better is Better.DOWN
    ask = replace(WISHES, primary="frames", better="down")
    assert trial_question.question((), (), ("eth0", "x"), (HERE, RR), ask).better is Better.DOWN
    with pytest.raises(click.UsageError, match="--primary frames: say by --better"):
        trial_question.question((), (), ("eth0", "x"), (HERE, RR), replace(ask, better=None))


def test_what_needs_a_load_cannot_decide_without_one() -> None:
    none = LoadSpec(LoadKind.PASSIVE)
    ask = replace(WISHES, primary="packets_per_sec")
    assert trial_question.question((), (), ("eth0", "x"), (HERE, none), ask).better is Better.UP
    with pytest.raises(click.UsageError, match="--primary latency_p99_us: cannot be had where no load is run; there"):
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

    before = trial_load.interrupted(seen, ("eth0",), ())
    both = trial_load.interrupted(seen, ("eth0",), (pin,))

    assert (before, both) == (CpuSet.of((0, 3)), CpuSet.of((0, 1, 3)))
    assert trial_load.placed(RR, seen, both)[0].cpus == (2,)
    assert trial_load.placed(replace(RR, processes=2), seen, before)[0].cpus == (1, 2)


def test_where_it_cannot_keep_away_that_is_said(seen: Snapshot) -> None:
    every = CpuSet.of(range(4))
    assert trial_load.placed(RR, seen, every) == (
        replace(RR, cpus=(3,)),
        "on CPUs 3, where measured interrupts may be handled too",
    )
    assert seen.cpus is not None
    two = replace(seen, cpus=replace(seen.cpus, online=CpuSet.of((0, 1))))
    spec, told = trial_load.placed(RR, two, CpuSet.of((0,)))
    assert (spec.cpus, told.endswith("for it has 2 CPUs")) == ((1,), True)


def test_what_was_asked_for_is_where_it_runs(seen: Snapshot) -> None:
    assert trial_load.placed(replace(RR, cpus=(0, 2)), seen, CpuSet.of((0,))) == (
        replace(RR, cpus=(0, 2)),
        "on CPUs 0,2, as was asked for",
    )
    assert trial_load.placed(LoadSpec(LoadKind.PASSIVE), seen, CpuSet())[1] == "no load is run"


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
