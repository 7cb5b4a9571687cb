"""Settings of the metal backend: which machines there are, and how their management controllers are reached.

backends:
  rack:
    kind: metal
    machines:
      - name: rack1-u3
        bmc: {redfish: "https://10.0.1.3", user: dovetail, password: …}
        rack: rack1
        capacity: {cpu: 32, memory: 128G}
        watts: 450
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from dovetail.backends.machines.settings import MachineSettings
from dovetail.backends.settings_file_only import ServerFile
from dovetail.model.device import MAX_DEVICES, Gpus
from dovetail.model.offer import Amount, Currency
from dovetail.model.resources import Capacity
from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import AtField, Host, NodeName, Strict, check_host, shown
from dovetail.model.workloads.selection import Labels, LabelValue, Taint

IPMI_PORT = 623
Text = Annotated[str, Field(min_length=1, max_length=500)]
Word = Annotated[str, Field(pattern=r"^[^\s\x00-\x1f-][^\x00-\x1f]{0,99}$")]
Wait = Annotated[Duration, Field(ge=0.1, le=86_400)]


def ipmi_address(text: str) -> tuple[str, int]:
    """Host and port of `host` or `host:port`; an IPv6 address with a port stands in brackets."""
    parts = urlsplit(f"//{text}" if text.count(":") < 2 or text.startswith("[") else f"//[{text}]")
    if not parts.hostname or parts.username is not None or parts.path:
        raise ValueError(f"{shown(text)} is not an address; write host or host:port")
    return check_host(parts.hostname), parts.port or IPMI_PORT


class BmcSettings(Strict):
    """The management controller of one machine: `redfish` or `ipmi`, and the account there."""

    redfish: Annotated[str, Field(pattern=r"^https?://[^\s/?#]+/?$", max_length=500)] | None = None
    """Its Redfish service: `https://10.0.1.3`."""
    ipmi: Text | None = None
    """Its address for IPMI over LAN: `10.0.1.3` or `10.0.1.3:623`."""
    user: Word
    """The account; the role Operator is enough."""
    password: SecretStr
    """The password of the account; it is never shown."""
    system: Annotated[str, Field(pattern=r"^/[^\s?#]+$", max_length=500)] | None = None
    """Redfish: the path of the system, such as `/redfish/v1/Systems/1`; needed if the service has several."""
    verify: bool = True
    """Redfish: whether its certificate has to be signed by an authority that is known here."""
    ca: ServerFile | None = None
    """Redfish: a PEM file with the authority that signed its certificate."""
    cipher_suite: Annotated[int, Field(ge=1, le=17)] = 17
    """IPMI: the cipher suite; 17 is the strongest, older controllers know only 3."""

    @model_validator(mode="after")
    def _check_protocol(self) -> Self:
        if (self.redfish is None) == (self.ipmi is None):
            raise AtField(("redfish",), "give one of redfish: https://… and ipmi: host")
        if self.ipmi is not None:
            try:
                ipmi_address(self.ipmi)
            except ValueError as error:
                raise AtField(("ipmi",), str(error)) from None
            if self.system is not None or self.ca is not None or not self.verify:
                raise AtField(("ipmi",), "goes without system, verify and ca: those are for redfish")
        return self

    @property
    def address(self) -> str:
        return self.redfish or self.ipmi or ""


class MetalMachine(Strict):
    """One machine, which is one node."""

    name: NodeName
    """The node's name; the agent of the machine joins under it."""
    bmc: BmcSettings
    """Its management controller."""
    rack: LabelValue | None = None
    """The rack where it stands: the label `rack` of the node, which is a level of the topology."""
    labels: Labels = {}
    """Labels of the node."""
    taints: Annotated[list[Taint], Field(max_length=100)] = []
    """Taints of the node."""
    capacity: Capacity | None = None
    """What it has; by default what its controller says. IPMI does not know it, so there it is needed."""
    gpus: Annotated[list[Gpus], Field(max_length=MAX_DEVICES)] = []
    """Its GPUs, in the order in which the machine numbers them."""
    address: Host | None = None
    """Where others reach its services."""
    watts: Amount | None = None
    """Its power at full load."""
    idle_watts: Amount | None = None
    """Its power when it is on and idle: what is saved while it is off. By default `watts`."""
    price_per_hour: Amount = 0.0
    """What an hour of it costs."""
    start_up: Annotated[Duration, Field(ge=0, le=86_400)] = 180.0
    """How long it takes from power on until its agent runs work."""

    @model_validator(mode="after")
    def _check_capacity(self) -> Self:
        if self.bmc.ipmi is not None and self.capacity is None:
            raise AtField(("capacity",), "is missing: IPMI does not say what a machine has; write cpu and memory")
        if self.rack is not None and self.labels.get("rack", self.rack) != self.rack:
            raise AtField(("rack",), "differs from the label rack; leave one of them out")
        return self

    @property
    def saved_watts(self) -> float:
        """What it does not use while it is off."""
        return self.idle_watts if self.idle_watts is not None else self.watts or 0.0


class EnergySettings(Strict):
    """What electricity costs here, for the report of savings."""

    price_per_kwh: Amount | None = None
    """The price of a kilowatt-hour."""
    currency: Currency = "USD"
    """The currency of all prices of this backend, as three letters."""
    carbon_g_per_kwh: Amount | None = None
    """Grams of CO2 that a kilowatt-hour causes here."""
    overhead: Annotated[float, Field(ge=1, le=10, allow_inf_nan=False)] = 1.0
    """Power of the building for each watt of a machine (PUE): cooling that is saved too."""


def _as_list(machines: object) -> object:
    """A mapping of machines by name is a list of machines with that name."""
    if not isinstance(machines, Mapping):
        return machines
    return [{"name": name, **one} if isinstance(one, Mapping) else one for name, one in machines.items()]


def _check_machines(machines: list[MetalMachine]) -> list[MetalMachine]:
    names: set[str] = set()
    controllers: set[tuple[str, str | None]] = set()
    for index, one in enumerate(machines):
        if one.name in names:
            raise AtField((index, "name"), f"{one.name!r} stands twice; each machine is a node of its own")
        system = one.bmc.address, one.bmc.system
        if system in controllers:
            raise AtField((index, "bmc"), f"{shown(one.bmc.address)} stands twice; one system is one machine")
        names.add(one.name)
        controllers.add(system)
    return machines


class MetalSettings(Strict):
    machines: Annotated[
        list[MetalMachine],
        Field(min_length=1, max_length=5000),
        BeforeValidator(_as_list),
        AfterValidator(_check_machines),
    ]
    """The machines, each a node: a list, or a mapping by name."""
    power_off: Literal["idle", "never"] = "idle"
    """`idle`: machines without work are powered off after the time `idle`. `never`: they stay on."""
    idle: Annotated[Duration, Field(ge=0, le=30 * 86_400)] = 600.0
    """The hold time: how long a machine without work stays on for the next task."""
    poll: Annotated[Duration, Field(ge=0.05, le=3600)] = 10.0
    """How often controllers are asked whether their machines are on."""
    answer_within: Wait = 10.0
    """A controller that takes longer to answer is in trouble: its machine takes no new work until it answers again."""
    power_within: Wait = 120.0
    """How long a machine may take to be on or off after its controller has accepted that."""
    shutdown_within: Annotated[Duration, Field(ge=0, le=86_400)] = 60.0
    """How long the operating system gets to shut down before the power is cut; 0: it is cut at once."""
    boot_within: Wait = 900.0
    """How long a machine may take from power on until its agent is heard. After that it is powered off and left alone
    for some minutes."""
    distrust: Annotated[Duration, Field(ge=0, le=86_400)] = 300.0
    """How long the machine of a controller that has lied takes no new work."""
    energy: EnergySettings = EnergySettings()
    """What electricity costs here, for the report of savings."""
    ipmitool: ServerFile = "ipmitool"
    """The program that speaks IPMI."""

    def for_fleet(self) -> MachineSettings:
        """The types are known here, so they are read with every look."""
        idle = self.idle if self.power_off == "idle" else float("inf")
        return MachineSettings.model_construct(idle=idle, poll=self.poll, refresh=self.poll)
