"""What is in the two images: packages and files. Any change here makes new images."""

from __future__ import annotations

BOTH = (
    *("systemd-sysv", "udev", "kmod", "iproute2", "procps", "dbus", "openssh-server", "iputils-ping"),
    *("python3", "python3-venv", "ethtool", "irqbalance", "sockperf"),
)
# libvirt's polkit wants a logind, which libpam-systemd brings.
HYPERVISOR = (
    *BOTH,
    *("libpam-systemd", "libvirt-daemon-system", "libvirt-clients", "python3-libvirt"),
    *("qemu-system-x86", "qemu-utils", "linux-perf"),
)
GUEST = (*BOTH, "qemu-guest-agent")

# Commands of mmdebstrap's hook, run in the new root; they begin no service.
SERVICES = (
    "systemctl enable systemd-networkd systemd-network-generator serial-getty@ttyS0",
    "systemctl disable systemd-networkd-wait-online",
    "systemctl mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer fstrim.timer e2scrub_all.timer",
    "systemctl mask e2scrub_reap.service systemd-timesyncd.service systemd-tmpfiles-clean.timer",
    "systemctl mask getty@tty1.service modprobe@.service",
    "python3 -m venv /opt/tuneagent",
    "ln -s /opt/tuneagent/bin/tuneagent /usr/local/bin/tuneagent",
)
# Nobody sits in front of a guest.
SERVICES_OF_GUEST = (*SERVICES, "systemctl mask systemd-logind.service")
# What nobody reads here is half of the time it takes to unpack a package.
UNREAD = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*", "/usr/share/lintian/*")

BRIDGES = {"br0": "192.0.2.1/24", "br1": "198.51.100.1/24"}

TRIGGER = """\
[Service]
ExecStart=
ExecStart=udevadm trigger --action=add --subsystem-match=net --subsystem-match=tty --subsystem-match=virtio-ports
"""

FILES_OF_BOTH = {
    "etc/machine-id": "",
    # Newer than /usr: nothing is to be brought up to date at the first boot (systemd-update-done.service).
    "etc/.updated": "",
    "var/.updated": "",
    # Only what somebody waits for is announced at boot; all else would load drivers for hardware that nobody uses.
    "etc/systemd/system/systemd-udev-trigger.service.d/lab.conf": TRIGGER,
    # A key exchange without the post-quantum half, and no PAM: each is seconds of emulated time per login.
    "etc/ssh/sshd_config.d/lab.conf": "UsePAM no\nUseDNS no\nKexAlgorithms curve25519-sha256\nMaxSessions 64\n",
    "etc/systemd/journald.conf.d/lab.conf": "[Journal]\nStorage=volatile\n",
    "etc/systemd/system.conf.d/lab.conf": "[Manager]\nDefaultTimeoutStartSec=300s\n",
}
FILES_OF_HYPERVISOR = {
    **FILES_OF_BOTH,
    "etc/hostname": "hypervisor\n",
    "etc/modules-load.d/lab.conf": "kvm_amd\nvhost_net\ntun\nbridge\n",
    "etc/systemd/network/eth0.network": "[Match]\nName=eth0\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n",
    # The images lie where only root may read; the machine is nobody's but the tests'.
    "etc/libvirt/qemu.conf": 'user = "root"\ngroup = "root"\nsecurity_driver = "none"\ndynamic_ownership = 0\n'
    'remember_owner = 0\nstdio_handler = "file"\n',
    **{f"etc/systemd/network/{name}.netdev": f"[NetDev]\nName={name}\nKind=bridge\n" for name in BRIDGES},
    **{
        f"etc/systemd/network/{name}.network": f"[Match]\nName={name}\n[Network]\nAddress={address}\n"
        "ConfigureWithoutCarrier=yes\nLinkLocalAddressing=no\n"
        for name, address in BRIDGES.items()
    },
}
# The guests' addresses stand on their kernel's command line (ip=), for systemd-network-generator.
FILES_OF_GUEST = {
    **FILES_OF_BOTH,
    "etc/hostname": "guest\n",
    "etc/modules-load.d/lab.conf": "virtio_console\n",
}
