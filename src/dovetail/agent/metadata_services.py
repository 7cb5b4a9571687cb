"""The metadata services of clouds, which answer inside a machine only: is it taken back, and when?

Each `notice` returns why and when the machine goes, or None while it stays. It raises httpx.HTTPError, and ValueError,
KeyError or TypeError for an answer that makes no sense.
"""

from collections.abc import Callable
from typing import Protocol

import httpx

TOKEN_TTL_S = 6 * 3600


class MetadataService(Protocol):
    async def notice(self) -> str | None: ...


class Ec2Metadata:
    """IMDSv2: each question needs a token, which the service makes."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._token: str | None = None

    async def notice(self) -> str | None:
        answer = await self._ask()
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            self._token = None
            answer = await self._ask()
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        found = answer.raise_for_status().json()
        return f"spot interruption: AWS will {found['action']} the instance at {found['time']}"

    async def _ask(self) -> httpx.Response:
        if self._token is None:
            ttl = {"X-aws-ec2-metadata-token-ttl-seconds": str(TOKEN_TTL_S)}
            self._token = (await self._http.put("/latest/api/token", headers=ttl)).raise_for_status().text
        headers = {"X-aws-ec2-metadata-token": self._token}
        return await self._http.get("/latest/meta-data/spot/instance-action", headers=headers)


class AzureMetadata:
    """Scheduled events name all machines of a scale set: only those of this machine count."""

    _ENDS = ("Preempt", "Terminate")

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._name: str | None = None

    async def notice(self) -> str | None:
        if self._name is None:
            self._name = (await self._ask("instance/compute/name", "2021-02-01", format="text")).text
        for event in (await self._ask("scheduledevents", "2020-07-01")).json()["Events"]:
            if event["EventType"] in self._ENDS and self._name in event["Resources"]:
                at = f" at {event['NotBefore']}" if event.get("NotBefore") else ""
                return f"Azure takes the machine back{at} ({event['EventType']})"
        return None

    async def _ask(self, path: str, version: str, **query: str) -> httpx.Response:
        params = {"api-version": version, **query}
        answer = await self._http.get(f"/metadata/{path}", params=params, headers={"Metadata": "true"})
        return answer.raise_for_status()


class GcpMetadata:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def notice(self) -> str | None:
        path, headers = "/computeMetadata/v1/instance/preempted", {"Metadata-Flavor": "Google"}
        answer = (await self._http.get(path, headers=headers)).raise_for_status()
        return "Google takes the machine back in 30 seconds (preempted)" if answer.text.strip() == "TRUE" else None


METADATA_SERVICES: dict[str, Callable[[httpx.AsyncClient], MetadataService]] = {
    "ec2": Ec2Metadata,
    "azure": AzureMetadata,
    "gcp": GcpMetadata,
}
