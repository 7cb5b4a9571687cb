"""A control plane in one file, to be killed: `python control_plane.py <folder> <attempts> <pool> <socket>`."""

import asyncio
import sys
from pathlib import Path

from tests.contract.backends.conformance import Subject
from tests.contract.backends.killed_control_plane import control
from tests.contract.backends.libvirt.rig import libvirt_settings
from tests.servers.tiny_guest import machine, write_kernel

from dovetail.backends.libvirt.backend import LibvirtBackend

CLUSTER = "killed"

if __name__ == "__main__":
    folder, attempts, pool, socket = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    host = {"name": "hv1", "uri": "qemu+unix:///system", "parameters": {"socket": socket}}
    settings = libvirt_settings(host, cluster=CLUSTER)
    write_kernel(pool)
    subject = Subject(lambda: LibvirtBackend("vms", settings, folder / "backend"), machine)
    asyncio.run(control(folder, attempts, subject, at_once=attempts))
