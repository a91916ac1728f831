"""How long a client waits for a server that says little."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from tuneagent.load.dial import dial, read, target
from tuneagent.load.errors import LoadError
from tuneagent.load.wire import Ask, Role


def test_a_server_that_drips_is_waited_for_no_longer_than_one_that_is_silent() -> None:
    """Else its greeting, byte for byte, would be waited for many times as long, and then be no greeting."""
    with socket.create_server(("127.0.0.1", 0)) as door:

        def drip() -> None:
            sock, _ = door.accept()
            with sock:
                for _ in range(100):
                    try:
                        sock.sendall(b"x")
                    except OSError:
                        return
                    time.sleep(0.1)

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            there = target("127.0.0.1", door.getsockname()[1], "a-token-of-the-tests")
            with pytest.raises(LoadError, match=r"no answer from 127\.0\.0\.1.* within 0\.5 s"):
                dial(there, Ask(Role.CONTROL), 0.5)
        finally:
            thread.join()


def test_a_byte_in_time_gives_the_rest_no_time_of_its_own() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(20)
        theirs.sendall(b"x")
        with pytest.raises(TimeoutError):
            read(ours, 8, time.monotonic() + 0.2)
        patience_s = ours.gettimeout()

    assert patience_s is not None
    assert patience_s <= 0.2
