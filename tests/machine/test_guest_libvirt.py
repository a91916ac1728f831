"""What libvirt says of a guest's agent. The errors are libvirt's own; its test driver stands for a hypervisor."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tuneagent.machine import guest_libvirt
from tuneagent.machine.guest_agent import ALLOW
from tuneagent.machine.guest_libvirt import NO_CHANNEL, NOT_CONNECTED, failure_of
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason

libvirt = pytest.importorskip("libvirt")
TEST_UUID = "6695eb01-f6a4-8304-79aa-97f2502e193f"
"""Of the one domain that test:///default has (src/test/test_driver.c)."""
ARGUMENT_UNSUPPORTED, AGENT_UNRESPONSIVE, INTERNAL, INVALID = 74, 86, 1, 55


def libvirts(code: int, message: str) -> Any:
    error = libvirt.libvirtError(message)
    error.err = (code, 10, message, 2, message, None, None, -1, -1)
    return error


@pytest.mark.parametrize(
    ("code", "said", "reason", "remedy"),
    [
        (ARGUMENT_UNSUPPORTED, "argument unsupported: QEMU guest agent is not configured", Reason.ABSENT, NO_CHANNEL),
        (
            AGENT_UNRESPONSIVE,
            "Guest agent is not responding: QEMU guest agent is not connected",
            Reason.ABSENT,
            NOT_CONNECTED,
        ),
        (
            AGENT_UNRESPONSIVE,
            "Guest agent is not responding: Guest agent not available for now",
            Reason.FAILED,
            NOT_CONNECTED,
        ),
        (INTERNAL, "guest agent command timed out", Reason.FAILED, NOT_CONNECTED),
        (
            INTERNAL,
            "internal error: unable to execute QEMU agent command 'guest-exec': Command guest-exec has been disabled",
            Reason.PERMISSION,
            ALLOW,
        ),
        (INVALID, "Requested operation is not valid: domain is not running", Reason.ABSENT, None),
        (
            INTERNAL,
            "QEMU agent command 'guest-file-open': failed to open file '/x' (mode: 'r'): No such file or directory",
            Reason.FAILED,
            None,
        ),
    ],
)
def test_each_refusal_has_its_reason_and_its_remedy(code: int, said: str, reason: Reason, remedy: str | None) -> None:
    error = failure_of(libvirt, "guest-exec", libvirts(code, said))
    assert (error.reason, error.remedy) == (reason, remedy)


def test_what_a_guest_says_through_libvirt_is_escaped() -> None:
    error = failure_of(libvirt, "guest-exec", libvirts(INTERNAL, "\x1b[2J\n"))
    assert str(error).isprintable()


def refusal(uri: str, uuid: str) -> SourceError:
    with pytest.raises(SourceError) as caught:
        guest_libvirt.transport(uri, uuid).ask("guest-info", {})
    return caught.value


def test_a_hypervisor_without_agents_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    assert refusal("test:///default", TEST_UUID).reason is Reason.UNSUPPORTED
    assert capfd.readouterr() == ("", "")


def test_a_domain_that_is_gone_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    error = refusal("test:///default", "00000000-0000-4000-8000-000000000001")
    assert (error.reason, error.detail) == (Reason.ABSENT, "libvirt has no such domain now")
    assert capfd.readouterr() == ("", "")


def test_no_daemon_is_told(tmp_path: object) -> None:
    error = refusal(f"qemu+unix:///system?socket={tmp_path}/none", TEST_UUID)
    assert error.reason is Reason.ABSENT
    assert error.remedy is not None


def test_without_the_library_the_remedy_is_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libvirt", None)
    with pytest.raises(SourceError, match="libvirt-python") as caught:
        guest_libvirt.transport("qemu:///system", TEST_UUID)
    assert caught.value.reason is Reason.ABSENT
    assert "libvirt-python" in (caught.value.remedy or "")
