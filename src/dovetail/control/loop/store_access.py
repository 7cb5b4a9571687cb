"""Access to the store: threads that only the store uses, and definitions of workloads, cached until they are bound.

Backends run blocking calls on asyncio's shared threads, which are few: a backend that hangs may occupy all of them. The
store must not wait for those, or scheduling would stop.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from dovetail.model.workloads.workload import Workload
from dovetail.store.contract import Store

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8  # one writes, the others read
KEPT = 20_000  # definitions

_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="store")


async def on_store_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads, lambda: call(*args, **kwargs))


class DefinitionCache:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[int, Workload] = OrderedDict()

    def keep(self, workload: int, spec: Workload) -> None:
        self._kept[workload] = spec
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def forget(self, workload: int) -> None:
        self._kept.pop(workload, None)

    async def many(self, workloads: set[int]) -> dict[int, Workload]:
        """Those that the store knows. Not cached: a restart reads all of them once."""
        texts = await on_store_thread(self._store.spec_jsons, workloads)
        return {workload: Workload.model_validate_json(text) for workload, text in texts.items()}

    async def get(self, workload: int) -> Workload:
        found = self._kept.get(workload)
        if found is None:
            text = await on_store_thread(self._store.spec_json, workload)
            if text is None:
                raise LookupError(f"workload {workload} is not in the store")
            found = Workload.model_validate_json(text)
            self.keep(workload, found)
        return found
