"""Processes that wait for each other's kernel locks: they make and remove files in one directory.

Run as a program: DIRECTORY PROCESSES PAUSE_S; prints a line once all of them run, until their group is killed.
"""

from __future__ import annotations

import os
import sys
import time


def work(directory: str, pause_s: float) -> None:
    name = f"{directory}/{os.getpid()}"
    while True:
        for _ in range(50):
            os.close(os.open(name, os.O_CREAT | os.O_RDWR))
            os.unlink(name)  # noqa: PTH108 - the load is in the kernel, not in pathlib
        if pause_s:
            time.sleep(pause_s)


def main(directory: str, processes: int, pause_s: float) -> None:
    for _ in range(processes):
        if os.fork() == 0:
            work(directory, pause_s)
    sys.stdout.write("running\n")
    sys.stdout.flush()
    os.wait()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
