"""Parameters of the kvm modules."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.apply.machines import Faulty, machine
from tests.observe.looking import put
from tuneagent.apply.actuator import Refusal, Why
from tuneagent.apply.module_parameter import ModuleParameter
from tuneagent.model.plan import Target, TunableKind
from tuneagent.model.transaction import Effect

KIND = TunableKind.KVM_PARAMETER
PATH = "/sys/module/kvm/parameters/halt_poll_ns"
HALT_POLL_NS = Target(parameter="kvm.halt_poll_ns")


def test_a_number_there_and_back(tmp_path: Path) -> None:
    put(tmp_path, PATH, "200000\n")
    parameter = ModuleParameter(machine(tmp_path))
    place = parameter.locate(KIND, HALT_POLL_NS)
    assert (place.where, place.target, parameter.read(place)) == (PATH, HALT_POLL_NS, "200000")
    parameter.write(place, "0")
    assert parameter.effect(place, "0", None).effect is Effect.VERIFIED
    assert parameter.effect(place, "50000", None).effect is Effect.CONTRADICTED
    assert parameter.by_hand(place, "50000") == f"echo 50000 > {PATH}"
    parameter.write(place, "200000")
    assert (tmp_path / PATH[1:]).read_text() == "200000\n"


def test_a_switch_as_its_file_gives_it(tmp_path: Path) -> None:
    put(tmp_path, "/sys/module/kvm_intel/parameters/enable_apicv", "Y\n")
    parameter = ModuleParameter(machine(tmp_path))
    place = parameter.locate(KIND, Target(parameter="kvm_intel.enable_apicv"))
    assert parameter.read(place) == "Y"
    assert parameter.same("Y\n", "1")
    assert parameter.same("N", "0")
    assert not parameter.same("Y", "N")
    assert not parameter.same("2", "Y")


@pytest.mark.parametrize(
    "name",
    [
        None,
        "",
        "kvm",
        "kvm.",
        ".halt_poll_ns",
        "kvm.halt.poll",
        "kvm.halt_poll_ns\n",
        "kvm/../../kernel.panic",
        "kvm.../panic",
        "KVM.halt_poll_ns",
        "kvm.halt-poll-ns",
        "printk.time",
        "xkvm.halt_poll_ns",
        "kvmx.halt_poll_ns",
        "kvm." + "a" * 65,
        "kvm.h\u00e4lt",
    ],
)
def test_no_other_name_leads_anywhere(tmp_path: Path, name: str | None) -> None:
    with pytest.raises(Refusal) as refused:
        ModuleParameter(machine(tmp_path)).locate(KIND, Target(parameter=name))
    assert refused.value.why is Why.FAILED
    assert "\n" not in refused.value.detail


@pytest.mark.parametrize("value", ["", "on", "Y\n", "1\n2", "1 2", "0x1", "y;reboot", "9" * 21, "--1", "\u0664"])
def test_what_is_no_value_is_never_written(tmp_path: Path, value: str) -> None:
    put(tmp_path, PATH, "200000\n")
    files = Faulty(str(tmp_path), {})
    parameter = ModuleParameter(machine(tmp_path, files))
    place = parameter.locate(KIND, HALT_POLL_NS)
    assert parameter.check(place, value)
    with pytest.raises(Refusal):
        parameter.write(place, value)
    assert files.tried == []


def test_one_that_is_set_at_load_only(tmp_path: Path) -> None:
    put(tmp_path, PATH, "200000\n")
    (tmp_path / PATH[1:]).chmod(0o444)
    files = Faulty(str(tmp_path), {})
    parameter = ModuleParameter(machine(tmp_path, files))
    with pytest.raises(Refusal) as refused:
        parameter.write(parameter.locate(KIND, HALT_POLL_NS), "0")
    assert (refused.value.why, files.tried) == (Why.FACT, [])
    assert "while it runs" in refused.value.detail


def test_a_module_that_is_not_loaded_and_one_without_the_parameter(tmp_path: Path) -> None:
    parameter = ModuleParameter(machine(tmp_path))
    place = parameter.locate(KIND, HALT_POLL_NS)
    with pytest.raises(Refusal) as gone:
        parameter.read(place)
    assert gone.value.why is Why.GONE
    put(tmp_path, "/sys/module/kvm/parameters/ignore_msrs", "N\n")
    with pytest.raises(Refusal) as fact:
        parameter.write(place, "0")
    assert fact.value.why is Why.FACT


@pytest.mark.parametrize(
    ("number", "why", "word"),
    [
        (errno.EINVAL, Why.FAILED, "does not take"),
        (errno.ERANGE, Why.FAILED, "beyond"),
        (errno.EPERM, Why.FORBIDDEN, "not root"),
        (errno.EROFS, Why.FORBIDDEN, "container"),
    ],
)
def test_refusals(tmp_path: Path, number: int, why: Why, word: str) -> None:
    put(tmp_path, PATH, "200000\n")
    parameter = ModuleParameter(machine(tmp_path, Faulty(str(tmp_path), {PATH: number})))
    with pytest.raises(Refusal) as refused:
        parameter.write(parameter.locate(KIND, HALT_POLL_NS), "7")
    assert (refused.value.why, word in refused.value.detail) == (why, True)


@given(st.integers(-(10**18), 10**19), st.integers(-(10**18), 10**19))
def test_numbers_and_not_texts(one: int, other: int) -> None:
    parameter = ModuleParameter(machine("/nonexistent"))
    assert parameter.same(f"{one}\n", str(other)) == (one == other)


@given(st.text(max_size=8), st.text(max_size=8))
def test_texts_of_any_kind_can_be_compared(one: str, other: str) -> None:
    parameter = ModuleParameter(machine("/nonexistent"))
    assert parameter.same(one, other) == parameter.same(other, one)
