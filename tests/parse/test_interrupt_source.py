from __future__ import annotations

import pytest

from tuneagent.parse.interrupt_source import pci_address, split_source


@pytest.mark.parametrize(
    ("text", "chip", "hwirq", "trigger", "actions"),
    [
        ("PCI-MSIX-0000:00:03.0   1-edge      virtio0-rx", "PCI-MSIX-0000:00:03.0", "1", "edge", "virtio0-rx"),
        ("PCI-MSI 16385-edge      virtio0-input.0", "PCI-MSI", "16385", "edge", "virtio0-input.0"),
        ("PCI-MSI-edge      virtio6-input.0", "PCI-MSI", None, "edge", "virtio6-input.0"),
        ("IO-APIC   5-edge      parport0", "IO-APIC", "5", "edge", "parport0"),
        ("IO-APIC   2-fasteoi   acpi", "IO-APIC", "2", "fasteoi", "acpi"),
        ("IO-APIC-fasteoi   acpi", "IO-APIC", None, "fasteoi", "acpi"),
        ("IR-PCI-MSI-0000:00:1f.2    0-edge      ahci[0000:00:1f.2]", "IR-PCI-MSI-0000:00:1f.2", "0", "edge",
         "ahci[0000:00:1f.2]"),
        ("DMAR-MSI   1-edge      dmar1", "DMAR-MSI", "1", "edge", "dmar1"),
        ("XT-PIC   2-XT-PIC      cascade", "XT-PIC", "2", "XT-PIC", "cascade"),
        ("XT-PIC-XT-PIC     cascade", "XT-PIC", None, "XT-PIC", "cascade"),
        ("xen-dyn    -event     vif0-q0-rx", "xen-dyn", None, "event", "vif0-q0-rx"),
        ("xen-percpu    -virq      timer0", "xen-percpu", None, "virq", "timer0"),
        ("xen-dyn-event     eth3", "xen-dyn", None, "event", "eth3"),
        ("xen-pirq    -ioapic-level  uhci_hcd:usb2", "xen-pirq", None, "ioapic-level", "uhci_hcd:usb2"),
        ("GICv3 112 Level     enp5s0f4 (queue 17)", "GICv3", "112", "Level", "enp5s0f4 (queue 17)"),
        ("GICv3  23 Level   -fasteoi  mmc0", "GICv3", "23", "Level", "mmc0"),
        ("ITS-MSI 524288 Edge      eth2-rx", "ITS-MSI", "524288", "Edge", "eth2-rx"),
        ("Platform MSI   7 Edge      arm-smmu-v3-evtq", "Platform MSI", "7", "Edge", "arm-smmu-v3-evtq"),
        ("GICv2m   3 Edge      nvme0q1", "GICv2m", "3", "Edge", "nvme0q1"),
        ("9030000.pl061   3 Edge      GPIO Key Poweroff", "9030000.pl061", "3", "Edge", "GPIO Key Poweroff"),
        ("gpio-mxc  12 Edge      1-0050", "gpio-mxc", "12", "Edge", "1-0050"),
        ("SiFive PLIC   8 Edge      virtio0", "SiFive PLIC", "8", "Edge", "virtio0"),
        ("RISC-V INTC   5 Edge      riscv-timer", "RISC-V INTC", "5", "Edge", "riscv-timer"),
        ("PCH PIC  16 Level     ahci", "PCH PIC", "16", "Level", "ahci"),
        ("XIVE-IPI   0 Edge      IPI", "XIVE-IPI", "0", "Edge", "IPI"),
        ("XICS   2 Edge      IPI", "XICS", "2", "Edge", "IPI"),
        ("MIPS   7  timer", "MIPS", "7", None, "timer"),
        ("intc   3  serial 4", "intc", "3", None, "serial 4"),
        ("GIC  eth1", "GIC", None, None, "eth1"),
        ("LSAPIC  Low Level handler", "LSAPIC", None, None, "Low Level handler"),
        ("LSAPIC  1-0050", "LSAPIC", None, None, "1-0050"),
        ("sun4v  -IVEC     ttyHV0", "sun4v", None, "IVEC", "ttyHV0"),
        ("-   Edge      odd", "-", None, "Edge", "odd"),
        ("mpic 0x1f-edge      eth4", "mpic", "0x1f", "edge", "eth4"),
        ("mpic a5-edge      eth5", "mpic", "a5", "edge", "eth5"),
        ("ARMCTRL-level  41 Edge      virtio0", "ARMCTRL-level", "41", "Edge", "virtio0"),
        ("ARMCTRL-level  79  mmc0", "ARMCTRL-level", "79", None, "mmc0"),
        ("bcm-edge   Level     gpio", "bcm-edge", None, "Level", "gpio"),
        ("xen-pirq-msi-x     eth0-q0", "xen-pirq", None, "msi-x", "eth0-q0"),
        ("xen-pirq-msi       ahci", "xen-pirq", None, "msi", "ahci"),
        ("xen-pirq-pcifront-msi-x  nvme0q2", "xen-pirq", None, "pcifront-msi-x", "nvme0q2"),
        ("xen-pirq-ioapic-level  uhci_hcd:usb3", "xen-pirq", None, "ioapic-level", "uhci_hcd:usb3"),
        ("MPIC 1      16 Level     serial", "MPIC 1", "16", "Level", "serial"),
        ("MPIC 2      47-edge      eth7", "MPIC 2", "47", "edge", "eth7"),
        ("MIPS 7  3-0050", "MIPS", "7", None, "3-0050"),
    ],
)  # fmt: skip
def test_splits(text: str, chip: str, hwirq: str | None, trigger: str | None, actions: str) -> None:
    assert split_source(text) == (chip, hwirq, trigger, (actions,))


@pytest.mark.parametrize(
    ("text", "chip", "hwirq", "trigger"),
    [
        ("IR-PCI-MSI 524288-edge", "IR-PCI-MSI", "524288", "edge"),
        ("PCI-MSI-edge", "PCI-MSI", None, "edge"),
        ("xen-dyn    -event", "xen-dyn", None, "event"),
        ("SiFive PLIC   8 Edge", "SiFive PLIC", "8", "Edge"),
        ("MIPS   7", "MIPS", "7", None),
        ("mxs-dma", "mxs-dma", None, None),
        ("None", "None", None, None),
    ],
)
def test_a_handler_that_has_gone_leaves_no_name(text: str, chip: str, hwirq: str | None, trigger: str | None) -> None:
    assert split_source(text) == (chip, hwirq, trigger, ())


def test_no_text_says_nothing() -> None:
    assert split_source("") == (None, None, None, ())


def test_shared_lines_have_a_name_a_handler() -> None:
    source = split_source("IO-APIC  11-fasteoi   ehci_hcd:usb1, uhci_hcd:usb3, virtio3")
    assert source.actions == ("ehci_hcd:usb1", "uhci_hcd:usb3", "virtio3")


def test_a_comma_without_blank_belongs_to_the_name() -> None:
    assert split_source("GICv3  33 Level     fsl,edma, other").actions == ("fsl,edma", "other")


@pytest.mark.parametrize(
    ("chip", "address"),
    [
        ("PCI-MSIX-0000:00:03.0", "0000:00:03.0"),
        ("IR-PCI-MSI-0000:0A:1f.2", "0000:0a:1f.2"),
        ("VMD-MSI-10000:81:00.0", "10000:81:00.0"),
        ("PCI-MSI", None),
        ("XIVE-IRQ", None),
        ("PCI-MSIX-0000:00:03.0x", None),
        (None, None),
    ],
)
def test_the_chip_spells_the_pci_address(chip: str | None, address: str | None) -> None:
    assert pci_address(chip) == address
