"""What a node's agent found in its machine, beside the amounts that are scheduled. Shown to people; placement reads the
node's labels and GPUs, which agents derive from it."""

from typing import Annotated, Literal

from pydantic import Field

from dovetail.model.device import MAX_DEVICES, DeviceName
from dovetail.model.text.quantity import Bytes, Count
from dovetail.model.text.strict import Strict, shared

MAX_INTERFACES = 1000
MAX_ADDRESSES = 100

ShortText = Annotated[str, Field(max_length=253)]


class NetworkInterface(Strict):
    """`speed_mbps` None: unknown, as for virtual ones."""

    name: ShortText
    mac: ShortText = ""
    up: bool = True
    speed_mbps: Annotated[Count, Field(le=10**9)] | None = None
    addresses: Annotated[list[ShortText], Field(max_length=MAX_ADDRESSES)] = shared([])


class SwitchPort(Strict):
    """The port of a switch that an interface is plugged into, as LLDP says."""

    interface: ShortText
    switch: ShortText
    port: ShortText = ""


class MigInstance(Strict):
    """A part of a GPU that programs see as a GPU of its own."""

    profile: ShortText
    uuid: DeviceName
    memory: Bytes = 0


class InventoryGpu(Strict):
    """`links`: how many NVLinks lead to another GPU (its PCI address) or to `switch`. `mig` None: it has no such
    mode."""

    model: ShortText
    uuid: DeviceName
    address: DeviceName
    memory: Bytes = 0
    island: Annotated[Count, Field(lt=MAX_DEVICES)] = 0
    links: Annotated[dict[ShortText, Annotated[Count, Field(le=1000)]], Field(max_length=MAX_DEVICES)] = shared({})
    mig: Literal["on", "off"] | None = None
    instances: Annotated[list[MigInstance], Field(max_length=100)] = shared([])


class MachineInventory(Strict):
    """`virtualisation`: `none`, or the word of systemd-detect-virt. `mps`: the daemon runs that lets processes share a
    GPU; None where there is no GPU."""

    kernel: ShortText = ""
    virtualisation: ShortText = ""
    driver: ShortText | None = None
    cuda: ShortText | None = None
    mps: bool | None = None
    interfaces: Annotated[list[NetworkInterface], Field(max_length=MAX_INTERFACES)] = shared([])
    switches: Annotated[list[SwitchPort], Field(max_length=MAX_INTERFACES)] = shared([])
    gpus: Annotated[list[InventoryGpu], Field(max_length=MAX_DEVICES)] = shared([])
