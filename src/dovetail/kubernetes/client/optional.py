"""Follows a collection that need not be there: a resource that a cluster may define, now or later, or never.

Guarantees: `settled` is set as soon as everything of it is known, or that there is nothing of it (yet). A resource that
is defined later, or that may be read later, is found within a minute.
"""

import asyncio
import logging

from dovetail.kubernetes.client.errors import ApiError, Forbidden, NotFound
from dovetail.kubernetes.client.reflector import Reflector

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
        except NotFound:
            return False
        except Forbidden as error:
            _log.warning("goes on without: %s", error)
            return False
        except ApiError:
            return True  # perhaps: the reflector tries again and again
        return True
