"""Images on one host: pulled as the settings say, once for all containers that wait for them.

Guarantees: attempts that need the same image share one pull, and a pull delays only attempts that need it. A pull goes
on when the attempt that asked for it is stopped: the next attempt will need the image.
"""

import asyncio
import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from dovetail.asyncio_tasks import cancel
from dovetail.backends.docker.engine_api import DockerApiError, EngineApi
from dovetail.backends.docker.settings import Registry
from dovetail.model.workloads.image import DEFAULT_REGISTRY, PRESENT, canonical, image_label, registry_of

_DOCKER_HUB = "https://index.docker.io/v1/"  # the name of docker.io in a login
_NO_NAME = "<none>"


def login_for(image: str, registries: Mapping[str, Registry]) -> str | None:
    """The login header for the image's registry; None without a login."""
    registry = registry_of(image)
    known = registries.get(registry)
    if known is None:
        return None
    said = {
        "username": known.username,
        "password": known.password.get_secret_value(),
        "serveraddress": _DOCKER_HUB if registry == DEFAULT_REGISTRY else registry,
    }
    return base64.urlsafe_b64encode(json.dumps(said).encode()).decode()


def labels_of_images(images: Iterable[dict[str, Any]], most: int) -> dict[str, str]:
    """Labels for the newest images of a host, one per name."""
    found: dict[str, str] = {}
    newest = sorted(images, key=lambda image: -int(image.get("Created") or 0))
    for image in newest[:most]:
        for name in (*(image.get("RepoTags") or ()), *(image.get("RepoDigests") or ())):
            label = None if _NO_NAME in name else image_label(name)
            if label is not None:
                found[label] = PRESENT
    return dict(sorted(found.items()))


class Images:
    def __init__(
        self, api: EngineApi, pull: Literal["missing", "always", "never"], registries: Mapping[str, Registry]
    ) -> None:
        self._api = api
        self._policy = pull
        self._registries = registries
        self._pulls: dict[str, asyncio.Task[None]] = {}

    async def fetch(self, image: str) -> None:
        """Pull the image if the policy says so. Raises DockerApiError with the engine's message."""
        image = canonical(image)
        if self._policy == "never" or (self._policy == "missing" and await self._api.has_image(image)):
            return
        pull = self._pulls.get(image)
        if pull is None:
            pull = self._pulls[image] = asyncio.create_task(self._api.pull(image, login_for(image, self._registries)))
            pull.add_done_callback(lambda done: self._done(image, done))
        try:
            await asyncio.shield(pull)
        except DockerApiError as error:
            raise DockerApiError(error.status, f"cannot pull image {image}: {error}") from error

    def _done(self, image: str, pull: asyncio.Task[None]) -> None:
        del self._pulls[image]
        if not pull.cancelled():
            pull.exception()  # mark it as retrieved: it is not an error if no attempt waits any more

    async def close(self) -> None:
        await cancel(*self._pulls.values())
