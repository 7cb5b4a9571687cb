"""Answers about bare metal."""

from typing_extensions import TypedDict


class MetalRow(TypedDict):
    """`power`: `on`, `off`, or `unknown` if its controller never said it. `changing_to`: what it is being powered to.
    `trouble`: why its controller cannot be relied on; the machine then takes no new work. `answered_at`: when the
    controller last answered."""

    name: str
    backend: str
    rack: str | None
    protocol: str
    controller: str
    power: str
    changing_to: str | None
    trouble: str
    answered_at: float | None
    tasks: int
    watts: float | None


class DriveRow(TypedDict):
    name: str
    capacity_bytes: int | None
    sort: str


class NicRow(TypedDict):
    name: str
    mac: str
    speed_mbps: int | None


class AcceleratorRow(TypedDict):
    model: str
    sort: str


class MetalInventory(TypedDict):
    """What the controller says that the machine has; None and empty: it does not say. `firmware`: versions by part."""

    manufacturer: str
    model: str
    serial: str
    cpus: int | None
    cores: int | None
    cpu_model: str
    memory_bytes: int | None
    drives: list[DriveRow]
    nics: list[NicRow]
    accelerators: list[AcceleratorRow]
    firmware: dict[str, str]


class MetalDetail(MetalRow):
    """`inventory` None: it is not known, and `trouble` may say why. `boot_device` None: it is not known."""

    inventory: MetalInventory | None
    boot_device: str | None


class MetalSensor(TypedDict):
    """`sort`: temperature, fan, power or other. `health`: ok, warning, critical, or empty if it is not said."""

    name: str
    sort: str
    value: float | None
    unit: str
    health: str


class MetalBootDevice(TypedDict):
    name: str
    device: str
    once: bool


class SavingRow(TypedDict):
    """What a machine did not use while it was off. `money` and `carbon_kg` None: the settings of its backend do not
    say what a kilowatt-hour costs or causes."""

    name: str
    backend: str
    off_hours: float
    watts: float
    kwh: float
    money: float | None
    currency: str
    carbon_kg: float | None


class MetalSavings(TypedDict):
    """`since`: the first day that counts, UTC; None: nothing was counted yet. `money`: by currency."""

    since: str | None
    kwh: float
    money: dict[str, float]
    carbon_kg: float | None
    items: list[SavingRow]
