"""Client methods for machines that are launched for work."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dovetail.client.transport.transport import API, Transport

if TYPE_CHECKING:
    from dovetail.responses import ItemList
    from dovetail.responses.cloud import CloudInstanceList, CloudOfferRow, ReapedInstances


class CloudCalls:
    _http: Transport

    def cloud_prices(
        self, *, backend: str | None = None, match: str | None = None, gpus: int = 0, spot: bool | None = None
    ) -> list[CloudOfferRow]:
        """What could be launched, cheapest first. `match`: a pattern of types, such as `m7i.*`."""
        params = {"backend": backend, "match": match, "gpus": gpus or None, "spot": _word(spot)}
        answer = self._http.json("GET", f"{API}/cloud/prices", params=params)
        return cast("ItemList[CloudOfferRow]", answer)["items"]

    def cloud_instances(self, *, backend: str | None = None, ended: bool = False) -> CloudInstanceList:
        """The machines that run for us, as their providers show them now."""
        params = {"backend": backend, "ended": "true" if ended else None}
        return cast("CloudInstanceList", self._http.json("GET", f"{API}/cloud/instances", params=params))

    def reap(self, *, backend: str | None = None, dry_run: bool = False) -> ReapedInstances:
        """End, or only name, machines with our mark that nobody knows of."""
        params = {"backend": backend, "dry_run": "true" if dry_run else None}
        return cast("ReapedInstances", self._http.json("POST", f"{API}/cloud/reap", params=params))


def _word(value: bool | None) -> str | None:
    return None if value is None else "true" if value else "false"
