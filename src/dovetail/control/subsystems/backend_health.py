"""Backend health: asks every backend something now and then, so that trouble is known before work is placed there.

What it measures goes to the metrics of backends (`backends.metrics`), to `CallHealth` and to the circuit breaker. While
this subsystem is down, backends are still used and their calls are still counted; only idle ones are not looked at.
"""

import asyncio
from typing import Annotated

from pydantic import Field

from dovetail.control.subsystems.contract import Subsystem
from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import Strict


class BackendHealthSettings(Strict):
    probe_every: Annotated[Duration, Field(ge=1)] = 30.0


class BackendHealth(Subsystem):
    async def run(self) -> None:
        while True:
            await asyncio.sleep(self.context.settings.probe_every)
            await self.context.probe_backends()
