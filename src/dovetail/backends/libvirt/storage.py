"""The volumes of a VM in the hypervisor's storage pool: console log, disks, cloud-init. Blocking; called in threads.

Every name follows from the key, and what exists is kept, so an interrupted step is repeated. The log holds `NEVER_RAN`
until QEMU starts and empties it. Everything goes through libvirt, so a remote hypervisor needs no other access.
"""

import contextlib
from collections.abc import Collection, Sequence
from typing import Any
from xml.etree import ElementTree as ET

import libvirt

from dovetail.backends.contract import WorkloadRefusal
from dovetail.backends.libvirt.cloud_init import seed_image
from dovetail.backends.libvirt.domain_xml import VmFiles
from dovetail.backends.libvirt.naming import DISK, LOG, SEED, DomainIdentity
from dovetail.model.workloads.workload import Workload

NEVER_RAN = b"dovetail: this VM has not been started\n"
EXIT_TAIL_BYTES = 4096
GIB = 2**30
Virt = Any


class VmStorage:
    """`allow_paths`: folders of the hypervisor below which images, kernels and disks may be named by path."""

    def __init__(self, pool: str, identity: DomainIdentity, allow_paths: Sequence[str]) -> None:
        self._pool, self._identity = pool, identity
        self._allowed = [f"{path.rstrip('/')}/" for path in allow_paths]

    def size_bytes(self, virt: Virt) -> int:
        """Of the pool. Raises libvirtError if it is not there or not active."""
        pool = virt.storagePoolLookupByName(self._pool)
        if not pool.isActive():
            pool.create()
        return int(pool.info()[1])

    def prepare(self, virt: Virt, key: str, spec: Workload) -> VmFiles:
        """Make what is missing. Raises WorkloadRefusal for sources that are not there or not allowed."""
        vm = spec.vm
        assert vm is not None
        pool, name = virt.storagePoolLookupByName(self._pool), self._identity.name(key)
        log = self._ensure(pool, f"{name}{LOG}", "raw", 0, NEVER_RAN)
        disks = []
        for number, disk in enumerate(vm.disks, 1):
            if disk.source is not None:
                path, kind, _ = self._find(virt, pool, disk.source)
                disks.append((path, kind))
            else:
                assert disk.size is not None
                disks.append((self._ensure(pool, f"{name}-{number}{DISK}", "qcow2", disk.size), "qcow2"))
        seed = None
        if vm.cloud_init is not None:
            content = seed_image(key, spec.name, vm.cloud_init)
            seed = self._ensure(pool, f"{name}{SEED}", "raw", len(content), content)
        root = None
        if vm.image is not None:
            path, kind, size = self._find(virt, pool, vm.image)
            capacity = max(size, spec.resources.disk)
            if not capacity:
                raise WorkloadRefusal(f"the size of image {vm.image} is not known; give resources.disk")
            root = self._ensure(pool, f"{name}{DISK}", "qcow2", capacity, backing=(path, kind))
        boot = [None if source is None else self._find(virt, pool, source)[0] for source in (vm.kernel, vm.initrd)]
        return VmFiles(log, root, seed, boot[0], boot[1], tuple(disks))

    def never_ran(self, virt: Virt, key: str) -> bool:
        """Whether QEMU never started for this key, by its log; false if the log is gone."""
        return self._read(virt, key, 0, len(NEVER_RAN)) == NEVER_RAN

    def read_log(self, virt: Virt, key: str, offset: int, limit: int) -> bytes | None:
        """None: there is no log. Empty until the VM starts."""
        if offset == 0 and self.never_ran(virt, key):
            return b""
        return self._read(virt, key, offset, limit)

    def log_end(self, virt: Virt, key: str) -> bytes:
        """The last part of the log."""
        size = self._log_size(virt, key)
        return self._read(virt, key, max(0, size - EXIT_TAIL_BYTES), EXIT_TAIL_BYTES) or b""

    def copy_log(self, virt: Virt, target: Virt, key: str) -> None:
        """To the pool of another hypervisor, for a VM that goes there."""
        content = self._read(virt, key, 0, self._log_size(virt, key)) or b""
        pool = target.storagePoolLookupByName(self._pool)
        with contextlib.suppress(libvirt.libvirtError):
            pool.storageVolLookupByName(f"{self._identity.name(key)}{LOG}").delete()
        self._ensure(pool, f"{self._identity.name(key)}{LOG}", "raw", 0, content)

    def remove(self, virt: Virt, keys: Collection[str], with_log: Collection[str] = ()) -> None:
        """Their volumes; the log only of those in `with_log`. Raises libvirtError if one could not be removed."""
        failed = None
        for volume in virt.storagePoolLookupByName(self._pool).listAllVolumes():
            name = volume.name()
            key = self._identity.key_of_volume(name)
            if key in keys and (key in with_log or not name.endswith(LOG)):
                try:
                    volume.delete()
                except libvirt.libvirtError as error:
                    if error.get_error_code() != libvirt.VIR_ERR_NO_STORAGE_VOL:  # else somebody else was quicker
                        failed = error
        if failed is not None:
            raise failed

    def kept(self, virt: Virt) -> set[str]:
        """The keys whose volumes are there."""
        names = virt.storagePoolLookupByName(self._pool).listVolumes()
        return {key for name in names if (key := self._identity.key_of_volume(name)) is not None}

    # --- one volume ------------------------------------------------------------------------------------------

    def _ensure(
        self,
        pool: Virt,
        name: str,
        kind: str,
        capacity: int,
        content: bytes | None = None,
        backing: tuple[str, str] | None = None,
    ) -> str:
        """Its path. One that is there is kept, unless it is empty and has a content."""
        try:
            volume = pool.storageVolLookupByName(name)
        except libvirt.libvirtError:
            try:
                volume = pool.createXML(_volume_xml(name, kind, capacity, backing))
            except libvirt.libvirtError as error:
                if error.get_error_code() != libvirt.VIR_ERR_STORAGE_VOL_EXIST:
                    # On shared storage another hypervisor may have made it: look again.
                    pool.refresh()
                    with contextlib.suppress(libvirt.libvirtError):
                        return str(pool.storageVolLookupByName(name).path())
                    raise
                volume = pool.storageVolLookupByName(name)
            if content is not None:
                _upload(pool, volume, content)
        return str(volume.path())

    def _find(self, virt: Virt, pool: Virt, source: str) -> tuple[str, str, int]:
        """Path, format and size of a volume or file."""
        if source.startswith(self._identity.prefix):
            raise WorkloadRefusal(f"{source} belongs to another VM")
        if source.startswith("/") and not any(source.startswith(path) for path in self._allowed):
            words = "which is not below any of allow_paths of this backend; use a volume of its pool by name"
            raise WorkloadRefusal(f"the VM wants {source} of the hypervisor, {words}")
        try:
            volume = virt.storageVolLookupByPath(source) if source.startswith("/") else _volume(pool, source)
        except libvirt.libvirtError as error:
            if source.startswith("/"):
                return source, "qcow2" if source.endswith(".qcow2") else "raw", 0
            raise WorkloadRefusal(f"storage pool {self._pool} has no volume {source}: {error}") from error
        described = ET.fromstring(volume.XMLDesc())  # noqa: S314 - libvirt wrote it
        form = described.find("target/format")
        kind = "raw" if form is None else form.get("type", "raw")
        return str(volume.path()), "raw" if kind == "iso" else kind, int(volume.info()[1])

    def _log(self, virt: Virt, key: str) -> Virt | None:
        try:
            return _volume(virt.storagePoolLookupByName(self._pool), f"{self._identity.name(key)}{LOG}")
        except libvirt.libvirtError as error:
            if error.get_error_code() == libvirt.VIR_ERR_NO_STORAGE_VOL:
                return None
            raise

    def _log_size(self, virt: Virt, key: str) -> int:
        volume = self._log(virt, key)
        return 0 if volume is None else int(volume.info()[1])

    def _read(self, virt: Virt, key: str, offset: int, limit: int) -> bytes | None:
        volume = self._log(virt, key)
        if volume is None:
            return None
        stream = virt.newStream()
        found = b""
        try:
            # A length beyond the end of the file is an error, and the file grows meanwhile.
            size = int(volume.info()[1])
            if size <= offset:
                return b""
            volume.download(stream, offset, min(limit, size - offset), 0)
            while piece := stream.recv(65536):
                found += piece
            stream.finish()
        except libvirt.libvirtError:
            with contextlib.suppress(libvirt.libvirtError):
                stream.abort()
            raise
        return found


def _volume(pool: Virt, name: str) -> Virt:
    """A pool lists its files when it starts; one that came later is seen after a refresh."""
    try:
        return pool.storageVolLookupByName(name)
    except libvirt.libvirtError:
        pool.refresh()
        return pool.storageVolLookupByName(name)


def _upload(pool: Virt, volume: Virt, content: bytes) -> None:
    stream = pool.connect().newStream()
    try:
        volume.upload(stream, 0, len(content), 0)
        sent = 0
        while sent < len(content):
            sent += stream.send(content[sent : sent + 65536])
        stream.finish()
    except BaseException:
        with contextlib.suppress(libvirt.libvirtError):
            stream.abort()
        # Half a seed is worse than none: it is made again.
        with contextlib.suppress(libvirt.libvirtError):
            volume.delete()
        raise


def _volume_xml(name: str, kind: str, capacity: int, backing: tuple[str, str] | None) -> str:
    volume = ET.Element("volume")
    ET.SubElement(volume, "name").text = name
    ET.SubElement(volume, "capacity").text = str(capacity)
    ET.SubElement(volume, "allocation").text = "0"
    target = ET.SubElement(volume, "target")
    ET.SubElement(target, "format", type=kind)
    if backing is not None:
        store = ET.SubElement(volume, "backingStore")
        ET.SubElement(store, "path").text = backing[0]
        ET.SubElement(store, "format", type=backing[1])
    return ET.tostring(volume, encoding="unicode")
