"""Hooks: plugins of other packages that are told after a task was placed. They may do I/O, slowly, and fail alone."""

import queue
import threading
from typing import Any

import structlog

from dovetail.model.record import Batch
from dovetail.placement.registry import build_hook

_BACKLOG = 10_000

log = structlog.get_logger()


class Hooks:
    """The hooks named in settings, called in order on a thread of their own, so the loop never waits for one."""

    def __init__(self, settings: dict[str, dict[str, Any]]) -> None:
        self._hooks = [(name, build_hook(name, given)) for name, given in settings.items()]
        self._queue: queue.Queue[tuple[str, str, str, dict[str, Any]]] = queue.Queue(_BACKLOG)
        if self._hooks:
            threading.Thread(target=self._call, name="hooks", daemon=True).start()

    def scheduled(self, batch: Batch, names: dict[int, str]) -> None:
        if not self._hooks:
            return
        for decision in batch.changes.decisions:
            if decision.node is not None:
                workload = names.get(decision.task.workload, str(decision.task.workload))
                try:
                    self._queue.put_nowait(
                        (str(decision.task), workload, decision.node, decision.explanation.to_dict())
                    )
                except queue.Full:
                    log.warning("hooks are too slow; a call was dropped", task=str(decision.task))

    def _call(self) -> None:
        while True:
            task, workload, node, explanation = self._queue.get()
            for name, hook in self._hooks:
                try:
                    hook.on_scheduled(task, workload, node, explanation)
                except Exception as error:  # a hook may raise anything; it is named and the others go on
                    log.warning("hook failed", hook=name, task=task, error=f"{type(error).__name__}: {error}")
