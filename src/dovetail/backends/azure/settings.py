"""Settings of the Azure backend.

backends:
  azure:
    kind: azure
    subscription: 11111111-2222-3333-4444-555555555555
    resource_group: dovetail
    regions: [eastus]
    types: [Standard_D*s_v5]
    networks:
      eastus: {subnet: /subscriptions/…/virtualNetworks/lab/subnets/default, zones: ["1", "2"]}
    join: {server: "https://dovetail.example.com:8470"}
"""

from typing import Annotated, Self

from pydantic import Field, SecretStr, model_validator

from dovetail.backends.cloud_catalogue.selection import CloudSelection
from dovetail.backends.machines.cloud_init.settings import CloudSettings
from dovetail.backends.machines.settings import Url
from dovetail.backends.settings_file_only import SETTINGS_FILE_ONLY, ServerFile
from dovetail.model.text.quantity import Count
from dovetail.model.text.strict import AtField, Strict

Guid = Annotated[str, Field(pattern=r"^[0-9a-fA-F-]{36}$")]
RegionName = Annotated[str, Field(pattern=r"^[a-z0-9]{2,40}$")]
ResourceId = Annotated[str, Field(pattern=r"^/subscriptions/[^\s?#]+$", max_length=1000)]
#: `Publisher:Offer:Sku:Version`, or the id of an image.
ImageName = Annotated[str, Field(pattern=r"^([^:/\s]+:[^:/\s]+:[^:/\s]+:[^:/\s]+|/subscriptions/[^\s?#]+)$")]
ArmUrl = Annotated[str, Field(pattern=r"^https://[^\s]+$", max_length=500), SETTINGS_FILE_ONLY]
PriceUrl = Annotated[Url, SETTINGS_FILE_ONLY]
UBUNTU = "Canonical:ubuntu-24_04-lts:server:latest"
RETAIL_PRICES = "https://prices.azure.com/api/retail/prices"


class AzureNetwork(Strict):
    """Where the machines of one region stand."""

    subnet: ResourceId
    """The id of the subnet that machines join."""
    security_group: ResourceId | None = None
    """The id of a network security group; by default that of the subnet."""
    zones: Annotated[list[Annotated[str, Field(pattern="^[1-9]$")]], Field(max_length=9)] = []
    """The availability zones to use, such as `["1", "2"]`. Empty: Azure chooses, and the region is one place."""


class AzureSettings(CloudSettings, CloudSelection):
    subscription: Guid
    """The id of the subscription."""
    resource_group: Annotated[str, Field(pattern=r"^[-\w.()]{1,90}$")]
    """The resource group that gets the machines. Nothing outside it is touched."""
    networks: Annotated[dict[RegionName, AzureNetwork], Field(min_length=1, max_length=100)]
    """The subnet of each region, by Azure's name of the region."""
    tenant: Guid | None = None
    """The tenant of the service principal."""
    client_id: Guid | None = None
    """The service principal, or with `managed_identity` the user-assigned identity."""
    client_secret: SecretStr | None = None
    """The secret of the service principal. Left out, without `managed_identity`: the usual chain of Azure's SDK."""
    managed_identity: bool = False
    """Use the managed identity of the machine that the server runs on."""
    image: ImageName = UBUNTU
    """The image of the machines, `Publisher:Offer:Sku:Version` or an id. It has to run cloud-init."""
    disk_gib: Annotated[Count, Field(ge=1, le=32_767)] = 64
    """The size of the disk."""
    disk_type: Annotated[str, Field(pattern="^[A-Za-z0-9_]{1,40}$")] = "StandardSSD_LRS"
    """The sort of the disk."""
    public_address: bool = False
    """Give each machine a public address. Needed where the subnet has no other way to the control plane."""
    ssh_key: Annotated[str, Field(pattern="^(ssh|ecdsa)-[^\n]+$", max_length=3000)] | None = None
    """A public key that may log in as `azureuser`. Left out: a key that nobody has, so nobody may."""
    machine_identity: ResourceId | None = None
    """The id of a user-assigned identity for the machines themselves."""
    check_sizes: bool = False
    """Ask Azure which sizes the subscription may use in which zones, and offer only those. Needs the permission
    `Microsoft.Compute/skus/read` on the subscription."""
    live_prices: bool = False
    """Current prices from the Azure Retail Prices API; else, or if it does not answer, the shipped table counts."""
    endpoint: ArmUrl | None = None
    """Another address of Azure Resource Manager, for other clouds of Azure."""
    authority: ArmUrl | None = None
    """Another address that gives tokens, for other clouds of Azure."""
    ca: ServerFile | None = None
    """A PEM file with the authorities that sign the certificates of `endpoint` and `authority`."""
    price_url: PriceUrl = RETAIL_PRICES
    """The address of the Azure Retail Prices API."""

    @model_validator(mode="after")
    def _check_networks(self) -> Self:
        for place, region in enumerate(self.regions):
            if region not in self.networks:
                raise AtField(("regions", place), f"{region} has no subnet; add it to networks")
        return self

    @model_validator(mode="after")
    def _check_credentials(self) -> Self:
        if self.client_secret is not None:
            for name in ("tenant", "client_id"):
                if getattr(self, name) is None:
                    raise AtField((name,), "is missing: client_secret needs tenant and client_id")
            if self.managed_identity:
                raise AtField(("managed_identity",), "goes without client_secret; give one of them")
        return self
