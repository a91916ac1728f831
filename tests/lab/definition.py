"""What a domain is asked to be, and its libvirt XML. Pure."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

from tests.lab.images import LAB
from tests.lab.recipe import BRIDGES

# panic=0: a guest that dies shows why on its console, and does not reboot over it. loglevel=5 and not "quiet": warnings
# are shown, but each letter of the notices below them is an exit or two, a third of all in a boot.
KERNEL_LINE = "root=/dev/vda rw console=ttyS0 loglevel=5 panic=0 mitigations=off nokaslr net.ifnames=0"


@dataclass(frozen=True, slots=True)
class Definition:
    """A domain: ``queues`` queue pairs on each of ``nics`` NICs, ``memory`` MiB, and the series of its own kernel.

    Two domains alike at the same time differ in ``twin``.
    """

    event_idx: bool = True
    queues: int = 2
    vcpus: int = 2
    vhost: bool = True
    nics: int = 1
    memory: int = 768
    guest_kernel: str = "6.1"
    twin: int = 0

    def booted(self) -> Definition:
        """What is booted for this one: the same machine with the usual NICs, which can be exchanged while it runs."""
        usual = Definition()
        return replace(self, event_idx=usual.event_idx, queues=usual.queues, vhost=usual.vhost)

    @property
    def name(self) -> str:
        """The domain's name: says all that cannot be exchanged while it runs."""
        twin = f"-twin{self.twin}" if self.twin else ""
        return f"guest{self.guest_kernel}-{self.vcpus}cpu-{self.nics}nic-{self.memory}m{twin}"

    @property
    def number(self) -> int:
        """From 10 to 209, and the same in every run, since a saved domain keeps its addresses."""
        return zlib.crc32(self.name.encode()) % 200 + 10

    def mac(self, nic: int) -> str:
        """The MAC address of NIC ``nic`` (from 0)."""
        return f"52:54:00:aa:{self.number:02x}:{nic:02x}"

    def address(self, nic: int) -> str:
        """The IPv4 address of that NIC, on the bridge of the same number."""
        return _bridge_address(nic).rpartition(".")[0] + f".{self.number}"

    def xml(self, disk: str, console: str) -> str:
        """The XML for ``virsh define``; ``disk`` and ``console`` are paths in the hypervisor."""
        addresses = "".join(f" ip={self.address(nic)}:::255.255.255.0::eth{nic}:off" for nic in range(self.nics))
        boot = f"{LAB}/{self.guest_kernel}"
        return f"""\
<domain type='kvm'>
  <name>{self.name}</name>
  <memory unit='MiB'>{self.memory}</memory>
  <vcpu>{self.vcpus}</vcpu>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <kernel>{boot}/kernel</kernel>
    <initrd>{boot}/initramfs</initrd>
    <cmdline>{KERNEL_LINE}{addresses}</cmdline>
  </os>
  <features><acpi/><apic/></features>
  <cpu mode='host-passthrough'/>
  <on_reboot>destroy</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2' cache='unsafe'/>
      <source file='{disk}'/>
      <target dev='vda' bus='virtio'/>
    </disk>
{"".join(self.interface(nic) for nic in range(self.nics))}\
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
    <serial type='file'><source path='{console}'/></serial>
    <controller type='usb' model='none'/>
    <memballoon model='none'/>
  </devices>
</domain>
"""

    def interface(self, nic: int) -> str:
        """The XML of one NIC alone, as ``virsh detach-device`` and ``attach-device`` take it."""
        queues = f" queues='{self.queues}'" if self.queues > 1 else ""
        event_idx = "on" if self.event_idx else "off"
        return f"""\
    <interface type='bridge'>
      <mac address='{self.mac(nic)}'/>
      <source bridge='br{nic}'/>
      <target dev='tap{self.number}n{nic}'/>
      <model type='virtio'/>
      <driver name='{"vhost" if self.vhost else "qemu"}' event_idx='{event_idx}'{queues}/>
    </interface>
"""


def _bridge_address(nic: int) -> str:
    return BRIDGES[f"br{nic}"].partition("/")[0]
