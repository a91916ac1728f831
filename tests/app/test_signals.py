"""Real signals, sent to this process and to one that runs in a body of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from tuneagent.app.signals import Interrupted, orderly

EVERY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_is_raised_and_the_second_leaves_the_undo_alone(number: signal.Signals, code: int) -> None:
    undone = []

    def written() -> None:
        with orderly() as interruptions:
            try:
                signal.raise_signal(number)
                pytest.fail("the body went on")
            finally:
                for again in EVERY:
                    signal.raise_signal(again)
                undone.append(interruptions.asked)

    with pytest.raises(Interrupted, match=f"interrupted by {number.name}") as caught:
        written()
    assert undone == [number]
    assert (caught.value.number, caught.value.exit_code) == (number, code)


def test_nothing_is_raised_once_it_is_too_late() -> None:
    with orderly() as interruptions:
        interruptions.ignore()
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert interruptions.asked is signal.SIGTERM


def test_a_hangup_is_ignored_and_so_it_is_by_the_commands_that_are_run() -> None:
    with orderly() as interruptions:
        signal.raise_signal(signal.SIGHUP)
        child = subprocess.run(["/bin/sh", "-c", "kill -HUP $$; echo lives"], capture_output=True, check=True)
    assert child.stdout == b"lives\n"
    assert interruptions.asked is None


@pytest.mark.parametrize("fails", [False, True])
def test_the_handlers_of_before_come_back(*, fails: bool) -> None:
    before = [signal.getsignal(number) for number in EVERY]
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with suppress(LookupError), orderly():
        assert [signal.getsignal(number) for number in EVERY] != before
        if fails:
            raise LookupError
    assert [signal.getsignal(number) for number in EVERY] == before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == mask


def test_what_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with orderly() as interruptions:
            signal.raise_signal(signal.SIGTERM)
            assert interruptions.asked is None
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


BODY = """
import time
from tuneagent.app.signals import Interrupted, orderly
try:
    with orderly():
        try:
            print("in", flush=True)
            time.sleep(600)
        finally:
            print("undoing", flush=True)
            time.sleep(1)
            print("undone", flush=True)
except Interrupted as interrupted:
    raise SystemExit(interrupted.exit_code)
"""


def test_another_process_ends_in_order_although_it_is_told_again_and_again() -> None:
    with subprocess.Popen([sys.executable, "-c", BODY], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        os.kill(process.pid, signal.SIGTERM)
        assert process.stdout.readline() == "undoing\n"
        for number in EVERY:
            os.kill(process.pid, number)
        assert process.communicate(timeout=60)[0] == "undone\n"
        assert process.returncode == 128 + signal.SIGTERM


def test_what_must_not_be_disturbed_is_not_and_the_signal_is_raised_after_it() -> None:
    done = []

    def held() -> None:
        with orderly() as interruptions:
            with interruptions.held():
                signal.raise_signal(signal.SIGTERM)
                done.append("all of it")
            pytest.fail("the body went on")

    with pytest.raises(Interrupted, match="interrupted by SIGTERM"):
        held()
    assert done == ["all of it"]


def test_a_body_that_was_held_can_be_interrupted_afterwards() -> None:
    with orderly() as interruptions:
        with interruptions.held():
            pass
        with pytest.raises(Interrupted):
            signal.raise_signal(signal.SIGINT)
