"""tuneagent: advice for virtio networking under KVM, with evidence, from what the kernel itself counts."""

__version__ = "0.1.0"
