"""Settings of the Google Cloud backend.

backends:
  gcp:
    kind: gcp
    project: my-project
    regions: [us-central1]
    types: [e2-standard-*, g2-standard-8]
    join: {server: "https://dovetail.example.com:8470"}
"""

from typing import Annotated

from pydantic import Field, SecretStr

from dovetail.backends.cloud_catalogue.selection import CloudSelection, Location
from dovetail.backends.machines.cloud_init.settings import CloudSettings
from dovetail.backends.machines.settings import Url
from dovetail.backends.settings_file_only import SETTINGS_FILE_ONLY, ServerFile
from dovetail.model.text.quantity import Count

ResourcePath = Annotated[str, Field(pattern=r"^[a-z0-9][-\w./:]+$", max_length=500)]
NetworkTag = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")]
OwnUrl = Annotated[Url, SETTINGS_FILE_ONLY]
DEBIAN = "projects/debian-cloud/global/images/family/debian-12"
BILLING = "https://cloudbilling.googleapis.com"


class GcpSettings(CloudSettings, CloudSelection):
    project: Annotated[str, Field(pattern=r"^([a-z0-9.-]+:)?[a-z][-a-z0-9]{4,61}[a-z0-9]$")]
    """The id of the project that gets the machines."""
    credentials: ServerFile | None = None
    """A file with the key of a service account. Left out: the usual chain of Google's SDK."""
    image: ResourcePath = DEBIAN
    """The image of the machines, or its family. It has to run startup scripts, as all images of Google do."""
    disk_gib: Annotated[Count, Field(ge=1, le=65_536)] = 64
    """The size of the disk."""
    disk_type: Annotated[str, Field(pattern="^[a-z0-9-]{1,40}$")] | None = None
    """The sort of the disk; by default `pd-balanced`, or `hyperdisk-balanced` for machines that take no other."""
    network: ResourcePath = "global/networks/default"
    """The network of the machines."""
    subnetworks: Annotated[dict[Location, ResourcePath], Field(max_length=100)] = {}
    """The subnetwork of each region; needed for networks without automatic ones."""
    public_address: bool = False
    """Give each machine a public address. Needed where the network has no other way to the control plane."""
    network_tags: Annotated[list[NetworkTag], Field(max_length=64)] = []
    """Network tags of the machines, for firewall rules."""
    service_account: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=200)] | None = None
    """The service account of the machines themselves; by default they have none."""
    price_key: SecretStr | None = None
    """An API key for the Cloud Billing Catalog API. With it current prices are read; else the shipped table counts."""
    endpoint: OwnUrl | None = None
    """Another address of the Compute Engine API, such as that of Private Service Connect."""
    price_url: OwnUrl = BILLING
    """The address of the Cloud Billing Catalog API."""
