"""A load that runs on the hypervisor and is asked for from inside the guest, whom a round costs nothing but its server.

``ASK`` is what a trial in the guest runs as its command; it prints the
transactions a second that the hypervisor measured.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from tests.lab.domain import Domain

PORT, DRIVER_PORT = 5557, 5558
WORD = secrets.token_hex(16)
WORD_FILE = "/run/load-token"
PYTHON = "/opt/tuneagent/bin/python"
ASK = "/run/ask"
SECONDS = 7000
_DRIVER = """\
import socket, sys
from tuneagent.load import loads
from tuneagent.model.load import LoadKind, LoadSpec

spec = LoadSpec(LoadKind.TCP_RR, sys.argv[2], int(sys.argv[3]), connections=int(sys.argv[6]), cpus=(0,))
door = socket.create_server((sys.argv[1], int(sys.argv[4])))
while True:
    sock, _ = door.accept()
    with sock:
        seconds = float(sock.recv(64) or 1)
        try:
            told = loads.run(spec, seconds, token=sys.argv[5], warm_up_s=0.2)
            sock.sendall(f"{told.transactions / seconds:.1f}\\n".encode())
        except Exception as error:
            sock.sendall(f"{error}\\n".encode())
"""
_ASK = """\
#!/opt/tuneagent/bin/python -IS
import os, socket
with socket.create_connection(("{address}", {port})) as sock:
    sock.sendall(os.environ["TUNEAGENT_SECONDS"].encode())
    print(sock.makefile().read().strip())
"""


@contextmanager
def serving(one: Domain, *words: str) -> Iterator[str]:
    """A server of the load in the guest, for as long as the body runs; ``words`` are more of its options.

    Yields what the command line of a client on the hypervisor has for it.
    """
    for place in (one, one.guest):
        place.run(f"umask 077; printf %s {WORD} > {WORD_FILE}").checked()
    serve = shlex.join(
        [
            *("/usr/local/bin/tuneagent", "load", "serve", "--listen", one.address, "--port", str(PORT)),
            *("--token-file", WORD_FILE, "--for", str(SECONDS), "--idle", str(SECONDS), *words),
        ]
    )
    one.guest.run(f"systemd-run --quiet --collect --unit=load-server {serve}").checked()
    try:
        one.guest.run(f"timeout 60 sh -c 'until ss -Hltn sport = {PORT} | grep -q .; do sleep 0.5; done'").checked()
        yield f"--to {one.address}:{PORT} --token-file {WORD_FILE}"
    finally:
        one.guest.run("systemctl stop load-server")


@contextmanager
def driven(one: Domain, host_address: str, connections: int) -> Iterator[str]:
    """The guest's server under a load of the hypervisor whenever the guest asks. Yields a trial's words for it.

    One connection is a steady load; many are busier, and noisier.
    """
    with serving(one, "--cpus", "0,1", "--processes", "2"):
        numbers = one.address, str(PORT), str(DRIVER_PORT), WORD, str(connections)
        words = shlex.join([PYTHON, "-c", _DRIVER, host_address, *numbers])
        one.run(f"systemd-run --quiet --collect --unit=load-driver {words}").checked()
        text = shlex.quote(_ASK.format(address=host_address, port=DRIVER_PORT))
        one.guest.run(f"printf %s {text} > {ASK}; chmod 755 {ASK}").checked()
        try:
            one.run(
                f"timeout 60 sh -c 'until ss -Hltn sport = {DRIVER_PORT} | grep -q .; do sleep 0.5; done'"
            ).checked()
            yield f"--load command -- {ASK}"
        finally:
            one.run("systemctl stop load-driver")
