"""A KVM hypervisor under software emulation and real KVM guests in it: everything that needs both sides of a NIC."""
