"""The subsystems that come with Dovetail: the health of backends, and hooks."""

import asyncio
from typing import Annotated, Any

import structlog
from pydantic import Field

from dovetail.control.subsystems.contract import DurableStep, Subsystem, SubsystemContext
from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import Strict
from dovetail.placement.registry import build_hook

log = structlog.get_logger()


class BackendHealthSettings(Strict):
    probe_every: Annotated[Duration, Field(ge=1)] = 30.0
    """How often an idle backend is probed."""


class BackendHealth(Subsystem):
    """Asks every backend something now and then, so that trouble is known before work is placed there.

    What it measures goes to the metrics of backends (`backends.health`), to `CallHealth` and to the circuit breaker.
    While it is down, backends are still used and their calls are still counted; only idle ones are not looked at.
    """

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self.context.settings.probe_every)
            await self.context.probe_backends()


class HookSettings(Strict):
    """By name: the settings of each hook. Read from the top-level field `hooks` of the server's settings."""

    hooks: dict[str, dict[str, Any]] = {}
    """The settings of each hook, by its name."""


class Hooks(Subsystem):
    """Plugins of other packages, named in settings, that are told after a task was placed: in order, each placement
    once. They may do I/O, slowly, and fail alone."""

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
