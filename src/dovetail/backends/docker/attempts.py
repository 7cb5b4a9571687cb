"""The attempts of one Docker host: each is a container, made, started, stopped and removed through the engine."""

import time
from collections.abc import Callable
from typing import Any

from dovetail.backends.attempt_journal import Journal, Record, State
from dovetail.backends.contract import Assignment, Report
from dovetail.backends.docker.container import Identity
from dovetail.backends.docker.deciding import Seen, could_not_start, decide, seen_in
from dovetail.backends.docker.engine_api import DockerApiError, EngineApi
from dovetail.backends.docker.failures import FAILURES
from dovetail.backends.docker.images import Images
from dovetail.backends.hosts.attempt_step import AttemptAction, AttemptStep
from dovetail.backends.hosts.attempts import ActiveAttempt, HostAttempts, RunLimit, done_before


class DockerAttempts(HostAttempts[Seen]):
    kind, host_word, failures = "docker", "host", FAILURES

    def __init__(
        self,
        identity: Identity,
        api: EngineApi,
        journal: Journal,
        images: Images,
        report: Report,
        body_of: Callable[[Assignment], dict[str, Any]],
        parallel: int,
        trouble: Callable[[], None],
    ) -> None:
        super().__init__(journal, report, parallel, trouble)
        self._identity, self._api, self._images, self._body_of = identity, api, images, body_of
        self._clock_ahead_s = 0.0

    def set_clock(self, host_now_s: float) -> None:
        """The host's current time: its containers' times are in its clock."""
        self._clock_ahead_s = host_now_s - time.time()

    async def kill(self, key: str) -> None:
        """Its container, if it runs. The driver that waits for its end goes on then."""
        await self._api.kill(self._identity.name(key))

    async def seen(self, key: str) -> Seen | None:
        inspected = await self._api.inspect(self._identity.name(key))
        return None if inspected is None else seen_in(inspected)

    def decide(self, record: Record, seen: Seen | None) -> AttemptStep:
        return decide(record, seen)

    async def make(self, assignment: Assignment, active: ActiveAttempt) -> None:
        key = assignment.key
        try:
            if not await done_before(active.wake, self._images.fetch(assignment.spec.run.image or "")):
                return  # something happened meanwhile, such as a stop
            async with self._slots:
                if not await self.is_ordered(key):
                    return
                await self._api.create(self._identity.name(key), self._body_of(assignment))
        except DockerApiError as error:
            words = FAILURES.advised(f"its container could not be created: {error}")
            await self._journal.end(key, None, words, ran=False)
            return
        if (await self._journal.created(key)).state is State.ENDED:
            await self.remove(key)  # it was stopped while it was created

    async def start(self, record: Record) -> None:
        async with self._slots:
            if (await self._journal.created(record.key)).state is not State.ORDERED:
                return
            try:
                await self._api.start(self._identity.name(record.key))
            except DockerApiError as error:
                if decide(record, await self.seen(record.key)).action is AttemptAction.START:
                    # unchanged: only this error says why
                    await self.finish(record.key, could_not_start(0, str(error)))

    async def stop(self, record: Record, seen: Seen, active: ActiveAttempt) -> None:  # noqa: ARG002 - Docker waits
        await self._journal.stop_sent(record.key)
        await self._api.stop(self._identity.name(record.key), seen.grace_s)

    async def remove(self, key: str) -> None:
        await self._api.remove(self._identity.name(key))

    def limit(self, seen: Seen) -> RunLimit | None:
        if seen.run_for_s is None or seen.started_at is None:
            return None
        return RunLimit(seen.started_at - self._clock_ahead_s, seen.run_for_s)
