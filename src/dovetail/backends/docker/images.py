"""Images on one host: fetched when the settings say so, once however many containers wait for them.

Guarantees: several attempts that need an image share one pull, and none of them is held up by a pull that it does not
need. A pull goes on when the attempt that asked for it is stopped: the next one will want it.
"""

import asyncio
import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from dovetail.backends.docker.engine_api import DockerApiError, EngineApi
from dovetail.backends.docker.settings import Registry
from dovetail.model.workloads.image import DEFAULT_REGISTRY, PRESENT, canonical, image_label, registry_of

_DOCKER_HUB = "https://index.docker.io/v1/"  # what docker.io is called in a login
_NO_NAME = "<none>"


def login_for(image: str, registries: Mapping[str, Registry]) -> str | None:
    """The header that logs in where the image comes from; None where no login is known."""
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
    """One label for each of the newest images of a host, by each of its names."""
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
        """The host has it, if it was to be fetched. Raises DockerApiError with the words of the engine."""
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
            pull.exception()  # whoever waits gets it; if nobody does any more, nobody misses it

    async def close(self) -> None:
        pulls = list(self._pulls.values())
        for pull in pulls:
            pull.cancel()
        await asyncio.gather(*pulls, return_exceptions=True)
