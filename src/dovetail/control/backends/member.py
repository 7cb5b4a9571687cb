"""One backend of the control plane: its settings, what runs it, and the state people see."""

import asyncio
from dataclasses import dataclass

from dovetail.backends.registry import BackendEntry
from dovetail.control.backends.adoption import Adoption
from dovetail.control.backends.execution import Executor
from dovetail.control.backends.node_prices import NodePrices


@dataclass(slots=True)
class Member:
    """`entry` None: the backend of nodes that register themselves. `added_at` None: it comes from the settings file.
    `trouble`: why it could not be built; then it has no executor."""

    name: str
    kind: str
    entry: BackendEntry | None = None
    added_at: float | None = None
    executor: Executor | None = None
    adoption: Adoption | None = None
    task: asyncio.Task[None] | None = None
    trouble: str = ""
    prices: NodePrices | None = None
    leaving: bool = False  # it is being removed: new nodes that it announces are ignored

    @property
    def state(self) -> str:
        """The state of its breaker (closed, open, half-open), or `starting` or `unusable`."""
        if self.executor is None or self.adoption is None:
            return "unusable"
        return str(self.executor.circuit) if self.adoption.over else "starting"

    @property
    def problem(self) -> str:
        """What is wrong with it now; empty when it answers."""
        if self.adoption is not None and not self.adoption.over:
            return self.adoption.trouble
        if self.executor is not None and self.state != "closed":
            return self.executor.health.last_error
        return self.trouble
