"""Access to the store: threads that only the store uses, and definitions of workloads, cached until they are bound.

Backends run blocking calls on asyncio's shared threads, which are few: a backend that hangs may occupy all of them. The
store must not wait for those, or scheduling would stop.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

import structlog
from pydantic import ValidationError

from dovetail.model.command import attempt_key, task_of_key
from dovetail.model.workloads.workload import Workload
from dovetail.store.contract import Store

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8  # one writes, the others read
KEPT = 20_000  # definitions
MOST_ATTEMPTS = 10_000  # of one task

log = structlog.get_logger()
_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="store")


async def on_store_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads, lambda: call(*args, **kwargs))


async def node_of_attempt(store: Store, key: str) -> str | None:
    """Where an attempt ran, by its key."""
    task = task_of_key(key)
    rows = (await on_store_thread(store.attempts, task.workload, MOST_ATTEMPTS, 0, task.replica)).items
    return next((row["node"] for row in rows if key == attempt_key(task, row["attempt"])), None)


class UnreadableDefinition(LookupError):
    """This version would not accept what is stored."""


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
        """Those that the store knows and this version can read; the log names others, so that one of them keeps nobody
        else from starting. Not cached: a restart reads all of them once."""
        texts = await on_store_thread(self._store.spec_jsons, workloads)
        found = dict[int, Workload]()
        for workload, text in texts.items():
            try:
                found[workload] = _read(workload, text)
            except UnreadableDefinition as error:
                log.error("a running workload is left alone: cancel it and submit it again", error=str(error))
        return found

    async def get(self, workload: int) -> Workload:
        found = self._kept.get(workload)
        if found is None:
            text = await on_store_thread(self._store.spec_json, workload)
            if text is None:
                raise LookupError(f"workload {workload} is not in the store")
            found = _read(workload, text)
            self.keep(workload, found)
        return found


def _read(workload: int, text: str) -> Workload:
    try:
        return Workload.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UnreadableDefinition(
            f"the definition of workload {workload} was accepted by another version; {where}: {first['msg']}"
        ) from None
