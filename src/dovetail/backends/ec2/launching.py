"""The request that launches one instance. Pure.

Tags are part of the request: no instance exists without its marks, not even for a moment. The client token makes the
same request, sent twice, one instance.
"""

from typing import Any

from dovetail.backends.cloud_catalogue.offered_types import CAPACITY_TYPE, INSTANCE_TYPE, SPOT, ZONE
from dovetail.backends.ec2.settings import Ec2Settings
from dovetail.backends.machines.provider import Launch

GIB = 2**30
TAGGED = ("instance", "volume")


def run_request(launch: Launch, settings: Ec2Settings, image: str, root_device: str | None) -> dict[str, Any]:
    """Arguments of `run_instances`. `root_device`: its name in the image, where its size is set."""
    labels = launch.type.node.labels
    zone, spot = labels[ZONE], labels[CAPACITY_TYPE] == SPOT
    tags = [{"Key": key, "Value": value} for key, value in (_tags(launch, settings)).items()]
    kinds = (*TAGGED, "spot-instances-request") if spot else TAGGED
    request: dict[str, Any] = {
        "ImageId": image,
        "InstanceType": labels[INSTANCE_TYPE],
        "MinCount": 1,
        "MaxCount": 1,
        "ClientToken": launch.token,
        "Placement": {"AvailabilityZone": zone},
        "UserData": launch.user_data,
        "TagSpecifications": [{"ResourceType": kind, "Tags": tags} for kind in kinds],
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {"HttpTokens": "required", "HttpEndpoint": "enabled"},
    }
    if spot:
        options: dict[str, Any] = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
        if settings.max_price is not None:
            options["MaxPrice"] = f"{settings.max_price:g}"
        request["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": options}
    if zone in settings.subnets:
        request["SubnetId"] = settings.subnets[zone]
    if settings.security_groups:
        request["SecurityGroupIds"] = list(settings.security_groups)
    if settings.key is not None:
        request["KeyName"] = settings.key
    if settings.instance_profile is not None:
        request["IamInstanceProfile"] = {"Name": settings.instance_profile}
    if root_device is not None and settings.disk is not None:
        disk = {"VolumeSize": -(-settings.disk // GIB), "VolumeType": "gp3", "DeleteOnTermination": True}
        request["BlockDeviceMappings"] = [{"DeviceName": root_device, "Ebs": disk}]
    return request


def _tags(launch: Launch, settings: Ec2Settings) -> dict[str, str]:
    return {"Name": launch.node, **settings.tags, **launch.tags()}
