"""Hooks: plugins of other packages that are told after a task was placed. They may do I/O, slowly, and fail alone."""

import asyncio
from typing import Any

import structlog

from dovetail.control.subsystems.contract import DurableStep, Subsystem, SubsystemContext
from dovetail.model.text.strict import Strict
from dovetail.placement.registry import build_hook

log = structlog.get_logger()


class HookSettings(Strict):
    """By name: the settings of each hook. Read from the top-level field `hooks` of the server's settings."""

    hooks: dict[str, dict[str, Any]] = {}


class Hooks(Subsystem):
    """The hooks named in settings, called in order, each placement once."""

    def __init__(self, context: SubsystemContext) -> None:
        super().__init__(context)
        self._hooks = [(name, build_hook(name, given)) for name, given in context.settings.hooks.items()]

    async def take(self, step: DurableStep) -> None:
        for decision in step.batch.changes.decisions:
            if decision.node is None:
                continue
            workload = step.names.get(decision.task.workload, str(decision.task.workload))
            placed = (str(decision.task), workload, decision.node, decision.explanation.to_dict())
            for name, hook in self._hooks:
                try:
                    await asyncio.to_thread(hook.on_scheduled, *placed)
                except Exception as error:  # a hook may raise anything; it is named and the others go on
                    log.warning("hook failed", hook=name, task=placed[0], error=f"{type(error).__name__}: {error}")
