"""Follows a collection that may not exist: a custom resource that a cluster defines now, later or never.

Guarantees: `settled` is set as soon as everything of it is known, or that it does not exist yet. A resource that is
defined, or may be read, later is found within a minute.
"""

import asyncio
import logging

from dovetail.kubernetes_client.errors import Forbidden, KubernetesApiError, ObjectNotFound
from dovetail.kubernetes_client.reflector import Reflector

_log = logging.getLogger(__name__)

AGAIN_S = 30.0


class OptionalReflector:
    def __init__(self, reflector: Reflector, again_s: float = AGAIN_S) -> None:
        self._reflector, self._again_s = reflector, again_s
        self.settled = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        while not await self._is_there():
            self.settled.set()
            await asyncio.sleep(self._again_s)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._reflector.run())
            await self._reflector.synced.wait()
            self.settled.set()

    async def _is_there(self) -> bool:
        try:
            await self._reflector.check()
        except ObjectNotFound:
            return False
        except Forbidden as error:
            _log.warning("goes on without: %s", error)
            return False
        except KubernetesApiError:
            return True  # perhaps: the reflector tries again and again
        return True
