"""Server-side apply of manifests: the server merges, checks and says what it would be; `dry_run` stops there.

Which path a kind has is asked of the server, once a group.
"""

from typing import Any, NamedTuple

from dovetail.kubernetes_client.api import Api, JsonObject
from dovetail.kubernetes_client.errors import ObjectNotFound
from dovetail.kubernetes_client.paths import CORE, one

APPLY_PATCH = "application/apply-patch+yaml"


class UnknownObjectKind(Exception):
    """The server has no such kind of object."""


class _Resource(NamedTuple):
    plural: str
    namespaced: bool


class Applier:
    def __init__(self, api: Api, manager: str) -> None:
        """`manager` is who owns the fields that are applied."""
        self._api = api
        self._manager = manager
        self._groups: dict[str, dict[str, _Resource]] = {}

    async def apply(self, manifest: JsonObject, *, dry_run: bool = False, force: bool = True) -> JsonObject:
        """The object as it is, or would be. `force` takes fields over from other managers, else that is a Conflict."""
        version, kind = str(manifest["apiVersion"]), str(manifest["kind"])
        group = CORE if version == "v1" else f"/apis/{version}"
        resource = (await self._kinds(group)).get(kind)
        if resource is None:
            raise UnknownObjectKind(f"the server has no kind {kind} in {version}")
        about: dict[str, Any] = manifest["metadata"]
        namespace = (about.get("namespace") or self._api.access.namespace) if resource.namespaced else None
        params: dict[str, str | int] = {"fieldManager": self._manager, "force": "true" if force else "false"}
        if dry_run:
            params["dryRun"] = "All"
        return await self._api.patch(
            one(group, resource.plural, about["name"], namespace), manifest, params, APPLY_PATCH
        )

    async def _kinds(self, group: str) -> dict[str, _Resource]:
        if group not in self._groups:
            try:
                found = await self._api.get(group)
            except ObjectNotFound:
                raise UnknownObjectKind(f"the server has no group {group.removeprefix('/apis/')}") from None
            self._groups[group] = {
                each["kind"]: _Resource(each["name"], bool(each["namespaced"]))
                for each in found.get("resources") or ()
                if "/" not in each["name"]
            }
        return self._groups[group]
