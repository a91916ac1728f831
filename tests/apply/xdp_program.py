"""An XDP program of two instructions that lets every packet pass, loaded with no compiler and no library."""

from __future__ import annotations

import ctypes
import os
import platform
import struct

from tuneagent.machine.netlink import NETLINK_ROUTE, Netlink, nested, u32

BPF_PROG_LOAD, BPF_PROG_TYPE_XDP = 5, 6
RTM_SETLINK, IFLA_XDP, IFLA_XDP_FD = 19, 43, 1
BPF = {"x86_64": 321, "aarch64": 280}
PASS = struct.pack("=BBhi", 0xB7, 0, 0, 2) + struct.pack("=BBhi", 0x95, 0, 0, 0)  # r0 = XDP_PASS; exit


def load() -> int:
    """Its file descriptor; OSError where the kernel has no BPF or does not allow it."""
    code = ctypes.create_string_buffer(PASS, len(PASS))
    licence = ctypes.create_string_buffer(b"GPL")
    asked = struct.pack("=IIQQ", BPF_PROG_TYPE_XDP, 2, ctypes.addressof(code), ctypes.addressof(licence))
    attributes = ctypes.create_string_buffer(asked.ljust(128, b"\0"), 128)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.syscall(BPF[platform.machine()], BPF_PROG_LOAD, attributes, 128)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


def attach(index: int, descriptor: int) -> None:
    """To an interface by its number; -1 takes it away."""
    body = struct.pack("=BxHiII", 0, 0, index, 0, 0) + nested(IFLA_XDP, u32(IFLA_XDP_FD, descriptor & 0xFFFFFFFF))
    with Netlink(NETLINK_ROUTE) as netlink:
        netlink.request(RTM_SETLINK, body)
