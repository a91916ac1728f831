"""What all values that are one file have in common."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from tests.apply.machines import Faulty, machine
from tests.observe.looking import put
from tuneagent.apply.actuator import Place, Refusal, Why
from tuneagent.apply.kernel_file import KernelFile, number_in
from tuneagent.machine.sysroot import Sysroot
from tuneagent.model.plan import Target, TunableKind

PATH = "/proc/sys/some/thing"
PLACE = Place(PATH, Target())


class Word(KernelFile):
    """Takes letters."""

    kinds = (TunableKind.KVM_PARAMETER,)

    def fault(self, value: str) -> str | None:
        return None if value.isalpha() else f"{value!r} is no word"


def recorded(root: Path, section: str, reason: str) -> None:
    """A tree whose capture met an error at the file."""
    error = {"error": reason, "detail": "as the capture met it", "remedy": "run as root"}
    put(root, "/captured/errors.json", json.dumps({section: {PATH: error}}))


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    put(tmp_path, PATH, "old\n")
    recorded(tmp_path, "files", "permission")
    with pytest.raises(Refusal) as refused:
        Word(machine(tmp_path)).read(PLACE)
    assert (refused.value.why, refused.value.remedy) == (Why.FORBIDDEN, "run as root")
    assert "as the capture met it" in refused.value.detail


def test_a_file_that_fails_to_be_read(tmp_path: Path) -> None:
    put(tmp_path, PATH, "old\n")
    recorded(tmp_path, "files", "failed")
    with pytest.raises(Refusal) as refused:
        Word(machine(tmp_path)).read(PLACE)
    assert refused.value.why is Why.FAILED


def test_a_mode_that_nobody_tells_is_no_reason_not_to_try(tmp_path: Path) -> None:
    put(tmp_path, PATH, "old\n")
    recorded(tmp_path, "modes", "permission")
    Word(machine(tmp_path)).write(PLACE, "new")
    assert (tmp_path / PATH[1:]).read_text() == "new\n"


@pytest.mark.parametrize(("directory", "why"), [(True, Why.FACT), (False, Why.GONE)])
def test_a_file_that_goes_between_look_and_write(tmp_path: Path, directory: bool, why: Why) -> None:  # noqa: FBT001 - a case
    put(tmp_path, PATH, "old\n")

    class Going(Faulty):
        def write_value(self, path: str, text: str) -> None:
            file = tmp_path / path[1:]
            file.unlink()
            if not directory:
                file.parent.rmdir()
            super().write_value(path, text)

    with pytest.raises(Refusal) as refused:
        Word(machine(tmp_path, Going(str(tmp_path), {}))).write(PLACE, "new")
    assert refused.value.why is why


def test_any_other_error_fails(tmp_path: Path) -> None:
    put(tmp_path, PATH, "old\n")
    with pytest.raises(Refusal) as refused:
        Word(machine(tmp_path, Faulty(str(tmp_path), {PATH: errno.EIO}))).write(PLACE, "new")
    assert refused.value.why is Why.FAILED
    assert refused.value.detail == f"{PATH}: the kernel does not take 'new': Input/output error"


def test_a_number_in_a_file(tmp_path: Path) -> None:
    source = Sysroot(str(tmp_path))
    for text, number in (("17\n", 17), ("", None), ("-3\n", None), ("9" * 21, None), ("\u0664\n", None)):
        put(tmp_path, PATH, text)
        assert number_in(source, PATH) == number
    assert number_in(source, "/proc/sys/other") is None
