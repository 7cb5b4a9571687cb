"""One machine as far as its management controller tells: is it on, and can the controller be believed.

Guarantees: a look or a change of one machine never waits for another machine. While a controller does not answer,
answers nonsense, refuses the login or has lied, `trouble` says so and `power` stays as it was last believed.

A controller lies if it accepts a change that does not happen, or says "off" of a machine whose agent goes on being
heard. "Off" is believed at once if it was asked for or no agent was heard, else when the agent has fallen silent:
nothing that may still run is given up because of one wrong answer.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from dovetail.asyncio_tasks import cancel
from dovetail.backends.metal.controller import BmcTrouble, ManagementController, PowerAction, PowerState, TroubleKind
from dovetail.backends.metal.settings import MetalMachine, MetalSettings
from dovetail.model.backoff import Backoff

SILENT_S = 25.0  # an agent that was not heard for so long has ended with its machine; they report every 10 s
UNDER_WAY_S = 15.0  # what an agent sent before its end may be heard so much later
MISSES = 2  # so many answers in a row have to stay out: one packet may get lost
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 2.0

log = structlog.get_logger()


class MachineWatch:
    """`heard_at`: when the machine's agent was last heard, by the same clock as `monotonic_s`."""

    def __init__(
        self,
        machine: MetalMachine,
        controller: ManagementController,
        settings: MetalSettings,
        heard_at: Callable[[str], float | None] = lambda _: None,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.machine, self.controller = machine, controller
        self._settings, self._heard_at, self._now = settings, heard_at, monotonic_s
        self.power: PowerState | None = None
        self.trouble: BmcTrouble | None = None
        self.wanted: PowerState | None = None  # what it is being changed to
        self.answered_at: float | None = None  # by the clock on the wall
        self.misses = 0  # answers that did not come, in a row
        self._off_since: float | None = None
        self._lie: tuple[float, PowerState] | None = None  # believed again then, or when it says this
        self._look: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    @property
    def name(self) -> str:
        return self.machine.name

    # --- looking -----------------------------------------------------------------------------------------------

    def look(self) -> asyncio.Task[None]:
        """The look that is under way, or a new one. It does not raise."""
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._look_once(), name=f"look at {self.name}")
        return self._look

    async def _look_once(self) -> None:
        try:
            said = await self.controller.power()
        except BmcTrouble as trouble:
            self.misses += trouble.kind is TroubleKind.UNREACHABLE
            if trouble.kind is not TroubleKind.UNREACHABLE or self.misses >= MISSES:
                self._troubled(trouble)
        else:
            self._take(said)

    def _take(self, said: PowerState) -> None:
        now = self._now()
        self.answered_at, self.misses = time.time(), 0
        self._off_since = None if said is PowerState.ON else self._off_since or now
        heard_at = self._heard_at(self.name)
        if self._off_since is not None and heard_at is not None and heard_at > self._off_since + UNDER_WAY_S:
            words = f"says that {self.name} is off, but its agent was heard {now - heard_at:.0f} s ago"
            self._troubled(BmcTrouble(TroubleKind.LIE, f"the controller {self.machine.bmc.address} {words}"))
            return
        if self._lie is not None and said is not self._lie[1] and now < self._lie[0]:
            return
        self._lie = self.trouble = None
        alive = heard_at is not None and now - heard_at < SILENT_S
        if not (said is PowerState.OFF and self.power is PowerState.ON and alive and self.wanted is None):
            self.power = said

    def _troubled(self, trouble: BmcTrouble) -> None:
        if self.trouble is None or self.trouble.kind is not trouble.kind:
            log.warning("controller in trouble", machine=self.name, kind=trouble.kind.value, words=str(trouble))
        if self._lie is None or trouble.kind is TroubleKind.LIE:
            self.trouble = trouble

    # --- changing ----------------------------------------------------------------------------------------------

    async def power_on(self) -> None:
        """Returns when the controller says that it is on. Raises BmcTrouble."""
        await self._change(PowerState.ON, self._settle_on)

    async def power_off(self, *, graceful: bool = True) -> None:
        """As `power_on`. The operating system may shut down first, if it does so in time."""
        await self._change(PowerState.OFF, self._settle_off if graceful else self._cut)

    async def restart(self, action: PowerAction) -> None:
        """Cycle or reset it; a machine that is off is powered on."""

        async def act() -> None:
            if await self.controller.power() is PowerState.OFF:
                await self._settle_on()
            else:
                await self.controller.act(action)
                await self._until(PowerState.ON, self._settings.power_within)

        await self._change(PowerState.ON, act)

    def begin_power_off(self) -> None:
        """In the background, unless that is under way. What goes wrong is the machine's trouble."""
        if self._ending is None or self._ending.done():
            self._ending = asyncio.create_task(self._power_off_quietly(), name=f"power off {self.name}")

    async def _power_off_quietly(self) -> None:
        try:
            await self.power_off()
        except BmcTrouble as trouble:
            log.warning("power off failed; trying again", machine=self.name, error=str(trouble))

    async def _change(self, wanted: PowerState, steps: Callable[[], Awaitable[None]]) -> None:
        async with self._turn:
            self.wanted = wanted
            try:
                try:
                    await steps()
                except BmcTrouble as trouble:
                    if trouble.kind is not TroubleKind.UNREACHABLE:
                        raise
                    await steps()  # one packet may get lost, and every step may be repeated
                self._believe(wanted)
            except BmcTrouble as trouble:
                if trouble.kind is TroubleKind.LIE:
                    self._lie = (self._now() + self._settings.distrust, wanted)
                self.misses = MISSES if trouble.kind is TroubleKind.UNREACHABLE else 0
                self._troubled(trouble)
                raise
            finally:
                self.wanted = None

    def _believe(self, said: PowerState) -> None:
        self._lie = self.trouble = None
        self.power, self.misses = said, 0
        self._off_since = None if said is PowerState.ON else self._now()
        self.answered_at = time.time()

    async def _settle_on(self) -> None:
        if await self.controller.power() is not PowerState.ON:
            await self.controller.act(PowerAction.ON)
            await self._must_become(PowerState.ON)

    async def _settle_off(self) -> None:
        if await self.controller.power() is PowerState.OFF:
            return
        if self._settings.shutdown_within:
            try:
                await self.controller.act(PowerAction.SHUTDOWN)
            except BmcTrouble as trouble:
                if trouble.kind is not TroubleKind.REFUSED:
                    raise
            else:
                if await self._until(PowerState.OFF, self._settings.shutdown_within):
                    return
        await self._cut()

    async def _cut(self) -> None:
        await self.controller.act(PowerAction.OFF)
        await self._must_become(PowerState.OFF)

    async def _must_become(self, wanted: PowerState) -> None:
        within_s = self._settings.power_within
        if not await self._until(wanted, within_s):
            words = f"accepted to power {wanted} {self.name}, but says after {within_s:g} s that it is not {wanted}"
            raise BmcTrouble(TroubleKind.LIE, f"the controller {self.machine.bmc.address} {words}")

    async def _until(self, wanted: PowerState, within_s: float) -> bool:
        backoff, until = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S), self._now() + within_s
        while await self.controller.power() is not wanted:
            if self._now() >= until:
                return False
            await asyncio.sleep(backoff.next_s())
        return True

    async def close(self) -> None:
        await cancel(self._look, self._ending)
        await self.controller.close()
