"""A process that is to KVM what QEMU is: a virtual machine whose vCPUs write to a port, with their statistics open.

Run as a program: prints its vCPUs' counters as JSON, as its own descriptors tell them; then for every line that it is
given runs the vCPUs again and prints anew. The arguments are how often each vCPU leaves to the port in one turn.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import struct
import sys

KVM_CREATE_VM, KVM_CREATE_VCPU, KVM_RUN, KVM_GET_STATS_FD = 0xAE01, 0xAE41, 0xAE80, 0xAECE
KVM_GET_VCPU_MMAP_SIZE, KVM_SET_USER_MEMORY_REGION = 0xAE04, 0x4020AE46
KVM_GET_SREGS, KVM_SET_SREGS, KVM_SET_REGS = 0x8138AE83, 0x4138AE84, 0x4090AE82
CODE = bytes([0xE6, 0x10, 0xEB, 0xFC])  # again: out 0x10, al; jmp again
EXIT_REASON, EXIT_IO = 8, 2


class Machine:
    """A virtual machine with one page of memory."""

    def __init__(self, vcpus: int) -> None:
        kvm = os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC)
        self.vm = fcntl.ioctl(kvm, KVM_CREATE_VM, 0)
        self.size = fcntl.ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0)
        self.memory = mmap.mmap(-1, 4096)
        self.memory[: len(CODE)] = CODE
        address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        fcntl.ioctl(self.vm, KVM_SET_USER_MEMORY_REGION, struct.pack("IIQQQ", 0, 0, 0, 4096, address))
        self.vcpus = [self._vcpu(number) for number in range(vcpus)]
        self.statistics = [fcntl.ioctl(vcpu, KVM_GET_STATS_FD, 0) for vcpu, _ in self.vcpus]

    def _vcpu(self, number: int) -> tuple[int, mmap.mmap]:
        vcpu = fcntl.ioctl(self.vm, KVM_CREATE_VCPU, number)
        special = bytearray(0x138)
        fcntl.ioctl(vcpu, KVM_GET_SREGS, special)
        struct.pack_into("Q", special, 0, 0)  # the base of cs
        struct.pack_into("H", special, 12, 0)  # and its selector
        fcntl.ioctl(vcpu, KVM_SET_SREGS, bytes(special))
        registers = [0] * 16 + [0, 2]  # rip, rflags
        fcntl.ioctl(vcpu, KVM_SET_REGS, struct.pack("18Q", *registers))
        return vcpu, mmap.mmap(vcpu, self.size)

    def run(self, number: int, times: int) -> None:
        """Lets a vCPU leave to its port."""
        vcpu, shared = self.vcpus[number]
        for _ in range(times):
            fcntl.ioctl(vcpu, KVM_RUN, 0)
            (reason,) = struct.unpack_from("I", shared, EXIT_REASON)
            if reason != EXIT_IO:
                raise RuntimeError(f"exit reason {reason}")

    def counters(self, number: int) -> dict[str, int]:
        """Every counter of one value, by the descriptor of a vCPU."""
        file = self.statistics[number]
        _, name_size, count, _, start, data = struct.unpack("6I", os.pread(file, 24, 0))
        told = {}
        for index in range(count):
            entry = os.pread(file, 16 + name_size, start + index * (16 + name_size))
            _, _, size, offset, _ = struct.unpack("IhHII", entry[:16])
            if size == 1:
                (told[entry[16:].rstrip(b"\0").decode()],) = struct.unpack("Q", os.pread(file, 8, data + offset))
        return told


def main() -> None:
    """Runs as told; ends with its input."""
    times = [int(word) for word in sys.argv[1:]]
    machine = Machine(len(times))
    while True:
        for number, count in enumerate(times):
            machine.run(number, count)
        sys.stdout.write(json.dumps([machine.counters(number) for number in range(len(times))]) + "\n")
        sys.stdout.flush()
        if not sys.stdin.readline():
            return


if __name__ == "__main__":
    main()
