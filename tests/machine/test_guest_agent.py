from __future__ import annotations

import json
from typing import Any

import pytest

from tests.machine.guests import Guest, Hours
from tuneagent.machine.guest_agent import ALLOW, GuestAgent, JsonTransport, Transport
from tuneagent.model.errors import SourceError
from tuneagent.model.missing import Reason


class Answering:
    """An agent that always says the same."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def ask(self, _command: str, _arguments: Any) -> Any:
        return self._value


def says(text: str) -> Transport:
    return JsonTransport(lambda _command, _request, _seconds: text)


def refusal(transport: Transport) -> SourceError:
    with pytest.raises(SourceError) as caught:
        GuestAgent(transport).commands()
    assert "\n" not in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 500
    return caught.value


def test_the_request_is_the_protocols_and_the_reply_is_taken_apart() -> None:
    sent: list[tuple[Any, int]] = []

    def exchange(command: str, request: str, seconds: int) -> str:
        assert command == "guest-exec"
        sent.append((json.loads(request), seconds))
        return '{"return": {"pid": 7}}'

    agent = GuestAgent(JsonTransport(exchange))
    assert agent.fields("guest-exec", {"path": "grep"}) == {"pid": 7}
    assert sent == [({"execute": "guest-exec", "arguments": {"path": "grep"}}, 5)]


def test_only_enabled_commands_count() -> None:
    assert GuestAgent(Guest(allowed=("guest-exec",))).commands() == {"guest-exec"}


def test_names_of_commands_that_are_none_are_dropped() -> None:
    listed = [{"name": name, "enabled": True} for name in ("guest-exec", "rm -rf\n/", "", 4, None)]
    assert GuestAgent(Answering({"supported_commands": [*listed, 3, None]})).commands() == {"guest-exec"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x1b[2J",
        "[]",
        "{}",
        "null",
        '{"return": 3}',
        '{"error": "no"}',
        '{"return": {"supported_commands": {}}}',
        '{"return": {"supported_commands": ' + "9" * 5000 + "}}",
        "[" * 100_000,
        '{"return": ' + "[" * 60 + "]" * 60 + "}",
        '{"return": NaN}',
    ],
)
def test_garbage_is_one_clear_error(text: str) -> None:
    assert refusal(says(text)).reason is Reason.MALFORMED


@pytest.mark.parametrize(
    "value",
    ["x" * 9_000_000, {"supported_commands": [0] * 200_000}, {"x" * 9_000_000: 1}, {"a": {"b": ["y" * 9**7] * 3}}],
)
def test_a_flood_is_stopped(value: Any) -> None:
    assert refusal(Answering(value)).reason is Reason.TOO_LARGE


def test_a_flood_of_text_is_not_even_parsed() -> None:
    assert refusal(says('{"return": "' + "x" * 9_000_000)).reason is Reason.TOO_LARGE


def test_many_small_answers_are_a_flood_too() -> None:
    agent = GuestAgent(Answering("x" * 3_000_000))
    agent.ask("guest-info")
    agent.ask("guest-info")
    with pytest.raises(SourceError, match="more than 8388608 bytes"):
        agent.ask("guest-info")
    agent.begin()
    agent.ask("guest-info")


def test_depth_is_bounded_for_values_as_for_texts() -> None:
    value: Any = {}
    for _ in range(100):
        value = {"a": value}
    assert refusal(Answering(value)).reason is Reason.MALFORMED


class Slow:
    """A guest that takes four seconds for each answer."""

    def __init__(self, hours: Hours) -> None:
        self._hours = hours

    def ask(self, _command: str, _arguments: Any) -> Any:
        self._hours.wait(4.0)
        return {}


def test_all_looks_together_have_an_end_and_the_time_between_them_does_not_count() -> None:
    hours = Hours()
    agent = GuestAgent(Slow(hours), now=hours.now, wait=hours.wait, longest_s=25.0)
    for _ in range(2):
        agent.begin()
        for _ in range(3):
            agent.ask("guest-ping")
        hours.wait(600.0)
    agent.begin()
    agent.ask("guest-ping")
    with pytest.raises(SourceError, match="within 25 s"):
        agent.ask("guest-ping")


def test_failures_take_time_as_answers_do() -> None:
    hours = Hours()

    def fails(*_: Any) -> str:
        hours.wait(9.0)
        return json.dumps({"error": {"class": "GenericError", "desc": "no"}})

    agent = GuestAgent(JsonTransport(fails), now=hours.now, wait=hours.wait, longest_s=25.0)
    for _ in range(3):
        with pytest.raises(SourceError, match="failed in the guest"):
            agent.ask("guest-ping")
        agent.begin()
    with pytest.raises(SourceError, match="within 25 s"):
        agent.ask("guest-ping")


@pytest.mark.parametrize(
    "said", ["Command guest-exec has been disabled: the command is not allowed", "The command x has not been found"]
)
def test_a_blocked_command_comes_with_its_remedy(said: str) -> None:
    error = refusal(says(json.dumps({"error": {"class": "CommandNotFound", "desc": said}})))
    assert (error.reason, error.remedy) == (Reason.PERMISSION, ALLOW)
    assert "does not allow guest-info" in error.detail


def test_what_a_guest_says_cannot_steer_a_terminal() -> None:
    error = refusal(
        says(json.dumps({"error": {"class": "GenericError", "desc": "\x1b]0;owned\x07\n\u202e" + "x" * 9000}}))
    )
    assert error.reason is Reason.FAILED
    assert error.detail.isascii()
    assert "\\x1b]0;owned" in error.detail
