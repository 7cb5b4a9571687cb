"""The section `vm:` of a workload: what a virtual machine boots, and which devices it has.

CPU, memory and, for placement, disk are those of `resources`, as for any other work. A source is the name of a volume
in the hypervisor's storage pool, or an absolute path on the hypervisor.
"""

import re
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from dovetail.model.text.quantity import Bytes, Count
from dovetail.model.text.strict import AtField, Strict, shared, shown

MAX_SEED_BYTES = 256 * 1024
HUGE_PAGES = "libvirt.org/hugepages-"
MIB = 2**20
_VOLUME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", re.ASCII)


def _check_source(source: str) -> str:
    if ".." in source.split("/"):
        raise ValueError("leads upwards with '..'; write the path that is meant")
    if source.startswith("/") or _VOLUME.fullmatch(source):
        return source
    words = "is neither an absolute path on the hypervisor nor the name of a volume of its storage pool"
    raise ValueError(f"{shown(source)} {words}")


def _check_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line of printable text")
    return text


Source = Annotated[str, Field(min_length=1, max_length=3000), AfterValidator(_check_source)]
Line = Annotated[str, Field(max_length=2000), AfterValidator(_check_line)]
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)]
Document = Annotated[str, Field(min_length=1, max_length=MAX_SEED_BYTES)]
DomainName = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_check_line)]


class Firmware(StrEnum):
    """`UEFI_SECURE`: with Secure Boot, so only what is signed boots."""

    BIOS = "bios"
    UEFI = "uefi"
    UEFI_SECURE = "uefi-secure"


class HugePages(StrEnum):
    TWO_MIB = "2Mi"
    ONE_GIB = "1Gi"

    @property
    def bytes(self) -> int:
        return 2 * 2**20 if self is HugePages.TWO_MIB else 2**30

    @property
    def resource(self) -> str:
        """Hypervisors offer their huge pages as this extended resource."""
        return f"{HUGE_PAGES}{self.value}"


def numa_resource(cell: int) -> str:
    """Hypervisors offer the memory of each NUMA cell as this extended resource, in MiB."""
    return f"libvirt.org/numa-{cell}-MiB"


class VirtualDisk(Strict):
    """A disk beside that of `image`: an empty one of a size, which is removed with the VM, or one that is there."""

    size: Annotated[Bytes, Field(gt=0)] | None = None
    source: Source | None = None
    read_only: bool = False
    bus: Literal["virtio", "scsi", "sata", "usb"] = "virtio"

    @model_validator(mode="after")
    def _check_what(self) -> Self:
        if (self.size is None) == (self.source is None):
            raise ValueError("give either size, for an empty disk, or source, for one that is there")
        if self.size is not None and self.read_only:
            raise AtField(("read_only",), "an empty disk that cannot be written is of no use; leave it out")
        return self


class VirtualNetwork(Strict):
    """A network card: in a network of libvirt, or on a bridge of the hypervisor."""

    network: Word | None = None
    bridge: Word | None = None
    mac: Annotated[str, Field(pattern="^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$")] | None = None
    model: Word = "virtio"

    @model_validator(mode="after")
    def _check_where(self) -> Self:
        if (self.network is None) == (self.bridge is None):
            raise ValueError("give either network, one of libvirt's, or bridge, one of the hypervisor's")
        return self


class CloudInit(Strict):
    """What cloud-init in the guest reads at its first boot, on a small disk of its own (NoCloud)."""

    user_data: Document
    network_config: Document | None = None


class VirtualMachine(Strict):
    """`image` is never written: the VM gets a disk of its own on top of it. With `kernel` it is booted directly.
    `adopt`: take over a VM that runs, as it is; then nothing else is given here."""

    image: Source | None = None
    kernel: Source | None = None
    initrd: Source | None = None
    kernel_args: Line | None = None
    disks: Annotated[list[VirtualDisk], Field(max_length=20)] = shared([])
    networks: Annotated[list[VirtualNetwork], Field(max_length=20)] = shared([])
    cloud_init: CloudInit | None = None
    firmware: Firmware = Firmware.BIOS
    machine: Word | None = None
    arch: Literal["x86_64", "aarch64"] | None = None
    cpu_model: Word | None = None
    huge_pages: HugePages | None = None
    numa_cell: Annotated[Count, Field(le=1023)] | None = None
    adopt: DomainName | None = None

    @model_validator(mode="after")
    def _check_boot(self) -> Self:
        if self.adopt is not None:
            for name, field in type(self).model_fields.items():
                if name != "adopt" and getattr(self, name) != field.get_default(call_default_factory=True):
                    raise AtField((name,), "does not go with adopt: a VM that is taken over stays as it is")
            return self
        if self.image is None and self.kernel is None:
            raise ValueError("says nothing that could boot; give image, or kernel, or adopt for a VM that runs")
        for name in ("initrd", "kernel_args"):
            if getattr(self, name) is not None and self.kernel is None:
                raise AtField((name,), "goes with kernel, which is not given")
        if self.kernel is not None and self.firmware is not Firmware.BIOS:
            raise AtField(("firmware",), f"{self.firmware} boots from a disk; leave it out, or leave kernel out")
        return self

    def taken(self, memory_bytes: int) -> dict[str, tuple[str, int]]:
        """The extended resources that its memory takes, by the field that says so."""
        found = {}
        if self.huge_pages is not None:
            found["huge_pages"] = (self.huge_pages.resource, -(-memory_bytes // self.huge_pages.bytes))
        if self.numa_cell is not None:
            found["numa_cell"] = (numa_resource(self.numa_cell), -(-memory_bytes // MIB))
        return found
