"""The objects of a collection as a watch tells of them: a test that waits for one need not ask again and again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.objects import NamespacedName, namespaced_name
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange, Reflector

Known = dict[NamespacedName, dict[str, Any]]


@asynccontextmanager
async def followed(api: Api, path: str) -> AsyncIterator[Known]:
    """Kept up to date until the end of the block."""
    known: Known = {}

    def hear(changes: list[ObjectChange]) -> None:
        for change in changes:
            if change.kind is ChangeKind.DELETED:
                known.pop(namespaced_name(change.object), None)
            else:
                known[namespaced_name(change.object)] = change.object

    reflector = Reflector(api, path, hear)
    following = asyncio.create_task(reflector.run())
    try:
        await reflector.synced.wait()
        yield known
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
