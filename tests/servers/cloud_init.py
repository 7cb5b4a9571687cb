"""Machines on which the real cloud-init (Debian's) runs user data: each is a set of namespaces on this machine.

A machine sees the system of this one, read-only below a layer of its own in memory, and has its own processes, network
and host name. Its console is a pseudo terminal. cloud-init finds its user data as the datasource NoCloud and goes
through its four stages, with only the modules that run scripts. `poweroff` ends it. Nothing outside is changed.
"""

import os
import pty
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from tests.servers.daemon import LEASH, skip_without

SETTINGS = """\
datasource_list: [NoCloud]
network: {config: disabled}
cloud_init_modules: []
cloud_config_modules: []
cloud_final_modules: [scripts-per-once, scripts-per-boot, scripts-per-instance, scripts-user]
"""
#: $1: the folder of the machine. Its `var` is kept over a restart, as a disk is.
BOOT = r"""
set -e
cd "$1"
mkdir -p memory root var
mount -t tmpfs tmpfs memory
mkdir memory/upper memory/work
mount -t overlay overlay -o "lowerdir=/,upperdir=memory/upper,workdir=memory/work" root
mount -t proc proc root/proc
mount -t sysfs sysfs root/sys
for place in dev run tmp var/lib/cloud etc/cloud/cloud.cfg.d; do
    mkdir -p "root/$place"
    mount -t tmpfs tmpfs "root/$place"
done
for place in null zero random urandom; do
    touch "root/dev/$place"
    mount --bind "/dev/$place" "root/dev/$place"
done
touch root/dev/console
mount --bind "$2" root/dev/console
mkdir -p var/cloud var/job root/var/lib/dovetail-job root/mnt
mount --bind var/cloud root/var/lib/cloud
mount --bind var/job root/var/lib/dovetail-job
mkdir -p root/var/lib/cloud/seed/nocloud
cp user-data meta-data root/var/lib/cloud/seed/nocloud/
cp settings root/etc/cloud/cloud.cfg.d/99-test.cfg
cp /etc/cloud/cloud.cfg.d/05_logging.cfg root/etc/cloud/cloud.cfg.d/
cat /proc/sys/kernel/random/uuid > boot_id
mount --bind boot_id root/proc/sys/kernel/random/boot_id
mount --bind "$1" root/mnt
printf '#!/bin/sh\ntouch /mnt/off\n' > root/usr/sbin/poweroff
chmod 755 root/usr/sbin/poweroff
hostname machine
for stage in "init --local" init "modules --mode=config" "modules --mode=final"; do
    # shellcheck disable=SC2086
    chroot root /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin cloud-init $stage > root/dev/console 2>&1
done
"""


class CloudInitMachine:
    """`start` again is a restart with the same disk."""

    def __init__(self, folder: Path, user_data: str) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        (folder / "user-data").write_text(user_data)
        (folder / "meta-data").write_text(f"instance-id: {folder.name}\nlocal-hostname: machine\n")
        (folder / "settings").write_text(SETTINGS)
        self._shown = bytearray()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        master, slave = pty.openpty()
        terminal = os.ttyname(slave)
        flags = ["--mount", "--uts", "--ipc", "--pid", "--net", "--fork", "--kill-child"]
        self._process = subprocess.Popen(
            ["unshare", *flags, "sh", "-c", BOOT, "boot", self.folder, terminal],
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        LEASH.hold(self._process.pid)
        threading.Thread(target=self._read, args=(master, slave), name="console", daemon=True).start()

    def _read(self, master: int, slave: int) -> None:
        """`slave` stays open: a console is there although nobody writes to it."""
        with suppress(OSError):
            while self._process is not None:
                self._shown += os.read(master, 65536)
        os.close(slave)
        os.close(master)

    def console(self) -> str:
        return bytes(self._shown).decode(errors="replace")

    def clear_console(self) -> None:
        self._shown.clear()

    @property
    def is_off(self) -> bool:
        """It has powered itself off."""
        return (self.folder / "off").exists()

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """As by its plug: all its processes end with the first."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def skip_without_cloud_init() -> None:
    skip_without("cloud-init", "unshare")
    if os.geteuid() != 0:
        pytest.skip("machines with cloud-init need root, for their namespaces")
    probe = ["unshare", "--mount", "--uts", "--ipc", "--pid", "--net", "--fork", "true"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("machines with cloud-init need namespaces, which are not allowed here")
