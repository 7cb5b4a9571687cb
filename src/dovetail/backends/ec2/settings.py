"""Settings of the EC2 backend, validated once at start.

backends:
  aws:
    kind: ec2
    regions: [eu-central-1]
    types: ["m7i.*", "g6.*"]
    spot: allowed
    join: {server: "https://dovetail.example.com:7878", fingerprint: "…"}
"""

from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator

from dovetail.backends.cloud_catalogue.selection import CloudSelection, Location
from dovetail.backends.machines.cloud_init.settings import CloudSettings
from dovetail.backends.machines.settings import Url
from dovetail.backends.settings_file_only import SETTINGS_FILE_ONLY, ServerFile
from dovetail.model.text.quantity import Bytes, Duration
from dovetail.model.text.strict import AtField

Image = Annotated[str, Field(pattern=r"^(ami-[0-9a-f]{8,17}|/[A-Za-z0-9._/-]{1,1000})$")]
ResourceId = Annotated[str, Field(pattern=r"^[a-z]+-[0-9a-f]{8,17}$")]
AwsName = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\s]+$")]
TagKey = Annotated[str, Field(min_length=1, max_length=128)]
TagValue = Annotated[str, Field(max_length=256)]


class Ec2Settings(CloudSelection, CloudSettings):
    architecture: Literal["x86_64", "arm64"] = "x86_64"
    """The architecture of the image; only types of it are offered."""
    image: Image | None = None
    """An AMI, or the SSM parameter that names one in every region. By default Debian 12."""
    images: Annotated[dict[Location, Image], Field(max_length=50)] = {}
    """The image by region, where it differs."""
    disk: Annotated[Bytes, Field(ge=2**30)] | None = None
    """The size of the root disk; by default that of the image. It ends with its instance."""
    subnets: Annotated[dict[Location, ResourceId], Field(max_length=200)] = {}
    """The subnet by zone; only these zones are then offered. By default the default subnet of each zone."""
    security_groups: Annotated[list[ResourceId], Field(max_length=16)] = []
    """Security groups of the instances; by default the default one. Instances need no open ports."""
    key: AwsName | None = None
    """The name of a key pair, for a look at an instance through SSH."""
    instance_profile: AwsName | None = None
    """The name of the instance profile: what work on the instances may do in AWS."""
    tags: Annotated[dict[TagKey, TagValue], Field(max_length=40)] = {}
    """More tags of the instances and their disks, such as a cost centre."""
    live_prices: bool = True
    """Read prices from AWS (`pricing:GetProducts`, `ec2:DescribeSpotPriceHistory`), where that is allowed. Otherwise,
    and where it fails, the price table counts that Dovetail comes with."""
    access_key: AwsName | None = None
    """An access key id; by default the usual places of AWS: environment, shared files, role of this machine."""
    secret_key: SecretStr | None = None
    """The secret of the access key."""
    session_token: SecretStr | None = None
    """The session token of temporary credentials."""
    profile: Annotated[AwsName, SETTINGS_FILE_ONLY] | None = None
    """A profile of the AWS configuration of the server."""
    endpoint_url: Annotated[Url, SETTINGS_FILE_ONLY] | None = None
    """Another address of all AWS services, for stand-ins such as moto. Left out: those of AWS."""
    ca_bundle: ServerFile | None = None
    """A PEM file with the authorities to trust, for networks that inspect TLS."""
    timeout: Annotated[Duration, Field(ge=1, le=600)] = 30.0
    """How long AWS may take to answer."""

    @model_validator(mode="after")
    def _check_credentials(self) -> Self:
        if (self.access_key is None) != (self.secret_key is None):
            missing = "access_key" if self.access_key is None else "secret_key"
            raise AtField((missing,), "is missing: access_key and secret_key are given together")
        if self.session_token is not None and self.access_key is None:
            raise AtField(("access_key",), "is missing: a session token belongs to an access key")
        return self

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        for region in self.images:
            if region not in self.regions:
                raise AtField(("images", region), f"is none of the regions: {', '.join(self.regions)}")
        for key in self.tags:
            if key.startswith(("aws:", "dovetail-")):
                raise AtField(("tags", key), "is kept for AWS and for our own marks; name the tag otherwise")
        return self
