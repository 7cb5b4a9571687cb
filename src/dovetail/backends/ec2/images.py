"""Which image instances start from: an AMI, or what an SSM parameter names now."""

import time
from typing import Any

from dovetail.backends.ec2.clients import Ec2Clients
from dovetail.backends.ec2.settings import Ec2Settings

DEBIAN = {
    "x86_64": "/aws/service/debian/release/12/latest/amd64",
    "arm64": "/aws/service/debian/release/12/latest/arm64",
}
KEPT_S = 3600.0


class Ec2Images:
    """Calls block."""

    def __init__(self, clients: Ec2Clients, settings: Ec2Settings) -> None:
        self._clients, self._settings = clients, settings
        self._known: dict[str, tuple[float, str, str | None]] = {}  # since when, by region

    def find(self, region: str) -> tuple[str, str | None]:
        """The AMI, and the name of its root device where that is needed."""
        known = self._known.get(region)
        if known is not None and time.monotonic() - known[0] < KEPT_S:
            return known[1], known[2]
        image, device = self._ami(region), None
        if self._settings.disk is not None:
            described: Any = self._clients.ec2(region).describe_images(ImageIds=[image])["Images"]
            device = described[0]["RootDeviceName"]
        self._known[region] = time.monotonic(), image, device
        return image, device

    def _ami(self, region: str) -> str:
        named = self._settings.images.get(region) or self._settings.image or DEBIAN[self._settings.architecture]
        if not named.startswith("/"):
            return named
        return str(self._clients.ssm(region).get_parameter(Name=named)["Parameter"]["Value"])
