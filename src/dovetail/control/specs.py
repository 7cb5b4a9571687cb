"""Definitions of workloads whose tasks are being bound: in memory until then, in the store for ever."""

from collections import OrderedDict

from dovetail.control.store_threads import on_store_thread
from dovetail.model.workloads.workload import Workload
from dovetail.store.contract import Store

KEPT = 20_000


class Specs:
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
        """Those of them that the store knows; not kept, since this is for going through all of them once."""
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
