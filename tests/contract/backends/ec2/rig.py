"""EC2 providers over moto, and what runs on its instances."""

import asyncio
from collections.abc import Sequence
from typing import Any

from tests.servers.moto import IMAGE, MotoServer

from dovetail.backends.ec2.provider import Ec2Provider
from dovetail.backends.ec2.settings import Ec2Settings
from dovetail.backends.machines.provider import NODE_TAG

JOIN = {"server": "http://127.0.0.1:1", "install": ""}


def settings_for(url: str, **fields: Any) -> Ec2Settings:
    given = {
        "regions": ["us-east-1"],
        "zones": ["us-east-1a", "us-east-1b"],
        "types": ["m5.large"],
        "image": IMAGE,
        "live_prices": False,
        "access_key": "testing",
        "secret_key": "testing",
        "endpoint_url": url,
        "timeout": 5,
        "poll": 0.1,  # moto needs 10 ms for an answer
        "join": JOIN,
    }
    return Ec2Settings.model_validate({**given, **fields})


def provider_for(url: str, **fields: Any) -> Ec2Provider:
    return Ec2Provider("aws", settings_for(url, **fields))


def tag(instance: dict[str, Any], key: str) -> str:
    return next((str(one["Value"]) for one in instance.get("Tags", []) if one["Key"] == key), "")


class Cloud:
    """What an onlooker at AWS sees: the instances of one region, straight from the server."""

    def __init__(self, server: MotoServer, region: str = "us-east-1") -> None:
        self._client = server.client(region=region)

    def instances(self, *states: str) -> list[dict[str, Any]]:
        pages = self._client.get_paginator("describe_instances").paginate()
        found = [one for page in pages for made in page["Reservations"] for one in made["Instances"]]
        return [one for one in found if not states or one["State"]["Name"] in states]

    async def running(self) -> dict[str, str]:
        found: Sequence[dict[str, Any]] = await asyncio.to_thread(self.instances, "running")
        return {one["InstanceId"]: tag(one, NODE_TAG) for one in found}
