"""Hypervisors as nodes: VMs on QEMU, through libvirt.

Guarantees: an attempt's VM is started at most once, even if the control plane, the connection, or libvirtd fails; VMs
run on while any of them is away and are found again; a hypervisor that does not answer is offline and delays no other;
a stopped key never runs; what others made there counts as used and is never touched.

There are two sources of truth, as with Docker hosts: the hypervisor has the domains (with a name and a UUID that follow
from the key, and the key in their metadata), and a journal in the backend's folder has what was ordered, stopped and
ended. The next step of an attempt is decided from these two alone (`deciding.py`).

Whether a domain that is off has ever run, libvirt forgets with its daemon. So the console log is made before the
domain, with one line in it; QEMU empties the file when it starts. If the line is still there, it never ran
(`storage.py`).

libvirt-python blocks, so every call runs in a thread, each on a connection of its own (`connection.py`).
"""
