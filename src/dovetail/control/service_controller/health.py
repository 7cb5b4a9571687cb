"""Asks the running replicas of all services for their health, each attempt as often as its checks say.

Guarantees: at most `MOST_AT_ONCE` checks are under way; a check never takes longer than its timeout. A replica on a
node that does not answer is not judged: it may well be well. What was learned about an attempt is forgotten with it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from dovetail.backends.health_probes import probe
from dovetail.model.services.health import HealthCheck
from dovetail.model.services.service import Service
from dovetail.services.health_state import (
    AttemptHealth,
    CheckKind,
    due_checks,
    is_ready,
    is_unknown,
    must_restart,
    trouble_in,
)
from dovetail.services.replicas import port_of_check

MOST_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class WatchedReplica:
    """A running attempt, and where it is reached. `address` None: nobody knows."""

    key: str
    service: Service
    address: str | None
    ports: dict[str, int]
    started_at: float
    online: bool


@dataclass(slots=True)
class _Watch:
    replica: WatchedReplica
    health: AttemptHealth
    next_at: dict[CheckKind, float] = field(default_factory=dict)
    under_way: set[CheckKind] = field(default_factory=set)
    ready_since: float | None = None
    told: bool = False  # that it has to be started again


class HealthWatch:
    """`changed`: called when a replica became ready or stopped being so, and when the words change that say why it is
    not. `restart`: called with the key of an attempt that must start again, and why. `run_command`: the exit code of a
    command next to an attempt; may raise. `clock`: the time."""

    def __init__(
        self,
        changed: Callable[[], None],
        restart: Callable[[str, str], None],
        run_command: Callable[[str, list[str]], Awaitable[int]],
        clock: Callable[[], float],
    ) -> None:
        self._changed, self._restart, self._run_command = changed, restart, run_command
        self._clock = clock
        self._watches: dict[str, _Watch] = {}
        self._places = asyncio.Semaphore(MOST_AT_ONCE)
        self._asking: set[asyncio.Task[None]] = set()
        self._wakened = asyncio.Event()

    def follow(self, replicas: list[WatchedReplica]) -> None:
        """These attempts run now; all others are forgotten."""
        known, self._watches = self._watches, {}
        for one in replicas:
            watch = known.get(one.key) or _Watch(one, AttemptHealth(one.started_at))
            watch.replica = one
            self._watches[one.key] = watch
            self._judge(watch, self._clock())
        self._wakened.set()

    def ready_since(self, key: str) -> float | None:
        """None while it is not ready."""
        watch = self._watches.get(key)
        return None if watch is None else watch.ready_since

    def is_unknown(self, key: str) -> bool:
        """Whether too few answers came to say that it is ready, or that it is not."""
        watch = self._watches.get(key)
        return watch is None or is_unknown(watch.replica.service.health, watch.health)

    def is_judged(self, key: str) -> bool:
        """Whether enough answers came to say that it is ready, or that it is not; true of one that is forgotten. One on
        a node that does not answer is not judged: after a start its node may not have been heard of yet."""
        watch = self._watches.get(key)
        if watch is None or watch.ready_since is not None:
            return True
        return any(state.well is False for state in watch.health.states.values())

    def trouble(self, key: str) -> str:
        watch = self._watches.get(key)
        return "" if watch is None else trouble_in(watch.replica.service.health, watch.health)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            now = self._clock()
            soonest = now + 60.0
            for watch in list(self._watches.values()):
                soonest = min(soonest, self._ask_what_is_due(watch, now))
            self._wakened.clear()
            try:
                async with asyncio.timeout(max(0.01, soonest - self._clock())):
                    await self._wakened.wait()
            except TimeoutError:
                pass

    def _ask_what_is_due(self, watch: _Watch, now: float) -> float:
        """When to look at it again."""
        soonest = now + 60.0
        if not watch.replica.online or watch.told:
            return soonest
        for kind, check in due_checks(watch.replica.service.health, watch.health):
            due = watch.next_at.setdefault(kind, now)
            if kind in watch.under_way:
                continue
            if due <= now:
                watch.next_at[kind] = due = now + check.every
                watch.under_way.add(kind)
                task = asyncio.create_task(self._ask(watch, kind, check))
                self._asking.add(task)
                task.add_done_callback(self._asking.discard)
            soonest = min(soonest, due)
        return soonest

    async def _ask(self, watch: _Watch, kind: CheckKind, check: HealthCheck) -> None:
        async with self._places:
            try:
                problem = await self._answer(watch.replica, check)
            except Exception as error:  # whatever a library raises, the next check is asked
                problem = f"the check cannot be made: {error}"
        watch.under_way.discard(kind)
        if self._watches.get(watch.replica.key) is watch and watch.replica.online:
            health = watch.replica.service.health
            said = trouble_in(health, watch.health)
            watch.health = watch.health.answered(kind, check, problem)
            if trouble_in(health, watch.health) != said:
                self._changed()
            self._judge(watch, self._clock())
            self._wakened.set()

    async def _answer(self, replica: WatchedReplica, check: HealthCheck) -> str:
        if check.command is not None:
            return await self._answer_of_command(replica.key, check)
        port = port_of_check(replica.service, check, replica.ports)
        if replica.address is None or port is None:
            return "nobody knows the address of its node; register the node with an address"
        return await probe(check, replica.address, port)

    async def _answer_of_command(self, key: str, check: HealthCheck) -> str:
        assert check.command is not None
        try:
            async with asyncio.timeout(check.timeout):
                code = await self._run_command(key, check.command)
        except TimeoutError:
            return f"{check.command[0]} does not end within {check.timeout:g} s"
        except Exception as error:  # a backend's client may raise anything
            return f"{check.command[0]} cannot be run: {error}"
        return "" if code == 0 else f"{check.command[0]} exits with {code}"

    def _judge(self, watch: _Watch, now: float) -> None:
        service = watch.replica.service
        ready = is_ready(service.health, watch.health)
        if ready != (watch.ready_since is not None):
            watch.ready_since = now if ready else None
            self._changed()
        if not watch.told and (why := must_restart(service.health, watch.health)):
            watch.told = True
            self._restart(watch.replica.key, why)
