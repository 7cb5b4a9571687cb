"""Definitions of workloads: cached in memory until their tasks are bound, read from the store otherwise."""

from collections import OrderedDict

from dovetail.control.loop.store_threads import on_store_thread
from dovetail.model.workloads.workload import Workload
from dovetail.store.contract import Store

KEPT = 20_000


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
