"""What a management controller (BMC) of a machine can be asked, whatever protocol it speaks.

A call raises `BmcTrouble` and nothing else. It never takes longer than the time that the controller was given.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

#: Sensors and inventories are many pages or records: they may take so many times as long as other calls.
SLOW_TIMES = 6.0


class PowerState(StrEnum):
    ON = "on"
    OFF = "off"


class PowerAction(StrEnum):
    """`off` cuts the power; `shutdown` asks the operating system. `cycle` cuts it for a moment, `reset` restarts the
    machine without that."""

    ON = "on"
    OFF = "off"
    SHUTDOWN = "shutdown"
    CYCLE = "cycle"
    RESET = "reset"


class BootDevice(StrEnum):
    DISK = "disk"
    NETWORK = "network"
    CDROM = "cdrom"
    SETUP = "setup"
    DEFAULT = "default"  # as the firmware is configured


class TroubleKind(StrEnum):
    UNREACHABLE = "unreachable"  # no answer, or not in time
    LOGIN = "login"
    NONSENSE = "nonsense"  # an answer that no controller should give
    REFUSED = "refused"  # it understood, and will not
    LIE = "lie"  # what it says is not so


class BmcTrouble(Exception):
    """What is wrong with a controller, in words that name it."""

    def __init__(self, kind: TroubleKind, words: str) -> None:
        super().__init__(words)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class SensorReading:
    """`unit`: `C`, `RPM`, `W`, `%`, `V`, or the controller's own word. `value` None: it has none now."""

    name: str
    sort: str  # temperature, fan, power, other
    value: float | None
    unit: str
    health: str = ""


@dataclass(frozen=True, slots=True)
class Drive:
    name: str
    capacity_bytes: int | None = None
    sort: str = ""  # SSD, HDD


@dataclass(frozen=True, slots=True)
class Nic:
    name: str
    mac: str = ""
    speed_mbps: int | None = None


@dataclass(frozen=True, slots=True)
class Accelerator:
    model: str
    sort: str = "GPU"


@dataclass(frozen=True, slots=True)
class HardwareInventory:
    """What the controller says that the machine has. None and empty: it does not say."""

    manufacturer: str = ""
    model: str = ""
    serial: str = ""
    cpus: int | None = None  # sockets
    cores: int | None = None  # threads that programs can use
    cpu_model: str = ""
    memory_bytes: int | None = None
    drives: list[Drive] = field(default_factory=list)
    nics: list[Nic] = field(default_factory=list)
    accelerators: list[Accelerator] = field(default_factory=list)
    firmware: dict[str, str] = field(default_factory=dict)  # version, by part: bios, bmc


class ManagementController(Protocol):
    async def power(self) -> PowerState: ...
    async def act(self, action: PowerAction) -> None:
        """Returns when it has accepted that, not when it is done."""

    async def boot_device(self) -> BootDevice | None:
        """None: one that has no name here."""

    async def set_boot_device(self, device: BootDevice, *, once: bool) -> None: ...
    async def sensors(self) -> list[SensorReading]: ...
    async def inventory(self) -> HardwareInventory: ...
    async def close(self) -> None: ...
